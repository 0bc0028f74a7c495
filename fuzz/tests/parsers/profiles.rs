//! Device profiles: any text is a profile, a stale profile, or an error.

use std::fs;

use firefly_framework::profile::{Preset, load, save};
use firefly_fuzz::{Edit, edited};

#[test]
fn device_profiles_are_read_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("profile.toml");
    let profile = Preset::Cpu.profile();
    save(&profile, &path).unwrap();
    let valid = fs::read(&path).unwrap();
    bolero::check!().with_type::<Vec<Edit>>().for_each(|edits| {
        fs::write(&path, edited(&valid, edits)).unwrap();
        let _ = load(&path, "machine");
    });
}
