//! Progress of a run on the error stream: a bar on a terminal, lines elsewhere.

use crate::checkpoint::DamagedCheckpoint;
use crate::metrics::TrainingPoint;
use crate::progress::{Event, Progress};
use firefly_app::progress::Progress as Display;
use firefly_app::streams::note;

/// Progress of one run after the other. On a terminal, metrics stand beside a bar and validations above it; elsewhere
/// there is a line per validation.
#[derive(Default)]
pub struct StderrProgress(Option<Display>);

impl StderrProgress {
    fn measured(&mut self, point: &TrainingPoint, steps: usize, text: &str) {
        let display = self.0.get_or_insert_with(|| Display::new(false, steps));
        let validated = point.validation.is_some();
        match display {
            Display::Bar(bar) => {
                bar.set_position(point.step as u64);
                if validated { display.note(text) } else { display.say(text.to_owned()) }
            }
            Display::Lines if validated => {
                note(format_args!("{}/{steps}  {text}", point.step));
            }
            Display::Lines | Display::Quiet => {}
        }
        if point.step == steps {
            display.finish();
            self.0 = None;
        }
    }
}

impl Progress for StderrProgress {
    fn on(&mut self, event: Event<'_>) {
        if let Event::Measured { point, steps, text } = event {
            self.measured(point, steps, text);
        } else if let Some(text) = message(&event) {
            match &self.0 {
                Some(display) => display.note(&text),
                None => note(text),
            }
        }
    }
}

/// The message of an event, if it has one.
pub fn message(event: &Event<'_>) -> Option<String> {
    Some(match event {
        Event::RunStarted { name } => (*name).to_string(),
        Event::RecordingsSkipped { count } => format!("{count} recordings are shorter than a frame and left out"),
        Event::TakenOver { folder } => {
            format!("{} was left by a run that ended before its first step: it is used", folder.display())
        }
        Event::CheckpointDamaged { checkpoint } => {
            let DamagedCheckpoint { folder, problem } = checkpoint;
            format!("a checkpoint can't be used and is now {}: {problem}; the one before is used", folder.display())
        }
        Event::MetricsDamaged { path } => {
            format!("{} is damaged: the lines that can be read are kept, the report lacks the others", path.display())
        }
        Event::NoCheckpoint => "the run has no checkpoint yet: it starts at its first step".to_string(),
        Event::Resumed { step } => format!("resuming at step {step}"),
        Event::StoppedEarly { step, patience } => {
            format!("stopped at step {step}: {patience} validations without a lower loss; the best model is kept")
        }
        _ => return None,
    })
}
