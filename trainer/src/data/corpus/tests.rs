use std::fs;

use hound::{SampleFormat, WavSpec, WavWriter};
use tempfile::TempDir;

use super::*;

fn write(folder: &TempDir, name: &str, channels: u16, samples: usize) {
    let path = folder.path().join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let spec = WavSpec {
        channels,
        sample_rate: if channels == 1 { 8000 } else { 360 },
        bits_per_sample: 16,
        sample_format: SampleFormat::Int,
    };
    let mut writer = WavWriter::create(path, spec).unwrap();
    for index in 0..samples * usize::from(channels) {
        writer.write_sample(index as i16).unwrap();
    }
    writer.finalize().unwrap();
}

#[test]
fn files_come_sorted_from_all_folders() {
    let folder = TempDir::new().unwrap();
    for name in ["b.wav", "a/z.WAV", "a/a.wav", "a.wav", ".hidden.wav", ".cache/x.wav"] {
        write(&folder, name, 1, 100);
    }
    write(&folder, "stereo.wav", 2, 100);
    fs::write(folder.path().join("notes.txt"), "not sound").unwrap();
    fs::create_dir(folder.path().join("folder.wav")).unwrap();
    let corpus = Corpus::load(folder.path(), 64).unwrap();
    let order: Vec<_> = corpus.recordings().iter().map(|r| (corpus.key(r), r.channel)).collect();
    let expected = [("a/a.wav", 0), ("a/z.WAV", 0), ("a.wav", 0), ("b.wav", 0), ("stereo.wav", 0), ("stereo.wav", 1)];
    assert_eq!(order, expected.map(|(key, channel)| (key.to_owned(), channel)));
    assert_eq!((corpus.files(), corpus.samples()), (5, 600));
    assert_eq!(corpus.sample_rates(), [360.0, 8000.0]);
    assert_eq!(corpus.file_ranges(), [0..1, 1..2, 2..3, 3..4, 4..6]);
}

#[test]
fn short_recordings_are_not_kept() {
    let folder = TempDir::new().unwrap();
    write(&folder, "long.wav", 1, 100);
    write(&folder, "short.wav", 2, 99);
    write(&folder, "empty.wav", 1, 0);
    let corpus = Corpus::load(folder.path(), 100).unwrap();
    assert_eq!(corpus.recordings().len(), 1);
    let error = Corpus::load(folder.path(), 101).unwrap_err();
    assert!(matches!(error, DataError::AllTooShort { recordings: 4, longest: 100, frame: 101, .. }), "{error}");
    assert!(matches!(Corpus::load(folder.path(), 0), Err(DataError::Setting { .. })));
}

#[test]
fn folders_that_give_nothing_say_why() {
    let folder = TempDir::new().unwrap();
    let error = Corpus::load(folder.path(), 8).unwrap_err();
    assert!(matches!(error, DataError::Recording(RecordingError::NoRecordings(_))), "{error}");
    let error = Corpus::load(&folder.path().join("absent"), 8).unwrap_err();
    assert!(matches!(error, DataError::Recording(RecordingError::FolderMissing(_))), "{error}");
    write(&folder, "x.wav", 1, 10);
    let error = Corpus::load(&folder.path().join("x.wav"), 8).unwrap_err();
    assert!(matches!(error, DataError::Recording(RecordingError::NotAFolder(_))), "{error}");
    fs::write(folder.path().join("bad.wav"), "no sound").unwrap();
    let error = Corpus::load(folder.path(), 8).unwrap_err();
    assert!(error.to_string().contains("bad.wav"), "{error}");
}

#[cfg(unix)]
#[test]
fn links_neither_loop_nor_list_a_file_twice() {
    let folder = TempDir::new().unwrap();
    write(&folder, "a/x.wav", 1, 10);
    std::os::unix::fs::symlink(folder.path(), folder.path().join("a/up")).unwrap();
    std::os::unix::fs::symlink(folder.path().join("a"), folder.path().join("b")).unwrap();
    std::os::unix::fs::symlink("nowhere", folder.path().join("dangling.wav")).unwrap();
    let corpus = Corpus::load(folder.path(), 8).unwrap();
    assert_eq!(corpus.files(), 1);
    assert_eq!(corpus.key(&corpus.recordings()[0]), "a/x.wav");
}

#[test]
fn recordings_in_memory_are_put_in_order() {
    let recording = |path: &str, channel| Recording {
        path: Path::new(path).into(),
        channel,
        sample_rate: Some(100.0),
        samples: vec![0.0; 20].into(),
    };
    let given = vec![recording("b", 1), recording("a", 0), recording("b", 0)];
    let corpus = Corpus::from_recordings(given, 20).unwrap();
    let order: Vec<_> = corpus.recordings().iter().map(|r| (corpus.key(r), r.channel)).collect();
    assert_eq!(order, [("a", 0), ("b", 0), ("b", 1)].map(|(p, c)| (p.to_owned(), c)));
    assert!(Corpus::from_recordings(Vec::new(), 20).is_err());
    let short = Corpus::from_recordings(vec![recording("a", 0), recording("a", 1)], 21).unwrap_err().to_string();
    assert!(short.starts_with("a: none of the 2 recordings"), "{short}");
}

#[test]
fn recordings_of_several_rates_are_found() {
    let corpus = |rates: &[Option<f64>]| {
        let recording = |(channel, rate): (usize, &Option<f64>)| Recording {
            path: Path::new("x").into(),
            channel,
            sample_rate: *rate,
            samples: vec![0.0; 20].into(),
        };
        Corpus::from_recordings(rates.iter().enumerate().map(recording).collect(), 20).unwrap()
    };
    let [slow, rounded, other, fast] = [243.9024, 243.9, 244.2, 16_000.0].map(Some);
    Corpus::check_one_rate([&corpus(&[slow, None, rounded]), &corpus(&[slow])]).unwrap();
    Corpus::check_one_rate([]).unwrap();
    for corpora in [[corpus(&[slow, None]), corpus(&[other])], [corpus(&[slow, fast]), corpus(&[slow])]] {
        let error = Corpus::check_one_rate(&corpora).unwrap_err().to_string();
        assert!(error.contains("reading x"), "{error}");
    }
}
