//! Fuzz targets for the files that Firefly reads: recordings of every format, arrays, saved models, training
//! configurations, metrics and manifests of runs, device profiles and bench reports. A target holds when a file is
//! either read or refused with an error; it fails on a panic. The journal of `firefly` is read by a private module of
//! the program and has property tests there.
//!
//! Targets edit valid files, since random bytes rarely get past a parser's first check. `cargo test` runs each of them
//! on random edits; `BOLERO_RANDOM_TEST_TIME_MS=60000` sets for how long. `cargo bolero test -p firefly-fuzz NAME`
//! searches for edits that reach new code.

use bolero::TypeGenerator;

/// Numbers that parsers get wrong: limits of integer types, and sizes close to them.
const NUMBERS: [&[u8]; 8] =
    [b"0", b"-1", b"4294967295", b"9223372036854775807", b"18446744073709551616", b"1e999", b"nan", b"0.5"];

/// One edit of a file. Positions are taken modulo the length of the file.
#[derive(Debug, Clone, TypeGenerator)]
pub enum Edit {
    /// Replaces a byte.
    Byte(u16, u8),
    /// Inverts a bit.
    Bit(u16, u8),
    /// Inserts bytes.
    Insert(u16, [u8; 3]),
    /// Removes bytes.
    Remove(u16, u8),
    /// Copies bytes from one place to another.
    Copy(u16, u16, u8),
    /// Ends the file early.
    Truncate(u16),
    /// Replaces the decimal number at or after a place by one of [`NUMBERS`].
    Number(u16, u8),
    /// Overwrites four bytes by a little-endian number near 2^32.
    Size(u16, u8),
}

impl Edit {
    fn apply(&self, file: &mut Vec<u8>) {
        if file.is_empty() {
            return;
        }
        let len = file.len();
        let place = |at: u16| at as usize % len;
        match *self {
            Self::Byte(at, byte) => file[place(at)] = byte,
            Self::Bit(at, bit) => file[place(at)] ^= 1 << (bit % 8),
            Self::Insert(at, bytes) => drop(file.splice(place(at)..place(at), bytes)),
            Self::Remove(at, count) => drop(file.drain(place(at)..len.min(place(at) + count as usize))),
            Self::Copy(from, to, count) => {
                let bytes = file[place(from)..len.min(place(from) + count as usize)].to_vec();
                file.splice(place(to)..place(to), bytes);
            }
            Self::Truncate(at) => file.truncate(place(at)),
            Self::Number(at, which) => {
                let digit = |byte: &u8| byte.is_ascii_digit();
                if let Some(start) = file[place(at)..].iter().position(digit).map(|found| place(at) + found) {
                    let end = file[start..].iter().position(|byte| !digit(byte)).map_or(len, |found| start + found);
                    file.splice(start..end, NUMBERS[which as usize % NUMBERS.len()].iter().copied());
                }
            }
            Self::Size(at, below) => {
                let start = place(at);
                let bytes = (u32::MAX - u32::from(below)).to_le_bytes();
                file.iter_mut().skip(start).zip(bytes).for_each(|(byte, new)| *byte = new);
            }
        }
    }
}

/// A valid file after some edits.
pub fn edited(file: &[u8], edits: &[Edit]) -> Vec<u8> {
    let mut file = file.to_vec();
    // A few edits leave most of a file valid, so that the checks behind the first are reached too.
    edits.iter().take(4).for_each(|edit| edit.apply(&mut file));
    file
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_change_a_file_as_they_say() {
        let edit = |edit: Edit| edited(b"k = 16, n = 8", &[edit]);
        assert_eq!(edit(Edit::Byte(0, b'j')), b"j = 16, n = 8");
        assert_eq!(edit(Edit::Insert(0, *b"abc")), b"abck = 16, n = 8");
        assert_eq!(edit(Edit::Remove(0, 8)), b"n = 8");
        assert_eq!(edit(Edit::Truncate(6)), b"k = 16");
        assert_eq!(edit(Edit::Number(1, 1)), b"k = -1, n = 8");
        assert_eq!(edit(Edit::Copy(0, 12, 2)), b"k = 16, n = k 8");
        assert!(edited(b"", &[Edit::Truncate(3)]).is_empty());
    }
}
