//! SigMF recordings: any description of samples is a recording or an error.

use crate::recordings_beside;

#[test]
fn sigmf_recordings_are_read_or_refused() {
    let files = [
        r#"{"global": {"core:datatype": "cf32_le", "core:sample_rate": 2.4e6}, "captures": [{"core:frequency": 1e8}]}"#,
        r#"{"global": {"core:datatype": "ci8", "core:num_channels": 2}, "captures": [
            {"core:sample_start": 0, "core:header_bytes": 16}, {"core:sample_start": 40, "core:header_bytes": 8}]}"#,
        r#"{"global": {"core:datatype": "ru16_be", "core:trailing_bytes": 6}}"#,
    ];
    let samples: Vec<u8> = (0..1600u32).map(|index| (index % 61) as u8).collect();
    recordings_beside("sigmf-meta", &files.map(|text| text.as_bytes().to_vec()), &[("sigmf-data", &samples)]);
}
