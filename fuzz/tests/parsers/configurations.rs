//! Training configurations: any text is a configuration or an error.

use std::fs;

use firefly_fuzz::{Edit, edited};
use firefly_trainer::config::{load, task_of};
use firefly_trainer::with_task;

#[test]
fn configurations_are_read_or_refused() {
    let shipped: Vec<Vec<u8>> =
        fs::read_dir("../configs").unwrap().map(|entry| fs::read(entry.unwrap().path()).unwrap()).collect();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("configuration.toml");
    bolero::check!().with_type::<(u8, Vec<Edit>)>().for_each(|(which, edits)| {
        fs::write(&path, edited(&shipped[*which as usize % shipped.len()], edits)).unwrap();
        if let Ok(task) = task_of(&path, &[]) {
            with_task!(task, T => _ = load::<T>(&path, &[], None));
        }
    });
}
