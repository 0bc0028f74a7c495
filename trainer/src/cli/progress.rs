//! Progress of a run on the error stream: a bar on a terminal, lines elsewhere.

use std::io::IsTerminal;

use firefly_trainer::metrics::TrainingPoint;
use firefly_trainer::progress::{Event, Progress};
use indicatif::{ProgressBar, ProgressStyle};

/// A bar if standard error is a terminal, lines otherwise.
pub fn for_stderr() -> Box<dyn Progress> {
    if std::io::stderr().is_terminal() { Box::new(Bar::default()) } else { Box::new(Lines) }
}

#[derive(Default)]
struct Bar(Option<ProgressBar>);

impl Bar {
    fn measured(&mut self, point: &TrainingPoint, steps: usize) {
        let bar = self.0.get_or_insert_with(|| {
            let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {elapsed} +{eta}  {msg}");
            ProgressBar::new(steps as u64).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        });
        bar.set_position(point.step as u64);
        match point.validation_recall {
            Some(_) => bar.println(metrics(point)),
            None => bar.set_message(metrics(point)),
        }
        if point.step == steps {
            bar.finish_and_clear();
            self.0 = None;
        }
    }
}

impl Progress for Bar {
    fn on(&mut self, event: Event<'_>) {
        if let Event::Measured { point, steps } = event {
            self.measured(point, steps);
        } else if let Some(text) = message(&event) {
            match &self.0 {
                Some(bar) => bar.println(text),
                None => eprintln!("{text}"),
            }
        }
    }
}

struct Lines;

impl Progress for Lines {
    fn on(&mut self, event: Event<'_>) {
        match event {
            // Validations only: a line per log entry would be too long for a log.
            Event::Measured { point, steps } if point.validation_recall.is_some() => {
                eprintln!("{}/{steps}  {}", point.step, metrics(point));
            }
            event => {
                if let Some(text) = message(&event) {
                    eprintln!("{text}");
                }
            }
        }
    }
}

/// The message of an event, if it has one.
fn message(event: &Event<'_>) -> Option<String> {
    Some(match event {
        Event::RunStarted { name } => (*name).to_string(),
        Event::RecordingsSkipped { count } => format!("{count} recordings are shorter than a frame and not used"),
        Event::Resumed { step } => format!("resuming at step {step}"),
        Event::StoppedEarly { step, patience } => {
            format!("stopped at step {step}: {patience} validations without a lower loss; the best model is kept")
        }
        _ => return None,
    })
}

/// Metrics on one line.
fn metrics(point: &TrainingPoint) -> String {
    let validation = match (point.validation_loss, point.validation_recall) {
        (Some(loss), Some(recall)) => format!("  validation loss {loss:.4}, recall {recall:.3}"),
        _ => String::new(),
    };
    format!(
        "loss {:.4} (ranking {:.4}, log power {:.4}, price {:.4})  active {:.1}%  {:.2} ms per step{validation}",
        point.loss,
        point.ranking,
        point.log_power,
        point.price,
        100.0 * point.active_share,
        point.step_milliseconds,
    )
}
