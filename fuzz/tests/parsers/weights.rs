//! Saved models: any pair of files is a model or an error.

use std::fs;

use burn::tensor::Device;
use firefly_fuzz::{Edit, edited};
use firefly_models::{LearnedWelchPeaks, LearnedWelchPeaksConfig};

#[test]
fn saved_models_are_read_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let model = LearnedWelchPeaksConfig::new().with_n_fft(8).with_k(2).init(&Device::flex());
    model.save(folder.path()).unwrap();
    let [description, weights] = ["config.json", "model.safetensors"].map(|name| folder.path().join(name));
    let [valid_description, valid_weights] = [&description, &weights].map(|path| fs::read(path).unwrap());
    bolero::check!().with_type::<(Vec<Edit>, Vec<Edit>)>().for_each(|(of_description, of_weights)| {
        // A large configuration is valid, but takes long to build.
        let edited_description = edited(&valid_description, of_description);
        if edited_description.len() < 2 * valid_description.len() {
            fs::write(&description, edited_description).unwrap();
            fs::write(&weights, edited(&valid_weights, of_weights)).unwrap();
            let _ = LearnedWelchPeaks::load(folder.path(), &Device::flex());
        }
    });
}
