//! Split of recordings into training, validation and test, by whole files.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::corpus::Corpus;
use super::{DataError, ensure};

/// Splits by file into (training, validation): all channels of a file go to one side.
///
/// Files are ranked by a hash of `seed` and their path relative to the corpus's folder. The first `validation_share` of
/// them validate, rounded, at least one and not all. The result depends neither on the order of the files nor on the
/// folder's path. An error if the share is not within (0, 1), or there are fewer than two files.
pub fn split(corpus: &Corpus, validation_share: f64, seed: u64) -> Result<(Corpus, Corpus), DataError> {
    let is_share = validation_share > 0.0 && validation_share < 1.0;
    ensure(is_share, "validation_share", validation_share, "above 0 and below 1")?;
    let files = corpus.file_ranges();
    if files.len() < 2 {
        return Err(DataError::TooFewFiles { folder: corpus.folder().to_owned(), files: files.len() });
    }
    let mut ranked: Vec<(u64, String, Range<usize>)> = files
        .into_iter()
        .map(|file| {
            let key = corpus.key(&corpus.recordings()[file.start]);
            (split_hash(seed, &key), key, file)
        })
        .collect();
    ranked.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
    let wanted = (validation_share * ranked.len() as f64).round() as usize;
    let count = wanted.clamp(1, ranked.len() - 1);
    let side = |ranked: &[(u64, String, Range<usize>)]| {
        let mut files: Vec<_> = ranked.iter().map(|(_, _, file)| file.clone()).collect();
        files.sort_by_key(|file| file.start);
        corpus.part(&files)
    };
    Ok((side(&ranked[count..]), side(&ranked[..count])))
}

/// Splits by file name into (others, matching): a file matches if its name without the extension ends in one of
/// `suffixes`. An error if no file matches, or every file does.
pub fn split_by_suffix(corpus: &Corpus, suffixes: &[String]) -> Result<(Corpus, Corpus), DataError> {
    split_by_name(corpus, "test_suffixes", suffixes, |stem, suffix| stem.ends_with(suffix))
}

/// Splits by file name into (others, matching), by the names in the setting `key`.
fn split_by_name(
    corpus: &Corpus,
    key: &'static str,
    names: &[String],
    matches: impl Fn(&str, &str) -> bool,
) -> Result<(Corpus, Corpus), DataError> {
    let files = corpus.file_ranges();
    let total = files.len();
    let (matching, others): (Vec<_>, Vec<_>) = files.into_iter().partition(|file| {
        let path = &corpus.recordings()[file.start].path;
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        names.iter().any(|name| matches(&stem, name))
    });
    if matching.is_empty() || others.is_empty() {
        return Err(DataError::Names {
            folder: corpus.folder().to_owned(),
            key,
            names: names.to_vec(),
            matched: matching.len(),
            files: total,
        });
    }
    Ok((corpus.part(&others), corpus.part(&matching)))
}

/// Hash that ranks a file: FNV-1a of its path, mixed with the seed by SplitMix64's finalizer (Steele, Lea and Flood,
/// 2014). Written out, because the standard library's hashes may change from one release to the next.
fn split_hash(seed: u64, key: &str) -> u64 {
    let hash = key
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    mix(hash ^ mix(seed))
}

fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Folders of recordings, and the files among them that test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "docs/guide/configuration.md describes the keys")]
pub struct RecordingsConfig {
    pub train: PathBuf,
    pub test: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub test_suffixes: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub test_contains: Vec<String>,
    #[serde(default = "default_validation_share")]
    pub validation_share: f64,
}

fn default_validation_share() -> f64 {
    0.15
}

/// Recordings split into training, validation and test.
#[derive(Debug, Clone)]
pub struct Corpora {
    /// Recordings to train on.
    pub train: Corpus,
    /// Recordings to validate on, by which a checkpoint is chosen.
    pub validation: Corpus,
    /// Recordings to test on, if the configuration has some.
    pub test: Option<Corpus>,
}

impl RecordingsConfig {
    /// Recordings of one folder, none of them set aside for a test.
    pub fn new(train: impl Into<PathBuf>) -> Self {
        Self {
            train: train.into(),
            test: None,
            test_suffixes: Vec::new(),
            test_contains: Vec::new(),
            validation_share: default_validation_share(),
        }
    }

    /// Name of the files that examples are reported on: those of the test, or of the validation if there are none.
    pub(crate) fn test_name(&self, corpora: &Corpora) -> String {
        let part = if corpora.test.is_some() { "test files" } else { "validation files" };
        format!("{} ({part})", self.test.as_ref().unwrap_or(&self.train).display())
    }

    /// Reads the folders and splits them; `frame` is in samples. An error of [`Corpus::load`], [`split`] or
    /// [`split_by_suffix`]; if `test` and `test_suffixes` are both given; if one folder lies within the other.
    pub fn load(&self, frame: usize, seed: u64) -> Result<Corpora, DataError> {
        let names = [("test_suffixes", &self.test_suffixes), ("test_contains", &self.test_contains)];
        for (key, names) in names {
            let (got, is_alone) = (format!("{names:?}"), self.test.is_none() || names.is_empty());
            ensure(is_alone, key, &got, "left out when a test folder is given")?;
            ensure(!names.iter().any(String::is_empty), key, got, "made of texts of at least one character")?;
        }
        let (got, is_one) = (format!("{:?}", self.test_contains), names.iter().any(|(_, names)| names.is_empty()));
        ensure(is_one, "test_contains", got, "left out when test_suffixes are given")?;
        if let Some(test) = &self.test {
            ensure_no_overlap(&self.train, test)?;
        }
        let all = Corpus::load(&self.train, frame)?;
        let with_test = |(rest, test)| (rest, Some(test));
        let (rest, test) = match &self.test {
            Some(folder) => (all, Some(Corpus::load(folder, frame)?)),
            None if !self.test_suffixes.is_empty() => split_by_suffix(&all, &self.test_suffixes).map(with_test)?,
            None if !self.test_contains.is_empty() => {
                split_by_name(&all, "test_contains", &self.test_contains, |stem, part| stem.contains(part))
                    .map(with_test)?
            }
            None => (all, None),
        };
        let (train, validation) = split(&rest, self.validation_share, seed)?;
        Ok(Corpora { train, validation, test })
    }
}

/// Checks that neither folder lies within the other: subfolders are read too, so that files would be on both sides.
fn ensure_no_overlap(train: &Path, test: &Path) -> Result<(), DataError> {
    // A missing folder is reported when it is read.
    let (Ok(real_train), Ok(real_test)) = (fs::canonicalize(train), fs::canonicalize(test)) else {
        return Ok(());
    };
    if real_train.starts_with(&real_test) || real_test.starts_with(&real_train) {
        return Err(DataError::Overlap { train: train.to_owned(), test: test.to_owned() });
    }
    Ok(())
}

#[cfg(test)]
mod tests;
