//! Labels and units of the channels of recordings, from the thread that opens them to the one that writes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use firefly_recordings::{RecordingLayout, Sources};
use serde::{Serialize, Serializer};

use crate::pipeline::OpenRecording;

/// Label and unit of a channel, empty where the recording has none, which is null in JSON; and its number.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct ChannelLabel {
    #[serde(rename = "label", serialize_with = "null_if_empty")]
    pub title: Arc<str>,
    #[serde(serialize_with = "null_if_empty")]
    pub unit: Arc<str>,
    /// Number of the channel in the recording, whichever are read, and whether it is the only one there.
    #[serde(skip)]
    pub number: usize,
    #[serde(skip)]
    pub is_only: bool,
}

fn null_if_empty<S: Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
    if text.is_empty() { serializer.serialize_none() } else { serializer.serialize_some(text) }
}

impl ChannelLabel {
    /// Name of the channel: its label, or its number where it has none, if the recording has several.
    pub fn name(&self) -> String {
        match &*self.title {
            "" if self.is_only => String::new(),
            "" => format!("channel {}", self.number),
            title => title.to_owned(),
        }
    }

    /// Name of a recording, with that of the channel if it has one.
    pub fn full_name(&self, recording: &str) -> String {
        match self.name() {
            name if name.is_empty() => recording.to_owned(),
            name => format!("{recording}, {name}"),
        }
    }

    /// Labels of the channels of a layout; a complex channel has one.
    pub fn all_of(layout: &RecordingLayout) -> Arc<[Self]> {
        let channels = layout.channels / if layout.is_complex { 2 } else { 1 };
        let text = |texts: &[String], channel: usize| texts.get(channel).map_or("", String::as_str).into();
        let label = |channel| Self {
            title: text(&layout.titles, channel),
            unit: text(&layout.units, channel),
            number: layout.numbers.get(channel).copied().unwrap_or(channel),
            is_only: channels == 1 && layout.numbers.is_empty(),
        };
        (0..channels).map(label).collect()
    }
}

/// Labels of the recordings that were opened and not yet written.
#[derive(Debug, Default)]
pub struct LabelBook(Mutex<HashMap<usize, Arc<[ChannelLabel]>>>);

impl LabelBook {
    pub fn keep(&self, source: usize, layout: &RecordingLayout) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(source, ChannelLabel::all_of(layout));
    }

    /// Labels of a recording, one per channel. One whose results come from a journal is opened for them.
    pub fn take(&self, sources: &Sources, recording: OpenRecording) -> Arc<[ChannelLabel]> {
        let source = recording.source;
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = kept.remove(&source);
        // Recordings are written in their order: those before this one had no frame.
        kept.retain(|other, _| *other > source);
        drop(kept);
        let reopened = || {
            let file = sources.list.get(source).filter(|found| found.path.is_some())?;
            Some(ChannelLabel::all_of(sources.reader(file).ok()?.layout()))
        };
        let labels = found.or_else(reopened).filter(|labels| labels.len() == recording.channels);
        labels.unwrap_or_else(|| ChannelLabel::all_of(&RecordingLayout::of(recording.channels)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_those_of_the_file_whether_it_was_just_opened_or_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.csv");
        std::fs::write(&path, "time,left,right\n(s),(V),()\n0,1,2\n1,2,3\n2,3,4\n").unwrap();
        let sources = Sources::find(&path).unwrap();
        let recording = OpenRecording { source: 0, channels: 2, rate: 1.0, centre: None };
        let book = LabelBook::default();
        book.keep(0, sources.reader(&sources.list[0]).unwrap().layout());
        for _ in 0..2 {
            let labels = book.take(&sources, recording);
            let texts: Vec<_> = labels.iter().map(|label| (&*label.title, &*label.unit)).collect();
            assert_eq!(texts, [("left", "V"), ("right", "")]);
        }
        let other = OpenRecording { channels: 3, ..recording };
        let unknown = book.take(&sources, other);
        assert!(unknown.iter().all(|label| label.title.is_empty() && label.unit.is_empty()));
        assert_eq!(unknown.iter().map(|label| label.number).collect::<Vec<_>>(), [0, 1, 2]);
        let names = [("", true), ("", false), ("left", true)].map(|(title, is_only)| {
            ChannelLabel { title: title.into(), number: 1, is_only, ..Default::default() }.name()
        });
        assert_eq!(names, ["", "channel 1", "left"]);
    }
}
