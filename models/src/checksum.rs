//! Checksum in a safetensors file: the SHA-256 of the whole file, in its metadata, so that damage is noticed before
//! values are used.
//!
//! The digest is that of the file with 64 zeros in place of the digest.

use sha2::{Digest, Sha256};

/// Bytes of the header's length, with which a file begins.
const LENGTH: usize = size_of::<u64>();
/// The metadata in a header.
const METADATA: &str = "\"__metadata__\":{";
/// The entry of the metadata, up to its value.
const ENTRY: &str = "\"sha256\":\"";
const DIGITS: usize = 64;

/// A safetensors file with its checksum. Bytes that are no such file are left as they are.
///
/// ```
/// use firefly_models::checksum::{is_intact, sealed};
///
/// let header = r#"{"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}  "#;
/// let file = [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &1f32.to_le_bytes()].concat();
/// let mut file = sealed(file);
/// assert!(is_intact(&file));
/// *file.last_mut().unwrap() ^= 1; // a bit of the value
/// assert!(!is_intact(&file));
/// ```
#[must_use]
pub fn sealed(file: Vec<u8>) -> Vec<u8> {
    let Some(header) = header(&file) else { return file };
    let entry = format!("{ENTRY}{}\"", "0".repeat(DIGITS));
    // Behind an opening brace; a comma follows unless the closing brace does.
    let (place, text) = match header.find(METADATA) {
        Some(place) => (place + METADATA.len(), entry),
        None => (1, format!("{METADATA}{entry}}}")),
    };
    let comma = if header[place..].trim_start().starts_with('}') { "" } else { "," };
    let mut longer = header.trim_end().to_owned();
    longer.insert_str(place, &format!("{text}{comma}"));
    // Values begin at a multiple of eight bytes, as before.
    longer.extend(std::iter::repeat_n(' ', longer.len().next_multiple_of(LENGTH) - longer.len()));
    let values = &file[LENGTH + header.len()..];
    let mut file = [&(longer.len() as u64).to_le_bytes(), longer.as_bytes(), values].concat();
    if let Some(place) = digest_place(&file) {
        let digest = digest(&file, place);
        file[place..place + DIGITS].copy_from_slice(digest.as_bytes());
    }
    file
}

/// Whether a file has the bytes that it was written with, by its checksum; a file without one counts as intact.
pub fn is_intact(file: &[u8]) -> bool {
    let Some(place) = digest_place(file) else { return true };
    file.get(place..place + DIGITS).is_some_and(|found| found == digest(file, place).as_bytes())
}

/// The header of a file; none if it has none, or not the whole of it.
fn header(file: &[u8]) -> Option<&str> {
    let length = u64::from_le_bytes(file.get(..LENGTH)?.try_into().ok()?);
    let header = file.get(LENGTH..LENGTH.checked_add(usize::try_from(length).ok()?)?)?;
    str::from_utf8(header).ok().filter(|header| header.starts_with('{'))
}

fn digest_place(file: &[u8]) -> Option<usize> {
    Some(LENGTH + header(file)?.find(ENTRY)? + ENTRY.len())
}

/// The digest of a file that has its digest at `place`.
fn digest(file: &[u8], place: usize) -> String {
    let behind = file.get(place + DIGITS..).unwrap_or_default();
    let hash = Sha256::new().chain_update(&file[..place]).chain_update([b'0'; DIGITS]).chain_update(behind);
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use safetensors::tensor::{Dtype, TensorView};
    use safetensors::{SafeTensors, serialize};

    use super::*;

    fn file(metadata: Option<HashMap<String, String>>) -> Vec<u8> {
        let values = [1.0f32, -2.0, 0.5].map(f32::to_le_bytes).concat();
        let view = TensorView::new(Dtype::F32, vec![3], &values).unwrap();
        sealed(serialize([("x", view)], metadata).unwrap())
    }

    #[test]
    fn sealed_files_are_read_as_before_and_have_a_digest() {
        let described = HashMap::from([("firefly".to_string(), "a \"name\" of µ".to_string())]);
        for metadata in [None, Some(HashMap::new()), Some(described)] {
            let file = file(metadata.clone());
            let tensors = SafeTensors::deserialize(&file).unwrap();
            assert_eq!(tensors.tensor("x").unwrap().data()[..4], 1f32.to_le_bytes());
            let (_, header) = SafeTensors::read_metadata(&file).unwrap();
            let mut found = header.metadata().clone().unwrap();
            assert_eq!(found.remove("sha256").map(|digest| digest.len()), Some(DIGITS));
            assert_eq!(found, metadata.unwrap_or_default());
            assert!(is_intact(&file) && header_length(&file).is_multiple_of(8));
        }
    }

    fn header_length(file: &[u8]) -> usize {
        header(file).unwrap().len()
    }

    #[test]
    fn every_bit_of_values_and_digest_is_checked() {
        let whole = file(None);
        let digits = digest_place(&whole).unwrap();
        for place in (digits..whole.len()).flat_map(|byte| (0..8).map(move |bit| (byte, bit))) {
            let mut damaged = whole.clone();
            damaged[place.0] ^= 1 << place.1;
            // A header that is no text has no digest, and is no header either.
            assert!(!is_intact(&damaged) || header(&damaged).is_none(), "bit {place:?}");
        }
    }

    #[test]
    fn files_without_a_digest_are_intact_and_other_bytes_stay() {
        let values = 1f32.to_le_bytes();
        let view = TensorView::new(Dtype::F32, vec![1], &values).unwrap();
        assert!(is_intact(&serialize([("x", view)], None).unwrap()));
        for other in [&b""[..], b"text", &[255; 40]] {
            assert_eq!(sealed(other.to_vec()), other);
            assert!(is_intact(other));
        }
    }
}
