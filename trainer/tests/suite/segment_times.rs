//! A price on time: segments and blocks of bins close, the higher the price the more of them, transforms are halved, and a
//! device's calibrated profile gives the times.

use std::fs;
use std::path::Path;

use firefly_framework::cost::PEAKS_AXES;
use firefly_framework::device::{DeviceId, fingerprint};
use firefly_framework::profile::{DeviceProfile, LatencyAxis, LatencyTable, Preset, save};

use burn::tensor::Device;
use firefly_models::LearnedWelchPeaks;

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

/// The model of 30 more steps on slow tones with gates of blocks and of a halved transform.
fn trained_on_slow_tones(price: &str, folder: &Path) -> LearnedWelchPeaks {
    let (config, out) = (folder.join("slow.toml"), folder.join(format!("run-{price}")));
    let text_of_config = "seed = 3\n[model]\nn_fft = 256\nhop = 128\nk = 4\nsegments = 2\nclosed_blocks = []\nhalvings = 1\n\
        [training]\nsteps = 300\nbatch = 8\nlearn = [\"taper\", \"gain\", \"blocks\", \"halving\"]\n\
        [data]\nsynthetic_frames = 24\nsynthetic = { families = [\"tones\"] }\n\
        [loss]\nsegment_times = [100, 150]\nhalved_times = [60, 80]\nblock_time = 3\n";
    fs::write(&config, text_of_config).unwrap();
    let price = format!("loss.price={price}");
    let output = run(&[text(&config), "--set", &price, "--out", text(&out)]);
    assert!(output.status.success(), "{}", errors(&output));
    LearnedWelchPeaks::load(&out.join("model"), &Device::flex()).unwrap()
}

#[test]
fn blocks_close_and_transforms_are_halved_at_a_price_on_their_time() {
    let folder = tempfile::tempdir().unwrap();
    let free = trained_on_slow_tones("0", folder.path());
    assert_eq!((free.count_closed_blocks(), free.hard_gates().halved()), (0, false));
    let dear = trained_on_slow_tones("100", folder.path());
    // A halved transform has four blocks, one of which has room for the peaks.
    assert_eq!((dear.count_closed_blocks(), dear.hard_gates().halved()), (3, true));
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

    // One microsecond per segment and frame in batches of 1,024 frames.
    let axis = |(name, interpolation): (&str, _)| {
        let values = if name == "segments" { vec![1.0, 8.0] } else { vec![1.0] };
        LatencyAxis { name: name.into(), interpolation, values }
    };
    let table = |share: f64| {
        let times = vec![share * 1_024_000.0, share * 8_192_000.0];
        LatencyTable::new(PEAKS_AXES.map(axis).to_vec(), times).unwrap()
    };
    let tables = [("learned", 1.0), ("learned_fewest_blocks", 0.9), ("learned_halved", 0.5)];
    let latencies = tables.map(|(name, share)| (name.to_string(), table(share))).into();
    let profile = DeviceProfile { latencies, fingerprint: fingerprint(DeviceId::CPU), ..Preset::Cpu.profile() };
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

    // The frames of the small configuration have 32 samples a segment: two blocks of bins, one of them with the peaks.
    let out = folder.path().join("blocks");
    let arguments = [text(&config_file), "--steps", "2", "--out", text(&out)];
    let mut command = firefly_train(&arguments);
    command.args(["--set", "training.learn=[\"gain\",\"blocks\",\"halving\"]", "--set", "model.n_fft=64"]);
    command.args(["--set", "model.closed_blocks=[]", "--set", "model.halvings=1", "--set", "loss.price_device=cpu"]);
    let output = command.env("XDG_CONFIG_HOME", folder.path()).output().unwrap();
    assert!(output.status.success(), "{}", errors(&output));
    let config: toml::Table = toml::from_str(&fs::read_to_string(out.join("config.toml")).unwrap()).unwrap();
    let loss = &config["config"]["loss"];
    let close = |value: &toml::Value, expected: f64| (value.as_float().unwrap() - expected).abs() < 1e-6;
    assert!(close(&loss["halved_times"][7], 4000.0), "{loss}");
    // A tenth of a segment's time is that of one of two blocks.
    assert!(close(&loss["block_time"], 100.0), "{loss}");
}
