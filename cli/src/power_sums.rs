//! Sums of the spectra of a recording's segments, from its blocks to its end.

use std::sync::Arc;

use firefly_recordings::{Block, Sources};

use crate::commands::outcome::CommandOutcome;
use crate::journal::{JournalEntry, Payload};
use crate::pipeline::OpenRecording;

/// Sums over segments of the power of each channel, or of the products of all pairs as one channel, and how many of the
/// segments have samples that are finite.
#[derive(Debug, Clone, PartialEq)]
pub struct PowerSums {
    pub counts: Vec<u64>,
    /// Sums `[channels, bins]`.
    pub sums: Vec<f64>,
}

impl PowerSums {
    pub fn none(channels: usize, bins: usize) -> Self {
        Self { counts: vec![0; channels], sums: vec![0.0; channels * bins] }
    }

    /// Adds the power of a segment of a channel, if it is finite.
    pub fn add(&mut self, channel: usize, power: &[f64]) {
        if power.iter().all(|power| power.is_finite()) {
            let sums = self.sums[channel * power.len()..].iter_mut();
            sums.zip(power).for_each(|(sum, power)| *sum += power);
            self.counts[channel] += 1;
        }
    }

    fn merge(&mut self, other: &Self) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(count, more)| *count += more);
        self.sums.iter_mut().zip(&other.sums).for_each(|(sum, more)| *sum += more);
    }
}

impl Payload for PowerSums {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend((self.counts.len() as u64).to_le_bytes());
        out.extend(self.counts.iter().flat_map(|count| count.to_le_bytes()));
        out.extend(self.sums.iter().flat_map(|sum| sum.to_le_bytes()));
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (words, []) = bytes.as_chunks() else { return None };
        let (channels, words) = words.split_first()?;
        let channels = usize::try_from(u64::from_le_bytes(*channels)).ok()?;
        let (counts, sums) = words.split_at_checked(channels)?;
        let counts = counts.iter().map(|raw| u64::from_le_bytes(*raw)).collect();
        Some(Self { counts, sums: sums.iter().map(|raw| f64::from_le_bytes(*raw)).collect() })
    }
}

/// Sums of the blocks of a recording so far, and the number of their segments.
#[derive(Debug, Default)]
pub struct BlockSums {
    sums: Option<PowerSums>,
    segments: u64,
}

pub struct RecordingSums {
    pub recording: OpenRecording,
    pub name: Arc<str>,
    /// Number of its segments, with those that are not in the sums.
    pub segments: u64,
    pub sums: PowerSums,
    /// Whether it could not be read to its end, which the outcome has.
    pub is_failed: bool,
}

impl BlockSums {
    /// Adds a block, or ends a recording, whose sums are returned if it has any. One that failed or has no segment
    /// counts as such.
    pub fn take(
        &mut self,
        entry: JournalEntry<PowerSums>,
        sources: &Sources,
        outcome: &mut CommandOutcome,
    ) -> Option<RecordingSums> {
        let (recording, failure) = match entry {
            JournalEntry::Block(_, Block { count, values, .. }) => {
                match &mut self.sums {
                    Some(sums) => sums.merge(&values),
                    none => *none = Some(values),
                }
                self.segments += count as u64;
                return None;
            }
            JournalEntry::End(recording, failure) => (recording, failure),
        };
        let Self { sums, segments } = std::mem::take(self);
        let name: Arc<str> = sources.list[recording.source].name.as_str().into();
        let is_failed = failure.is_some();
        match failure {
            Some(failure) => outcome.failed(&name, &failure),
            None if sums.is_none() => outcome.shorter(recording),
            None => {}
        }
        Some(RecordingSums { recording, name, segments, sums: sums?, is_failed })
    }
}
