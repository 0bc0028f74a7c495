//! Reading, computing on each device, and writing, each on its own thread.
//!
//! Blocks are dealt to the devices in turn, and their results taken in the same turn, so that results are in the order of
//! the blocks whatever the number of devices. What is between two blocks goes the way of the second.

use std::collections::HashSet;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use anyhow::{Context, Result, anyhow};
use firefly_app::guard::guarded;
use firefly_app::progress::StepProgress;
use firefly_app::streams::note;
use firefly_recordings::{Block, FrameReader, FrameSamples, Note, RecordingProblem};

use crate::job::Job;
use crate::journal::JournalEntry;

/// Blocks that wait between two threads.
const WAITING: usize = 2;

/// What can't be done where the system refuses a thread.
const STARTING: &str = "starting a thread: the limit on processes or on memory may be reached";

/// Longest block of a stream, in seconds, unless a frame is longer: results follow its samples at once.
const STREAM_SECONDS: f64 = 0.25;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OpenRecording {
    /// Number of the recording among the sources.
    pub source: usize,
    /// Channels; a complex one counts once.
    pub channels: usize,
    /// Samples per second.
    pub rate: f64,
    /// Frequency in hertz that frequency 0 of complex samples stands for; none for real samples.
    pub centre: Option<f64>,
}

impl OpenRecording {
    /// Parts of a sample: two of a complex one.
    pub fn parts(&self) -> usize {
        if self.centre.is_some() { 2 } else { 1 }
    }

    /// Bins of the spectrum of a segment: both sides of complex samples, in the order of `fftfreq`.
    pub fn bins(&self, n_fft: usize) -> usize {
        if self.centre.is_some() { n_fft } else { n_fft / 2 + 1 }
    }

    /// Frequency in hertz of a bin, or of a place so many bins behind it.
    pub fn hertz(&self, bin: usize, offset: f64, n_fft: usize) -> f64 {
        let Some(centre) = self.centre else { return (bin as f64 + offset) * self.rate / n_fft as f64 };
        // The upper half of the bins is that of the frequencies below 0.
        let signed = if bin > (n_fft - 1) / 2 { bin as f64 - n_fft as f64 } else { bin as f64 };
        (signed + offset) * self.rate / n_fft as f64 + centre
    }

    /// Values of bins by rising frequency.
    pub fn by_frequency<T: Clone>(&self, bins: &[T]) -> Vec<T> {
        let mut bins = bins.to_vec();
        if self.centre.is_some() {
            let below = bins.len() / 2;
            bins.rotate_right(below);
        }
        bins
    }

    pub fn first_hertz(&self, n_fft: usize) -> f64 {
        match self.centre {
            Some(_) => self.hertz(n_fft.div_ceil(2) % n_fft, 0.0, n_fft),
            None => 0.0,
        }
    }
}

/// Position to begin at: a recording, and its frame.
pub type Start = (usize, Option<u64>);

/// Computation of a block's results on one device, from samples `[frames, channels, frame]`.
pub trait Compute<T>: FnMut(OpenRecording, FrameSamples) -> Result<T> + Send {}

impl<T, F: FnMut(OpenRecording, FrameSamples) -> Result<T> + Send> Compute<T> for F {}

/// Reads every frame of the job's sources from `start` on, computes, and passes the results to `write`, in order. Each
/// of `computations`, one at least, takes the next block in turn. The error is the first one of a computation or
/// `write`, or the message of a computation's panic; errors of recordings are entries.
pub fn run<T: Send>(
    job: &Job<'_>,
    start: Start,
    progress: &StepProgress,
    computations: Vec<impl Compute<T>>,
    write: impl FnMut(JournalEntry<T>) -> Result<()>,
) -> Result<()> {
    thread::scope(|scope| {
        let (mut frames, mut computed, mut computing) = (Vec::new(), Vec::new(), Vec::new());
        for (number, mut compute) in computations.into_iter().enumerate() {
            let (to_device, to_compute) = sync_channel(WAITING);
            let (from_device, to_write) = sync_channel(WAITING);
            let work = move || compute_all(&to_compute, &from_device, &mut compute);
            let work = move || guarded(work).unwrap_or_else(|panic| Err(anyhow!(panic)));
            computing.push(
                thread::Builder::new().name(format!("compute {number}")).spawn_scoped(scope, work).context(STARTING)?,
            );
            frames.push(to_device);
            computed.push(to_write);
        }
        let reading = move || guarded(move || read(job, start, progress, &frames));
        let reader = thread::Builder::new().name("read".into()).spawn_scoped(scope, reading).context(STARTING)?;
        let written = write_all(computed, write);
        // A thread whose receiver is gone ends; its own error comes first.
        let mut computed = Ok(());
        for thread in computing {
            computed = computed.and(thread.join().unwrap_or_else(|_| Err(anyhow!("a computing thread panicked"))));
        }
        let read = reader.join().unwrap_or_else(|_| Err("it panicked".into()));
        written.and(computed).and(read.map_err(|panic| anyhow!("reading failed: {panic}")))
    })
}

/// Blocks in an entry: the turn of the next device comes with each.
fn blocks_in<T>(entry: &JournalEntry<T>) -> usize {
    usize::from(matches!(entry, JournalEntry::Block(..)))
}

/// Takes all entries from the devices; ends early when the device whose turn it is has failed.
fn write_all<T>(
    computed: Vec<Receiver<JournalEntry<T>>>,
    mut write: impl FnMut(JournalEntry<T>) -> Result<()>,
) -> Result<()> {
    let mut turn = 0;
    while let Ok(entry) = computed[turn % computed.len()].recv() {
        turn += blocks_in(&entry);
        write(entry)?;
    }
    Ok(())
}

/// Reads all recordings; ends early when a receiver is closed.
fn read(
    job: &Job<'_>,
    (first, mut frame): Start,
    progress: &StepProgress,
    out: &[SyncSender<JournalEntry<FrameSamples>>],
) {
    let sources = job.sources;
    let mut turn = 0;
    let mut send = |entry| {
        let end = &out[turn % out.len()];
        turn += blocks_in(&entry);
        end.send(entry).is_ok()
    };
    // A remark is shown once, however many recordings it is about.
    let mut shown = HashSet::new();
    let mut bytes: u64 = sources.list[..first.min(sources.list.len())].iter().map(|source| source.bytes).sum();
    for (index, source) in sources.list.iter().enumerate().skip(first) {
        progress.show(&source.name);
        let mut recording = OpenRecording { source: index, channels: 0, rate: 0.0, centre: None };
        let mut losses = Vec::new();
        let mut blocks = || -> Result<bool> {
            let opened = sources.open(source).map_err(|problem| match problem {
                RecordingProblem::UnknownRate(_) => anyhow!("{problem}: give --rate HZ"),
                problem => problem.into(),
            });
            let (reader, rate) = opened?;
            let layout = reader.layout();
            job.labels.keep(index, layout);
            let centre = layout.is_complex.then_some(layout.centre);
            let mut reader = FrameReader::new(reader, job.framing, sources.part, frame.take(), out.len())?;
            if source.path.is_none() {
                reader.limit_blocks((rate * STREAM_SECONDS) as u64);
            }
            let channels = reader.channels() / if centre.is_some() { 2 } else { 1 };
            recording = OpenRecording { channels, rate, centre, ..recording };
            job.request.peaks_per_frame(recording)?;
            loop {
                let frames = reader.next_block();
                for found in reader.take_notes() {
                    match found {
                        Note::Loss(text) => losses.push(text),
                        Note::Remark(text) if !job.quiet && shown.insert(text.clone()) => {
                            note(format_args!("note: {}: {text}", source.name));
                        }
                        Note::Remark(_) => {}
                    }
                }
                let Some(frames) = frames? else { break };
                let share = reader.share_read().unwrap_or(0.0);
                progress.set_position(bytes + (share * source.bytes as f64) as u64);
                if !send(JournalEntry::Block(recording, frames)) {
                    return Ok(false);
                }
            }
            Ok(true)
        };
        let failure = match blocks() {
            Ok(true) if losses.is_empty() => None,
            Ok(true) => Some(losses.join("; ")),
            Ok(false) => return,
            Err(error) => Some(format!("{error:#}")),
        };
        if !send(JournalEntry::End(recording, failure)) {
            return;
        }
        bytes += source.bytes;
        progress.set_position(bytes);
    }
}

fn compute_all<T>(
    frames: &Receiver<JournalEntry<FrameSamples>>,
    out: &SyncSender<JournalEntry<T>>,
    compute: &mut impl Compute<T>,
) -> Result<()> {
    for entry in frames {
        let entry = match entry {
            JournalEntry::Block(recording, Block { first, count, values }) => {
                JournalEntry::Block(recording, Block { first, count, values: compute(recording, values)? })
            }
            JournalEntry::End(recording, failure) => JournalEntry::End(recording, failure),
        };
        if out.send(entry).is_err() {
            return Ok(());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;
    use std::{fs, path::Path};

    use firefly_recordings::{Framing, Sources};

    use super::*;
    use crate::model::ModelRequest;
    use crate::options::EstimateOptions;

    /// Recordings of these numbers of samples, each sample the number of the recording, and one that can't be read.
    fn sources(folder: &Path, lengths: &[usize]) -> Sources {
        fs::write(folder.join("unreadable.wav"), "no sound").unwrap();
        for (index, length) in lengths.iter().enumerate() {
            let spec = hound::WavSpec {
                channels: 1,
                sample_rate: 100,
                bits_per_sample: 32,
                sample_format: hound::SampleFormat::Float,
            };
            let mut writer = hound::WavWriter::create(folder.join(format!("{index}.wav")), spec).unwrap();
            (0..*length).for_each(|_| writer.write_sample(index as f32).unwrap());
            writer.finalize().unwrap();
        }
        Sources::find(folder).unwrap()
    }

    /// What reaches the writer: blocks by recording, first frame and samples, and ends, of failures too.
    fn messages(sources: &Sources, computations: Vec<impl Compute<f32>>) -> (Vec<String>, Result<()>) {
        let mut seen = Vec::new();
        let request = ModelRequest::power(&EstimateOptions::default(), 1).unwrap();
        let job = Job::new(sources, &request, 1 << 10, serde_json::Value::Null, true);
        let job = Job { framing: Framing::new(1 << 10, 1 << 10), ..job };
        let outcome =
            run(&job, (0, None), &StepProgress::with_time_left(true, sources.bytes()), computations, |entry| {
                seen.push(match entry {
                    JournalEntry::Block(recording, block) => {
                        format!("{} {} {}", recording.source, block.first, block.values)
                    }
                    JournalEntry::End(recording, None) => format!("{} end", recording.source),
                    JournalEntry::End(_, Some(_)) => "failed, end".to_owned(),
                });
                Ok(())
            });
        (seen, outcome)
    }

    #[test]
    fn results_are_in_order_whichever_device_is_slow() {
        let folder = tempfile::tempdir().unwrap();
        let sources = sources(folder.path(), &[1 << 20, 500, 1 << 10, 1 << 10, 3 << 18, 1 << 10]);
        let of = |delays: &[u64]| {
            let computation = |delay: &u64| {
                let delay = Duration::from_millis(*delay);
                move |_: OpenRecording, samples: FrameSamples| {
                    thread::sleep(delay);
                    Ok(samples.rounded.iter().sum())
                }
            };
            let (seen, outcome) = messages(&sources, delays.iter().map(computation).collect());
            outcome.unwrap();
            seen
        };
        let one = of(&[0]);
        assert_eq!(one.len(), 4 + 1 + 1 + 3 + 1 + 7);
        assert_eq!(one.iter().filter(|message| message.ends_with("end")).count(), 7);
        for delays in [&[0, 0][..], &[20, 0], &[0, 20], &[0, 10, 3]] {
            assert_eq!(of(delays), one, "{delays:?}");
        }
    }

    #[test]
    fn frequencies_of_complex_samples_have_a_sign_and_a_centre() {
        let real = OpenRecording { source: 0, channels: 1, rate: 800.0, centre: None };
        assert_eq!((real.bins(8), real.hertz(3, 0.5, 8), real.first_hertz(8)), (5, 350.0, 0.0));
        for (n_fft, hertz) in [
            (8, &[0.0, 100.0, 200.0, 300.0, -400.0, -300.0, -200.0, -100.0][..]),
            (5, &[0.0, 160.0, 320.0, -320.0, -160.0]),
            (1, &[0.0]),
        ] {
            let complex = OpenRecording { centre: Some(1e6), ..real };
            let found: Vec<f64> = (0..complex.bins(n_fft)).map(|bin| complex.hertz(bin, 0.0, n_fft) - 1e6).collect();
            assert_eq!(found, hertz);
            let sorted = complex.by_frequency(&found);
            assert!(sorted.is_sorted() && sorted[0] + 1e6 == complex.first_hertz(n_fft), "{sorted:?}");
        }
    }

    #[test]
    fn a_device_that_fails_ends_the_run_with_its_message() {
        let folder = tempfile::tempdir().unwrap();
        let sources = sources(folder.path(), &[1 << 22]);
        for (failing, panics) in [(0, false), (0, true), (1, false), (1, true)] {
            let computation = |number: usize| {
                let mut blocks = 0;
                move |_: OpenRecording, samples: FrameSamples| {
                    blocks += 1;
                    assert!(!(number == failing && panics && blocks == 3), "device {number} is lost");
                    anyhow::ensure!(number != failing || blocks < 3, "device {number} is lost");
                    Ok(samples.rounded[0])
                }
            };
            let (seen, outcome) = messages(&sources, [0, 1].map(computation).into());
            assert_eq!(outcome.unwrap_err().to_string(), format!("device {failing} is lost"));
            // The blocks before the one that failed.
            assert_eq!(seen.len(), 2 * 2 + failing);
        }
    }
}
