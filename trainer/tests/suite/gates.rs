//! Gates close if butterflies have a price: the higher the price, the more of them.

use std::fs;

use crate::common::{errors, run, small_config, text};

#[test]
fn the_share_of_active_butterflies_falls_with_the_price() {
    let folder = tempfile::tempdir().unwrap();
    let config = small_config(folder.path());
    let out = folder.path().join("sweep");
    let prices = "loss.price=0,0.1,0.4,6";
    let output = run(&[
        "sweep",
        text(&config),
        "--over",
        prices,
        "--steps",
        "300",
        "--out",
        text(&out),
        "--set",
        "model.open_logit=1.5",
        "--set",
        "loss.log_power=0.1",
        "--set",
        "model.learned_transform=true",
        "--set",
        "training.learn=[\"taper\",\"twiddles\",\"gates\",\"segments\",\"gain\"]",
    ]);
    assert!(output.status.success(), "{}", errors(&output));
    let rows: serde_json::Value = serde_json::from_slice(&fs::read(out.join("evaluation.json")).unwrap()).unwrap();
    let butterflies: Vec<f64> = rows
        .as_array()
        .unwrap()
        .iter()
        .filter(|row| row["kind"] == "learned")
        .map(|row| row["butterflies_per_frame"].as_f64().unwrap())
        .collect();
    let all_open = (8 * 5 * 16) as f64;
    assert_eq!(butterflies[0], all_open, "without a price every gate stays open");
    assert!(butterflies.windows(2).all(|pair| pair[1] < pair[0]), "{butterflies:?}");
    assert!(butterflies[3] < all_open / 8.0, "{butterflies:?}");
}
