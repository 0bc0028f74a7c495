//! Progress of a run on the error stream: a bar on a terminal, lines elsewhere.

use std::time::{Duration, Instant};

use crate::metrics::TrainingPoint;
use crate::progress::{Event, Progress};
use firefly_app::progress::StepProgress as Display;
use firefly_app::streams::note;

/// Least time between two lines about the same work.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Progress of one run after the other. On a terminal, metrics stand beside a bar and validations above it; elsewhere
/// there is a line per validation, and now and then one about samples that are solved.
#[derive(Default)]
pub struct StderrProgress {
    display: Option<Display>,
    /// Time of the last line about samples, or of the first sample.
    last_line: Option<Instant>,
}

impl StderrProgress {
    fn measured(&mut self, point: &TrainingPoint, steps: usize, text: &str) {
        let display = self.display.get_or_insert_with(|| Display::new(false, steps));
        let validated = point.validation.is_some();
        match display {
            Display::Bar(bar) => {
                bar.set_position(point.step as u64);
                if validated { display.note(text) } else { display.set_message(text.to_owned()) }
            }
            Display::Lines if validated => {
                note(format_args!("{}/{steps}  {text}", point.step));
            }
            Display::Lines | Display::Quiet => {}
        }
        if point.step == steps {
            display.finish();
            self.display = None;
        }
    }

    /// Samples of an equation that are solved: a bar on a terminal, elsewhere a line every ten seconds.
    fn solved(&mut self, equation: &str, done: usize, samples: usize) {
        let display = self.display.get_or_insert_with(|| {
            let display = Display::new(false, samples);
            display.show(&format!("samples of {equation}"));
            display
        });
        display.set_position(done as u64);
        let last = self.last_line.get_or_insert_with(Instant::now);
        if matches!(display, Display::Lines) && last.elapsed() >= LINE_EVERY {
            note(format_args!("{done} of {samples} samples of {equation} are solved"));
            *last = Instant::now();
        }
        if done == samples {
            display.finish();
            (self.display, self.last_line) = (None, None);
        }
    }
}

impl Progress for StderrProgress {
    fn on(&mut self, event: Event<'_>) {
        match event {
            Event::Measured { point, steps, text } => self.measured(point, steps, text),
            Event::SamplesSolved { equation, done, samples } => self.solved(equation, done, samples),
            _ => match (event.message(), &self.display) {
                (Some(text), Some(display)) => display.note(&text),
                (Some(text), None) => note(text),
                (None, _) => {}
            },
        }
    }
}
