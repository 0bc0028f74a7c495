//! A price on time: segments close, the higher the price the more of them, and a device's calibrated profile gives the times.

use std::fs;
use std::path::Path;

use firefly_framework::device::{DeviceId, fingerprint};
use firefly_framework::picker::{Crossover, Crossovers, Strategy};
use firefly_framework::profile::{DeviceProfile, Preset, save};

use crate::common::{errors, evaluation, firefly_train, run, small_config, text};

const LEARN: &str = "training.learn=[\"taper\",\"segments\",\"gain\"]";

#[test]
fn segments_close_with_the_price_of_their_time() {
    let folder = tempfile::tempdir().unwrap();
    let (config, out) = (small_config(folder.path()), folder.path().join("sweep"));
    let segments = "loss.segment_times=[100,110,150,160,200,210,250,260]";
    let over = "loss.price=0,1,20";
    let arguments = ["sweep", text(&config), "--over", over, "--steps", "300", "--out", text(&out)];
    let output = run(&[&arguments[..], &["--set", LEARN, "--set", segments, "--set", "model.open_logit=1.5"]].concat());
    assert!(output.status.success(), "{}", errors(&output));
    let rows = evaluation(&out);
    let learned = rows.iter().filter(|row| row["kind"] == "learned");
    let open: Vec<f64> = learned.map(|row| row["active_share"].as_f64().unwrap() * 8.0).collect();
    assert_eq!((open.len(), open[0]), (3, 8.0), "without a price every segment stays open: {open:?}");
    assert!(open[1] < 8.0 && open[2] <= open[1] && open[2] <= 2.0, "{open:?}");
}

#[test]
fn the_times_of_a_device_are_those_of_its_calibrated_profile() {
    let folder = tempfile::tempdir().unwrap();
    let config_file = small_config(folder.path());
    let train = |out: &Path| {
        let arguments = [text(&config_file), "--steps", "2", "--out", text(out)];
        let mut command = firefly_train(&arguments);
        command.args(["--set", LEARN, "--set", "loss.price_device=cpu"]).env("XDG_CONFIG_HOME", folder.path());
        command.output().unwrap()
    };
    let out = folder.path().join("run");
    let output = train(&out);
    assert!(!output.status.success());
    assert!(
        errors(&output).contains("loss.price_device is cpu, but must be a calibrated device"),
        "{}",
        errors(&output)
    );

    // One microsecond per segment and frame.
    let row = |segments: usize| {
        let time = 1000.0 * segments as f64;
        let (few, frames, saved) = (Strategy::Fused, 1.0, 0.0);
        Crossover { n_fft: 64, segments, k: 16, few, frames, saved, fused: time, learned: time }
    };
    let crossovers = Crossovers::new(vec![row(1), row(8)]).unwrap();
    let profile = DeviceProfile { crossovers, fingerprint: fingerprint(DeviceId::CPU), ..Preset::Cpu.profile() };
    save(&profile, &folder.path().join("firefly/devices/cpu.toml")).unwrap();
    let output = train(&out);
    assert!(output.status.success(), "{}", errors(&output));
    let config: toml::Table = toml::from_str(&fs::read_to_string(out.join("config.toml")).unwrap()).unwrap();
    let times: Vec<f64> = config["config"]["loss"]["segment_times"]
        .as_array()
        .unwrap()
        .iter()
        .map(|time| time.as_float().unwrap())
        .collect();
    assert_eq!(times.len(), 8);
    for (segments, time) in (1..).zip(times) {
        assert!((time - 1000.0 * f64::from(segments)).abs() < 1e-6, "{segments} segments take {time} ns");
    }
}
