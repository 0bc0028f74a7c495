//! How a run shows itself: a bar on a terminal, plain lines elsewhere.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressStyle};

use crate::metrics::TrainingPoint;

/// Somebody who watches a run.
pub trait Progress {
    /// A line of metrics was written; the run has `steps` steps.
    fn point(&mut self, line: &TrainingPoint, steps: usize);
    /// Something worth a sentence.
    fn say(&mut self, text: &str);
}

/// A bar if standard error is a terminal, plain lines otherwise.
pub fn on_this_terminal() -> Box<dyn Progress> {
    if std::io::stderr().is_terminal() { Box::new(Bar::default()) } else { Box::new(Lines) }
}

#[derive(Default)]
struct Bar(Option<ProgressBar>);

impl Progress for Bar {
    fn point(&mut self, line: &TrainingPoint, steps: usize) {
        let bar = self.0.get_or_insert_with(|| {
            let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {elapsed} +{eta}  {msg}");
            ProgressBar::new(steps as u64).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        });
        bar.set_position(line.step as u64);
        match line.validation_recall {
            Some(_) => bar.println(describe(line)),
            None => bar.set_message(describe(line)),
        }
        if line.step == steps {
            bar.finish_and_clear();
            self.0 = None;
        }
    }

    fn say(&mut self, text: &str) {
        match &self.0 {
            Some(bar) => bar.println(text),
            None => eprintln!("{text}"),
        }
    }
}

struct Lines;

impl Progress for Lines {
    fn point(&mut self, line: &TrainingPoint, steps: usize) {
        // Between validations a log would only grow.
        if line.validation_recall.is_some() {
            eprintln!("{}/{steps}  {}", line.step, describe(line));
        }
    }

    fn say(&mut self, text: &str) {
        eprintln!("{text}");
    }
}

fn describe(line: &TrainingPoint) -> String {
    let validation = match (line.validation_loss, line.validation_recall) {
        (Some(loss), Some(recall)) => format!("  validation loss {loss:.4}, recall {recall:.3}"),
        _ => String::new(),
    };
    format!(
        "loss {:.4} (ranking {:.4}, log power {:.4}, price {:.4})  active {:.1}%  {:.2} ms a step{validation}",
        line.loss,
        line.ranking,
        line.log_power,
        line.price,
        100.0 * line.active_share,
        line.step_milliseconds,
    )
}
