//! Folders that are free, in use, left over, or of something else.

use firefly_app::device::DeviceName;

use super::*;
use crate::tasks::peaks::{PeaksConfig, PeaksTask};

fn resolved() -> Resolved<PeaksTask> {
    Resolved::new(PeaksConfig::default(), &[DeviceName::CPU])
}

#[test]
fn a_difference_names_its_key_and_both_values() {
    let mut now = resolved();
    now.config.training.steps = 7;
    let steps = resolved().config.training.steps;
    assert_eq!(difference(&resolved(), &now).unwrap(), format!("training.steps was {steps}, now it is 7"));
    let mut now = resolved();
    now.config.model.open_segments = Some(vec![1]);
    assert_eq!(difference(&resolved(), &now).unwrap(), "model.open_segments was not set, now it is [1]");
}

#[test]
fn a_lock_without_a_configuration_is_taken_over_and_a_held_one_is_not() {
    let parent = tempfile::tempdir().unwrap();
    let folder = RunFolder::new(parent.path().join("run"));
    for resume in [false, true] {
        fs::create_dir_all(folder.path()).unwrap();
        let orphan = File::create(folder.path().join(LOCK)).unwrap();
        fs::write(folder.path().join(".partial-x"), "half").unwrap();
        orphan.lock().unwrap();
        let start = || if resume { folder.resume(&resolved()) } else { folder.start(&resolved()) };
        assert!(matches!(start(), Err(FolderError::InUse(..))));
        drop(orphan);
        let lock = start().unwrap();
        assert!(lock.taken_over());
        assert!(folder.config().exists() && !folder.path().join(".partial-x").exists());
        assert!(matches!(folder.start(&resolved()), Err(FolderError::HoldsRun(..))));
        drop(lock);
        assert!(!folder.resume(&resolved()).unwrap().taken_over());
        fs::remove_dir_all(folder.path()).unwrap();
    }
}

#[cfg(unix)]
#[test]
fn a_configuration_that_is_no_text_leaves_no_folder() {
    use std::os::unix::ffi::OsStringExt;
    let parent = tempfile::tempdir().unwrap();
    let folder = RunFolder::new(parent.path().join("run"));
    let mut config = resolved();
    let path = std::ffi::OsString::from_vec(b"/d\xff".to_vec());
    config.config.data.recordings = Some(crate::data::RecordingsConfig::new(path));
    assert!(matches!(folder.start(&config), Err(FolderError::Toml(_))));
    assert!(!folder.path().exists());
}

#[test]
fn the_folder_of_a_sweep_names_its_runs() {
    let parent = tempfile::tempdir().unwrap();
    fs::write(parent.path().join(SWEEP_KEY), "loss.price").unwrap();
    for value in ["price-1", "price-0"] {
        drop(RunFolder::new(parent.path().join(value)).start(&resolved()).unwrap());
    }
    let error = RunFolder::new(parent.path()).resolved::<PeaksTask>().unwrap_err().to_string();
    assert!(error.ends_with("is the folder of a sweep: give that of one of its runs, price-0, price-1"), "{error}");
}

#[test]
fn a_configuration_that_is_no_toml_is_damaged_and_of_no_task() {
    let parent = tempfile::tempdir().unwrap();
    let folder = RunFolder::new(parent.path());
    fs::write(folder.config(), "x").unwrap();
    let error = folder.resolved::<crate::tasks::operator::OperatorTask>().unwrap_err().to_string();
    assert!(error.starts_with("reading ") && error.ends_with("config.toml: damaged"), "{error}");
}

#[test]
fn an_invalid_configuration_names_its_file_and_key() {
    let parent = tempfile::tempdir().unwrap();
    let folder = RunFolder::new(parent.path().join("run"));
    drop(folder.start(&resolved()).unwrap());
    let text = fs::read_to_string(folder.config()).unwrap();
    fs::write(folder.config(), text.replace("hop = 128", "hop = 4611686018427387904")).unwrap();
    let error = folder.resolved::<PeaksTask>().unwrap_err();
    assert!(matches!(error, FolderError::Config(..)), "{error}");
    fs::write(folder.config(), text.replace("firefly = \"", "firefly = \"9.").replace("n_fft", "length")).unwrap();
    let error = folder.resolved::<PeaksTask>().unwrap_err().to_string();
    assert!(error.contains("Firefly 9."), "{error}");
}
