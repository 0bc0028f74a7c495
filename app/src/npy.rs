//! Headers of NumPy arrays (NEP 1, version 1 of the format).

/// Bytes that the header is a multiple of, so that numbers are aligned.
const ALIGNMENT: usize = 64;
/// Bytes before the dictionary: magic, version and length.
const PREFIX: usize = 10;

/// The header of an array in C order, of at least `bytes` bytes: `numbers` is NumPy's name of their type in quotation
/// marks, or a list of fields.
///
/// ```
/// let header = firefly_app::npy::header("'<f4'", &[3], 0);
/// assert_eq!(header.len(), 128);
/// assert!(header.starts_with(b"\x93NUMPY\x01\x00") && header.ends_with(b" \n"));
/// ```
pub fn header(numbers: &str, shape: &[u64], bytes: usize) -> Vec<u8> {
    let sizes = match shape {
        [size] => format!("{size},"),
        sizes => sizes.iter().map(u64::to_string).collect::<Vec<_>>().join(", "),
    };
    let text = format!("{{'descr': {numbers}, 'fortran_order': False, 'shape': ({sizes}), }}");
    let length = (PREFIX + text.len() + 1).max(bytes).next_multiple_of(ALIGNMENT);
    let mut header = b"\x93NUMPY\x01\x00".to_vec();
    // Types and shapes of a table are far shorter than what two bytes can say.
    header.extend(((length - PREFIX) as u16).to_le_bytes());
    header.extend(text.bytes());
    header.resize(length - 1, b' ');
    header.push(b'\n');
    header
}
