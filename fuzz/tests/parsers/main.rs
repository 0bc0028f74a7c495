//! One target per parser.

mod arrays;
mod audio;
mod biosignals;
mod configurations;
mod instruments;
mod profiles;
mod radio;
mod reports;
mod runs;
mod tables;
mod weights;

use std::fs;

use bolero::TypeGenerator;
use firefly_fuzz::{Edit, edited};
use firefly_recordings::read_recording;

/// One of several valid files, and the edits of it.
#[derive(Debug, Clone, TypeGenerator)]
struct EditedFile {
    which: u8,
    edits: Vec<Edit>,
}

impl EditedFile {
    /// The edited one of `valid` files.
    fn bytes(&self, valid: &[Vec<u8>]) -> Vec<u8> {
        edited(&valid[usize::from(self.which) % valid.len()], &self.edits)
    }
}

/// A file of ffmpeg, PyArrow or SciPy.
fn fixture(name: &str) -> Vec<u8> {
    fs::read(format!("tests/fixtures/{name}")).unwrap()
}

/// Target of recordings with an extension: each of the `valid` files is read, and edited ones are read or refused.
fn recordings_are_read_or_refused(extension: &str, valid: &[Vec<u8>]) {
    recordings_beside(extension, valid, &[]);
}

/// As [`recordings_are_read_or_refused`], beside other files by their extensions.
fn recordings_beside(extension: &str, valid: &[Vec<u8>], others: &[(&str, &[u8])]) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("recording").with_extension(extension);
    for (extension, bytes) in others {
        fs::write(path.with_extension(extension), bytes).unwrap();
    }
    for file in valid {
        fs::write(&path, file).unwrap();
        assert!(!read_recording(&path).unwrap().is_empty());
    }
    bolero::check!().with_type::<EditedFile>().for_each(|file| {
        fs::write(&path, file.bytes(valid)).unwrap();
        let _ = read_recording(&path);
    });
}
