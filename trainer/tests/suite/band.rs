//! A model that searches peaks in a band.

use crate::common::{errors, evaluation, run, small_config, text};

#[test]
fn peaks_outside_the_band_of_the_model_are_not_found() {
    let folder = tempfile::tempdir().unwrap();
    let config = small_config(folder.path());
    let recalls = |band: &str| {
        let out = folder.path().join(band);
        let setting = format!("model.band=[{}]", band.replace("..", ","));
        let output = run(&[text(&config), "--steps", "2", "--set", &setting, "--out", text(&out)]);
        assert!(output.status.success(), "{}", errors(&output));
        let of = |name: &str| {
            let rows = evaluation(&out);
            let row = rows.iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("{name}: {rows:?}"));
            row["recall"].as_f64().unwrap()
        };
        (of("reference"), of(&format!("reference, bins {band}")), of("learned"))
    };
    // The reference finds its own peaks; with all bins in the band too, and with half of them those of that half.
    let (reference, all, learned) = recalls("0..17");
    assert_eq!((reference, all), (1.0, 1.0));
    let (reference, half, in_half) = recalls("0..9");
    assert_eq!(reference, 1.0);
    assert!(half > 0.2 && half < 0.9 && in_half < learned, "{half}, {in_half} of {learned}");
    let out = folder.path().join("refused");
    let output = run(&[text(&config), "--set", "model.band=[3,18]", "--out", text(&out)]);
    assert!(
        errors(&output).contains("model.band is 3..18, but must be one or more bins of 0..17"),
        "{}",
        errors(&output)
    );
}
