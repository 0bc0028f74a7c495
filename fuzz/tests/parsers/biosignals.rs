//! EDF and BDF files: any bytes are recordings or an error.

use crate::recordings_are_read_or_refused;

/// Two records of two signals of 20 samples, of an annotation and of a slower signal, or of an unknown number of records.
fn file(is_bdf: bool, records: i64) -> Vec<u8> {
    let mut bytes = if is_bdf { b"\xffBIOSEMI".to_vec() } else { b"0       ".to_vec() };
    let field = |bytes: &mut Vec<u8>, text: &str, width: usize| bytes.extend(format!("{text:<width$}").bytes());
    field(&mut bytes, "", 228);
    field(&mut bytes, &records.to_string(), 8);
    field(&mut bytes, "0.5", 8);
    field(&mut bytes, "4", 4);
    for (width, texts) in [
        (16, ["A", if is_bdf { "BDF Annotations" } else { "EDF Annotations" }, "B", "slow"]),
        (80, [""; 4]),
        (8, ["uV"; 4]),
        (8, ["-2", "-1", "-1", "-1"]),
        (8, ["2", "1", "1", "1"]),
        (8, ["-128", "-32768", "-128", "-128"]),
        (8, ["128", "32767", "128", "128"]),
        (80, [""; 4]),
        (8, ["20", "3", "20", "10"]),
        (32, [""; 4]),
    ] {
        texts.iter().for_each(|text| field(&mut bytes, text, width));
    }
    let width = if is_bdf { 3 } else { 2 };
    for sample in 0..2 * (20 + 3 + 20 + 10) {
        bytes.extend(&i32::to_le_bytes(sample % 100)[..width]);
    }
    bytes
}

#[test]
fn edf_files_are_read_or_refused() {
    recordings_are_read_or_refused("edf", &[file(false, 2), file(false, -1)]);
}

#[test]
fn bdf_files_are_read_or_refused() {
    recordings_are_read_or_refused("bdf", &[file(true, 2), file(true, -1)]);
}
