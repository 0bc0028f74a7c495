//! Bars of values in `0..=1` with the threshold from which a gate is open.

use std::fmt::Write;

use super::OPEN;
use firefly_app::page::axis::{Axis, Tick};
use firefly_app::page::chart::Chart;
use firefly_app::page::figure::{Figure, Swatch};
use firefly_app::page::number::{Pixel, fixed};

/// Bars drawn at most; more are said to be left out.
const MOST_BARS: usize = 512;

/// One bar per segment's gate; a value that is not finite has no bar.
pub(super) fn segment_gates(id: &str, gates: &[f32]) -> Figure {
    let title = "Segment gates";
    let shown = &gates[..gates.len().min(MOST_BARS)];
    if shown.is_empty() {
        return Figure::note(title, "This model has no gates on segments.");
    }
    let open = gates.iter().filter(|gate| **gate >= OPEN).count();
    let description = format!("{open} of {} segments are open.", gates.len());
    let mut x = Axis::tight([-0.5, shown.len() as f64 - 0.5]);
    if shown.len() <= 16 {
        x.ticks = (0..shown.len()).map(|segment| Tick { value: segment as f64, label: segment.to_string() }).collect();
    }
    let chart = Chart {
        id,
        title,
        description: &description,
        x,
        y: Axis::rounded([0.0, 1.0]),
        x_label: "segment of the frame",
        y_label: "gate",
    };
    let pitch = (chart.right() - chart.left()) / shown.len() as f64;
    let half_width = (pitch * 0.36).min(18.0);
    let mut marks = String::new();
    for (segment, gate) in shown.iter().enumerate() {
        let gate = f64::from(*gate);
        if !gate.is_finite() {
            continue;
        }
        let (Some(x), Some(y)) = (chart.x(segment as f64), chart.y(gate.clamp(0.0, 1.0))) else {
            continue;
        };
        // A closed gate leaves a sliver to be seen.
        let y = y.min(chart.bottom() - 1.5);
        let _ = write!(
            marks,
            r#"<g><title>segment {segment}: {}</title><rect class="bar" x="{}" y="{}" width="{}" height="{}"/></g>"#,
            fixed(gate, 3),
            Pixel(x - half_width),
            Pixel(y),
            Pixel(half_width * 2.0),
            Pixel(chart.bottom() - y),
        );
    }
    if let Some(y) = chart.y(f64::from(OPEN)) {
        let _ = write!(
            marks,
            r#"<path class="threshold" d="M{} {}H{}"/>"#,
            Pixel(chart.left()),
            Pixel(y),
            Pixel(chart.right()),
        );
    }
    let mut figure = Figure::new(title, chart.svg(&marks));
    figure.legend = vec![(Swatch::Threshold, format!("open from {OPEN}"))];
    figure.caption = description.clone();
    if shown.len() < gates.len() {
        let _ = write!(figure.caption, " The first {MOST_BARS} are shown.");
    }
    figure
}
