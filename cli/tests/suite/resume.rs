//! Commands that are killed and started again: their outputs have the bytes of an uninterrupted command.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::Duration;

use crate::common::{errors, firefly, run, samples, text, wav};

/// Number of the recording of each whole entry of a journal; none if there is no journal.
fn recordings_in(journal: &Path) -> Vec<u64> {
    let Ok(file) = File::open(journal) else { return Vec::new() };
    let mut left = file.metadata().unwrap().len();
    let mut entries = BufReader::new(file);
    let mut statement = Vec::new();
    left = left.saturating_sub(entries.read_until(b'\n', &mut statement).unwrap() as u64);
    let mut recordings = Vec::new();
    // Length of the payload, checksum, and the payload's first values: kind of entry and recording.
    let mut head = [0; 4 + 4 + 1 + 8];
    while entries.read_exact(&mut head).is_ok() {
        let bytes = 8 + u64::from(u32::from_le_bytes(*head.first_chunk().unwrap()));
        if bytes > left {
            break;
        }
        left -= bytes;
        recordings.push(u64::from_le_bytes(*head.last_chunk().unwrap()));
        entries.seek_relative(bytes as i64 - head.len() as i64).unwrap();
    }
    recordings
}

/// The journal of an output.
fn journal_of(out: &Path) -> PathBuf {
    let mut name = out.as_os_str().to_owned();
    name.push(".journal");
    name.into()
}

/// Entries of a journal, and the least recording of the last one, at which a command is killed.
type Place = (usize, u64);

/// Runs a command until the journal of its output has so many entries, and one of a recording of this number or a later
/// one; then kills it. False if the command ended before.
fn was_killed_at(arguments: &[&str], out: &Path, (entries, recording): Place) -> bool {
    let journal = journal_of(out);
    let mut child = firefly(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while child.try_wait().unwrap().is_none() {
        let found = recordings_in(&journal);
        if found.len() >= entries && found.last().is_some_and(|last| *last >= recording) {
            child.kill().unwrap();
            child.wait().unwrap();
        } else {
            sleep(Duration::from_millis(1));
        }
    }
    // A command that ends removes its journal.
    journal.exists()
}

/// Journals and unfinished outputs, which are there as long as a command can be continued.
fn left_behind(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.ends_with(".journal") || name.ends_with(".partial")).collect()
}

#[test]
fn a_killed_command_continues_to_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let signal = samples(1 << 20);
    let many = folder.path().join("in");
    for name in ["a.wav", "b.wav", "c.wav"] {
        wav(&many.join(name), 1, &signal);
    }
    fs::write(many.join("bad.wav"), "no sound").unwrap();
    let one = wav(&folder.path().join("one.wav"), 2, &signal);
    let many = text(&many);
    // Killed with one entry in the journal, in the middle of a recording, and in the one behind that which fails.
    let of_many = [(1, 0), (8, 0), (1, 3)];
    let of_one = [(1, 0), (8, 0), (16, 0)];
    let commands: [(&[&str], &str, i32, [Place; 3]); 6] = [
        (&["peaks", many, "--step", "64"], "parquet", 1, of_many),
        (&["peaks", many, "--step", "64"], "npy", 1, of_many),
        (&["peaks", many, "--step", "128", "--local-maxima", "--height", "-20dB"], "csv", 1, of_many),
        (&["peaks", many, "--step", "64", "--device", "cpu:0,cpu:1"], "csv", 1, of_many),
        (&["spectrum", many, "--hop", "4", "--n-fft", "128"], "csv", 1, of_many),
        (&["spectrogram", text(&one), "--channel", "1", "--hop", "8", "--n-fft", "128"], "npy", 0, of_one),
    ];
    for (arguments, extension, status, places) in commands {
        let [whole, out] = ["whole", "resumed"].map(|name| folder.path().join(format!("{name}.{extension}")));
        let [whole_plot, plot] = ["whole", "resumed"].map(|name| folder.path().join(format!("{name}.svg")));
        let with_outputs = |out, plot| [arguments, &["--out", text(out), "--plot", text(plot)]].concat();
        let finished = run(&with_outputs(&whole, &whole_plot));
        assert_eq!(finished.status.code(), Some(status), "{}", errors(&finished));
        let bytes = fs::read(&whole).unwrap();
        let resumed = with_outputs(&out, &plot);
        let mut kills = 0;
        for place in places {
            if !was_killed_at(&resumed, &out, place) {
                break;
            }
            kills += 1;
            // An output appears when it is complete.
            assert!(!out.exists() || fs::read(&out).unwrap() == bytes);
        }
        assert!(kills > 0, "{arguments:?} ended before its journal was seen");
        let last = run(&resumed);
        // A recording that failed before a kill still counts.
        assert_eq!(last.status.code(), Some(status), "{arguments:?}: {}", errors(&last));
        let printed = |output: &Output| String::from_utf8_lossy(&output.stdout).replace("resumed.", "whole.");
        assert_eq!(printed(&last), printed(&finished));
        assert!(fs::read(&out).unwrap() == bytes, "{arguments:?} after {kills} kills");
        assert!(fs::read(&plot).unwrap() == fs::read(&whole_plot).unwrap(), "{arguments:?}");
        assert!(left_behind(folder.path()).is_empty(), "{:?}", left_behind(folder.path()));
        fs::remove_file(&out).unwrap();
    }
}

#[test]
fn a_spectrogram_whose_rows_are_gone_is_computed_anew() {
    let folder = tempfile::tempdir().unwrap();
    let input = wav(&folder.path().join("x.wav"), 1, &samples(1 << 20));
    let [whole, out] = ["whole.npy", "out.npy"].map(|name| folder.path().join(name));
    let arguments = |out| ["spectrogram", text(&input), "--hop", "8", "--n-fft", "128", "--out", out];
    assert!(run(&arguments(text(&whole))).status.success());
    let [partial, journal] = [".out.npy.partial", "out.npy.journal"].map(|name| folder.path().join(name));
    assert!(was_killed_at(&arguments(text(&out)), &out, (8, 0)), "it ended before its journal was seen");
    let left = [&partial, &journal].map(|path| fs::read(path).unwrap());
    let damages: [fn(&mut Vec<u8>); 4] =
        [|_| {}, |bytes| bytes.truncate(bytes.len() / 2), |bytes| bytes[1000] ^= 1, |bytes| bytes.clear()];
    for damage in damages {
        let [mut rows, entries] = left.clone();
        damage(&mut rows);
        fs::write(&partial, rows).unwrap();
        fs::write(&journal, entries).unwrap();
        let continued = run(&arguments(text(&out)));
        assert!(continued.status.success(), "{}", errors(&continued));
        assert!(fs::read(&out).unwrap() == fs::read(&whole).unwrap());
        fs::remove_file(&out).unwrap();
    }
}

#[test]
fn a_journal_of_other_options_is_not_continued() {
    let folder = tempfile::tempdir().unwrap();
    let numbers = folder.path().join("x.csv");
    let rows: Vec<String> = samples(1 << 17).iter().map(f32::to_string).collect();
    fs::write(&numbers, rows.join("\n")).unwrap();
    let [whole, out] = ["whole.csv", "out.csv"].map(|name| folder.path().join(name));
    let arguments = |rate, out| ["peaks", text(&numbers), "--step", "4", "--rate", rate, "--out", out];
    assert!(run(&arguments("100", text(&whole))).status.success());
    assert!(was_killed_at(&arguments("200", text(&out)), &out, (1, 0)), "it ended before its journal was seen");
    let other = run(&arguments("100", text(&out)));
    assert!(other.status.success() && !errors(&other).contains("continuing"), "{}", errors(&other));
    assert!(fs::read(&out).unwrap() == fs::read(&whole).unwrap());
    // A number of peaks that is given, and the same by default, which a band may lower.
    let by_default = [&arguments("100", text(&out))[..], &["--band", "0..20"]].concat();
    fs::remove_file(&out).unwrap();
    assert!(was_killed_at(&by_default, &out, (1, 0)), "it ended before its journal was seen");
    let given = run(&[&by_default[..], &["-k", "16"]].concat());
    assert!(given.status.success() && !errors(&given).contains("continuing"), "{}", errors(&given));
}

/// Interrupts a command, and returns its messages.
#[cfg(unix)]
fn interrupted(child: Child) -> String {
    use std::os::unix::process::ExitStatusExt;
    // A shell in the background has its children ignore SIGINT, which stays ignored; SIGTERM is handled in the same way.
    assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.signal(), Some(15), "{}", errors(&output));
    errors(&output)
}

fn wait_for(found: impl Fn() -> bool) {
    for _ in 0..6000 {
        if found() {
            return;
        }
        sleep(Duration::from_millis(10));
    }
    panic!("nothing in a minute");
}

#[test]
#[cfg(unix)]
fn an_output_of_a_stream_is_locked_and_leaves_nothing_when_interrupted() {
    let folder = tempfile::tempdir().unwrap();
    let (out, other) = (folder.path().join("x.csv"), wav(&folder.path().join("other.wav"), 1, &samples(4000)));
    let arguments = ["peaks", "-", "--rate", "8000", "--format", "f32", "--out", text(&out)];
    let mut command = firefly(&arguments);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(&samples(8000).iter().flat_map(|sample| sample.to_le_bytes()).collect::<Vec<_>>()).unwrap();
    let partial = folder.path().join(".x.csv.partial");
    wait_for(|| partial.exists() && journal_of(&out).exists());
    for command in ["peaks", "spectrum"] {
        let second = run(&[command, text(&other), "--out", text(&out)]);
        assert_eq!(second.status.code(), Some(2));
        assert!(errors(&second).contains("another process writes this output"), "{}", errors(&second));
    }
    let messages = interrupted(child);
    drop(input);
    assert!(!messages.contains("is kept"), "{messages}");
    assert!(left_behind(folder.path()).is_empty() && !out.exists(), "{:?}", left_behind(folder.path()));
}

#[test]
#[cfg(unix)]
fn an_interrupted_command_keeps_what_it_continues_from_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let input = wav(&folder.path().join("x.wav"), 1, &samples(1 << 21));
    let [rows, array] = ["x.csv", "x.npy"].map(|name| folder.path().join(name));
    let commands: [(&[&str], &Path, &[&str]); 2] = [
        (&["peaks", text(&input), "--step", "8"], &rows, &["x.csv.journal"]),
        (&["spectrogram", text(&input), "--hop", "8", "--n-fft", "128"], &array, &[".x.npy.partial", "x.npy.journal"]),
    ];
    for (arguments, out, kept) in commands {
        let arguments = [arguments, &["--out", text(out)]].concat();
        let child = firefly(&arguments).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        wait_for(|| recordings_in(&journal_of(out)).len() > 2);
        let messages = interrupted(child);
        assert!(messages.contains(&format!("{} is kept", journal_of(out).display())), "{messages}");
        let mut left = left_behind(folder.path());
        left.sort();
        assert_eq!(left, *kept);
        let last = run(&arguments);
        assert!(last.status.success() && errors(&last).contains("continuing after"), "{}", errors(&last));
        assert!(left_behind(folder.path()).is_empty());
    }
}
