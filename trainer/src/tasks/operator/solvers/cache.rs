//! Cache of solved samples: a safetensors file per equation and settings.

use std::fs;
use std::path::{Path, PathBuf};

use firefly_app::files::write_atomically;
use firefly_app::streams::with_causes;
use firefly_models::checksum::{is_intact, sealed};
use firefly_recordings::Array;
use safetensors::Dtype;
use safetensors::tensor::TensorView;
use sha2::{Digest, Sha256};

use super::Solved;
use crate::task::TaskError;
use crate::tasks::operator::config::GeneratedSection;
use crate::tasks::operator::fields::{FieldPairs, Fields};

/// Number of the solvers' version: one more whenever their solutions change.
const VERSION: u32 = 2;
/// Bytes of the hash in a file's name.
const HASH_BYTES: usize = 8;

/// File of the samples of a section and a seed. Its name has a hash of all settings but the cache's own folder.
pub fn path(folder: &Path, section: &GeneratedSection, seed: u64) -> PathBuf {
    let settings = GeneratedSection { cache: None, ..section.clone() };
    let hash = Sha256::digest(format!("{VERSION} {seed} {settings:?}"));
    let hash: String = hash.iter().take(HASH_BYTES).map(|byte| format!("{byte:02x}")).collect();
    folder.join(format!("{}-{hash}.safetensors", section.equation.as_str()))
}

/// Names of the arrays of the training samples and of each test set.
fn names(section_tests: usize) -> Vec<[String; 2]> {
    let tests = (0..section_tests).map(|index| ["x", "y"].map(|array| format!("test_{index}_{array}")));
    [["x".to_string(), "y".to_string()]].into_iter().chain(tests).collect()
}

/// Writes samples to a file. Those to train on are `x` and `y`, so that the file can be named as data too.
pub fn write(path: &Path, solved: &Solved) -> Result<(), TaskError> {
    let failed = |reason: String| TaskError::Input(path.into(), reason);
    let pairs: Vec<&FieldPairs> = [&solved.train].into_iter().chain(&solved.tests).collect();
    let mut arrays = Vec::new();
    for (pair, names) in pairs.iter().zip(names(solved.tests.len())) {
        for (name, fields) in names.into_iter().zip([&pair.input, &pair.output]) {
            let bytes: Vec<u8> = fields.values().flat_map(f32::to_le_bytes).collect();
            arrays.push((name, fields.shape(), bytes));
        }
    }
    let views =
        arrays.iter().map(|(name, shape, bytes)| Ok((name, TensorView::new(Dtype::F32, shape.clone(), bytes)?)));
    let views = views.collect::<Result<Vec<_>, safetensors::SafeTensorError>>();
    let file =
        views.and_then(|views| safetensors::serialize(views, None)).map_err(|error| failed(error.to_string()))?;
    write_atomically(path, &sealed(file))
        .map_err(|error| failed(format!("the solved samples can't be cached: {error}")))
}

/// Reads the samples of a section from a file.
pub fn read(path: &Path, section: &GeneratedSection) -> Result<Solved, TaskError> {
    let refused = |reason: String| {
        let reason = format!("{reason}: remove the file, and its samples are solved again");
        TaskError::Input(path.into(), reason)
    };
    let bytes = fs::read(path).map_err(|error| refused(format!("the cache can't be read: {error}")))?;
    if !is_intact(&bytes) {
        return Err(refused("the cache is damaged".into()));
    }
    of_file(path, section).map_err(|error| refused(format!("the cache is damaged: {}", with_causes(&error))))
}

/// The samples in a file.
fn of_file(path: &Path, section: &GeneratedSection) -> Result<Solved, TaskError> {
    let dims = section.equation.dims();
    let pair = |[x, y]: [String; 2]| {
        let fields = |name: &str| Fields::of(Array::read(path, name)?, dims, path, name);
        FieldPairs::of(fields(&x)?, fields(&y)?, path)
    };
    let mut pairs = names(section.test_points.len()).into_iter().map(pair);
    let train = pairs.next().transpose()?.unwrap_or_default();
    Ok(Solved { train, tests: pairs.collect::<Result<_, TaskError>>()? })
}
