use std::fs;

use tempfile::TempDir;

use super::super::tests::{array, assert_holds, problem, values};

#[test]
fn an_archive_has_one_array_and_a_rate() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("x.npz");
    let planar: Vec<u8> = (0..2)
        .flat_map(|channel| values(200).into_iter().skip(channel).step_by(2))
        .flat_map(f32::to_le_bytes)
        .collect();
    let samples = array("<f4", "False", "(2, 100)", &planar);
    let rate = array("<i8", "False", "()", &500i64.to_le_bytes());
    let write = |members: &[(&str, &[u8])], method| {
        let mut archive = rawzip::ZipArchiveWriter::new(fs::File::create(&path).unwrap());
        for (name, bytes) in members {
            let (mut entry, config) = archive.new_file(name).compression_method(method).start().unwrap();
            let output = if method == rawzip::CompressionMethod::STORE {
                let mut writer = config.wrap(&mut entry);
                std::io::Write::write_all(&mut writer, bytes).unwrap();
                writer.finish().unwrap().1
            } else {
                let mut writer = config.wrap(flate2::write::DeflateEncoder::new(&mut entry, Default::default()));
                std::io::Write::write_all(&mut writer, bytes).unwrap();
                let (encoder, output) = writer.finish().unwrap();
                encoder.finish().unwrap();
                output
            };
            entry.finish(output).unwrap();
        }
        archive.finish().unwrap();
    };
    for method in [rawzip::CompressionMethod::STORE, rawzip::CompressionMethod::DEFLATE] {
        write(&[("x.npy", &samples), ("fs.npy", &rate)], method);
        assert_holds(&path, 2, Some(500.0), &values(200));
    }
    write(&[("x.npy", &samples), ("y.npy", &samples)], rawzip::CompressionMethod::STORE);
    assert!(problem(&path).contains("it has x, y"), "{}", problem(&path));
}
