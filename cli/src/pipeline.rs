//! Reading, computing and writing, each on its own thread.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use anyhow::{Result, anyhow};
use firefly_app::progress::StepProgress;

use crate::frames::{Block, Cut, FrameReader};
use crate::source::Sources;

/// Blocks that wait between two threads.
const WAITING: usize = 2;

/// A recording that is being read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OpenRecording {
    /// Number of the recording among the sources.
    pub source: usize,
    /// Channels.
    pub channels: usize,
    /// Samples per second.
    pub rate: f64,
}

/// Message from one thread of the pipeline to the next.
pub enum Message<T> {
    /// Frames of a recording, or their results.
    Block(OpenRecording, Block<T>),
    /// A recording has been read to its end; it has `channels` 0 if it could not be opened.
    End(OpenRecording),
    /// A recording can't be opened or read to its end. Its [`End`](Self::End) follows.
    Failed(anyhow::Error),
}

/// Position to begin at: a recording, and its frame.
pub type Start = (usize, Option<u64>);

/// Reads every frame of the sources from `start` on, computes, and passes the results to `write`, in order. `compute`
/// gets the samples of a block, `[frames, channels, frame]`.
///
/// # Errors
/// The first error of `compute` or `write`; errors of recordings are messages.
pub fn run<T: Send>(
    sources: &Sources,
    cut: Cut,
    start: Start,
    progress: &StepProgress,
    mut compute: impl FnMut(OpenRecording, Vec<f32>) -> Result<T> + Send,
    mut write: impl FnMut(Message<T>) -> Result<()>,
) -> Result<()> {
    thread::scope(|scope| {
        let (frames, to_compute) = sync_channel(WAITING);
        let (computed, to_write) = sync_channel(WAITING);
        let reading = move || read(sources, cut, start, progress, &frames);
        let reader = thread::Builder::new().name("read".into()).spawn_scoped(scope, reading)?;
        let computing = move || compute_all(&to_compute, &computed, &mut compute);
        let computer = thread::Builder::new().name("compute".into()).spawn_scoped(scope, computing)?;
        let written = to_write.into_iter().try_for_each(&mut write);
        // A thread whose receiver is gone ends; its own error comes first.
        let computed = computer.join().map_err(|_| anyhow!("the computing thread panicked"));
        let read = reader.join().map_err(|_| anyhow!("the reading thread panicked"));
        written.and(computed?).and(read)
    })
}

/// Reads all recordings; ends early when the receiver is closed.
fn read(
    sources: &Sources,
    cut: Cut,
    (first, mut frame): Start,
    progress: &StepProgress,
    out: &SyncSender<Message<Vec<f32>>>,
) {
    let mut bytes: u64 = sources.list[..first.min(sources.list.len())].iter().map(|source| source.bytes).sum();
    for (index, source) in sources.list.iter().enumerate().skip(first) {
        progress.show(&source.name);
        let mut recording = OpenRecording { source: index, channels: 0, rate: 0.0 };
        let mut blocks = || -> Result<bool> {
            let (reader, rate) = sources.open(source)?;
            let mut reader = FrameReader::new(reader, cut, sources.part, frame.take())?;
            recording = OpenRecording { channels: reader.channels(), rate, ..recording };
            while let Some(frames) = reader.next_block()? {
                let share = reader.share_read().unwrap_or(0.0);
                progress.set_position(bytes + (share * source.bytes as f64) as u64);
                if out.send(Message::Block(recording, frames)).is_err() {
                    return Ok(false);
                }
            }
            Ok(true)
        };
        let outcome = blocks();
        let gone = match outcome {
            Ok(received) => !received,
            Err(error) => out.send(Message::Failed(error)).is_err(),
        };
        if gone || out.send(Message::End(recording)).is_err() {
            return;
        }
        bytes += source.bytes;
        progress.set_position(bytes);
    }
}

fn compute_all<T>(
    frames: &Receiver<Message<Vec<f32>>>,
    out: &SyncSender<Message<T>>,
    compute: &mut impl FnMut(OpenRecording, Vec<f32>) -> Result<T>,
) -> Result<()> {
    for message in frames {
        let message = match message {
            Message::Block(recording, Block { first, count, values }) => {
                Message::Block(recording, Block { first, count, values: compute(recording, values)? })
            }
            Message::End(recording) => Message::End(recording),
            Message::Failed(error) => Message::Failed(error),
        };
        if out.send(message).is_err() {
            return Ok(());
        }
    }
    Ok(())
}
