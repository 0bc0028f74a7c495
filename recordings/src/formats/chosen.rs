//! Choices of the caller about any recording: its channels, its rate, whether it is complex, and its centre frequency.

use super::{ReadOptions, RecordingLayout, SampleReader};
use crate::error::{RecordingProblem, Result};

/// Reader of some channels of another reader, in the order in which they were named.
struct ChosenReader {
    inner: Box<dyn SampleReader>,
    channels: Vec<usize>,
    layout: RecordingLayout,
    /// Notes of the other reader that are in the layout.
    known: usize,
}

/// The recording that the options choose from another: its channels, its rate, whether it is complex, and its centre
/// frequency. `listed` are the titles of the channels that are read without a choice, by which they are numbered.
///
/// # Errors
/// For a channel that is not there, for channels that are not pairs, and for the centre frequency of real samples.
pub(crate) fn choose(
    inner: Box<dyn SampleReader>,
    options: &ReadOptions,
    listed: &[String],
) -> Result<Box<dyn SampleReader>> {
    let mut layout = inner.layout().clone();
    let known = layout.notes.len();
    if options.channels.is_empty() && options.rate.is_none() && options.centre.is_none() && !options.is_complex {
        return Ok(inner);
    }
    if options.is_complex && !layout.is_complex {
        if layout.channels % 2 == 1 {
            return Err(RecordingProblem::OddChannels(layout.channels));
        }
        layout.is_complex = true;
        (layout.titles, layout.units) = (Vec::new(), Vec::new());
    }
    let parts = if layout.is_complex { 2 } else { 1 };
    let chosen = options.channels.iter().map(|name| number_of(name, &layout.titles, layout.channels / parts));
    let mut channels = chosen.collect::<Result<Vec<_>, _>>()?;
    if channels.is_empty() {
        channels = (0..layout.channels / parts).collect();
    } else {
        let is_listed = layout.titles.is_empty() || layout.titles == listed;
        let number = |channel: &usize| match listed.iter().position(|title| *title == layout.titles[*channel]) {
            Some(number) => number,
            None => listed.len() + channel,
        };
        layout.numbers = channels.iter().map(|channel| if is_listed { *channel } else { number(channel) }).collect();
    }
    let pick = |texts: &[String]| channels.iter().filter_map(|channel| texts.get(*channel).cloned()).collect();
    (layout.titles, layout.units) = (pick(&layout.titles), pick(&layout.units));
    let channels: Vec<usize> =
        channels.iter().flat_map(|channel| (0..parts).map(move |part| channel * parts + part)).collect();
    layout.channels = channels.len();
    if let Some(rate) = options.rate {
        if let Some(own) = layout.rate.filter(|own| *own != rate) {
            layout.remark(format!("its rate of {own} Hz is replaced by --rate {rate}"));
        }
        layout.rate = Some(rate);
    }
    if let Some(centre) = options.centre {
        if !layout.is_complex {
            return Err(RecordingProblem::Option { option: "--centre", kind: "complex samples" });
        }
        if layout.centre != 0.0 && layout.centre != centre {
            layout.remark(format!("its centre frequency of {} Hz is replaced by --centre {centre}", layout.centre));
        }
        layout.centre = centre;
    }
    Ok(Box::new(ChosenReader { inner, channels, layout, known }))
}

impl ChosenReader {
    /// Appends the chosen channels of interleaved samples.
    fn pick<T: Copy>(&self, all: &[T], block: &mut Vec<T>) {
        for row in all.chunks(self.inner.layout().channels) {
            block.extend(self.channels.iter().map(|channel| row[*channel]));
        }
    }

    /// Takes over what the other reader has noted since.
    fn update(&mut self) {
        let notes = &self.inner.layout().notes;
        self.layout.notes.extend_from_slice(&notes[self.known..]);
        self.known = notes.len();
    }

    fn takes_all(&self) -> bool {
        self.channels.iter().copied().eq(0..self.inner.layout().channels)
    }
}

/// Number of the channel that is named by its label, or by its number from 0.
pub(super) fn number_of(name: &str, titles: &[String], channels: usize) -> Result<usize> {
    let by_title = titles.iter().position(|title| title == name);
    if by_title != titles.iter().rposition(|title| title == name) {
        return Err(RecordingProblem::Incomplete(format!("it has several channels `{name}`: give a number")));
    }
    let by_number = || name.parse().ok().filter(|number| *number < channels);
    by_title.or_else(by_number).ok_or_else(|| {
        let found = if titles.is_empty() { format!("0 to {}", channels - 1) } else { titles.join(", ") };
        RecordingProblem::NoChannel { name: name.to_owned(), found }
    })
}

impl SampleReader for ChosenReader {
    fn layout(&self) -> &RecordingLayout {
        &self.layout
    }

    fn read(&mut self, block: &mut Vec<f32>, count: usize) -> Result<usize> {
        let read = if self.takes_all() {
            self.inner.read(block, count)?
        } else {
            let mut all = Vec::new();
            let read = self.inner.read(&mut all, count)?;
            self.pick(&all, block);
            read
        };
        self.update();
        Ok(read)
    }

    fn read_wide(&mut self, block: &mut Vec<f64>, count: usize) -> Result<usize> {
        let mut all = Vec::new();
        let read = self.inner.read_wide(&mut all, count)?;
        self.pick(&all, block);
        self.update();
        Ok(read)
    }

    fn skip(&mut self, count: u64) -> Result<u64> {
        let skipped = self.inner.skip(count)?;
        self.update();
        Ok(skipped)
    }
}
