//! A figure of the page: heading, legend, drawing, caption.

use std::fmt::Write;

use super::escape::escape;
use super::line::{colour_class, mark};

/// The mark of a legend entry, the same that the drawing uses.
#[derive(Clone, Copy)]
pub enum Swatch {
    /// Line of the series with this index: colour and mark.
    Line(usize),
    /// Round mark on a line: exact tiers.
    Exact,
    /// Diamond: learned models.
    Learned,
    /// Dashed threshold.
    Threshold,
}

/// A drawing with what belongs around it.
pub struct Figure {
    title: String,
    drawing: String,
    /// Entries above the drawing; none for a single series that the title names.
    pub legend: Vec<(Swatch, String)>,
    /// A sentence below the drawing; may be empty.
    pub caption: String,
    /// Spans the page and scrolls sideways on a narrow screen.
    pub wide: bool,
}

impl Figure {
    /// A figure around finished SVG.
    pub fn new(title: &str, svg: String) -> Self {
        Self { title: title.to_owned(), drawing: svg, legend: Vec::new(), caption: String::new(), wide: false }
    }

    /// A figure that has nothing to draw and says why.
    pub fn note(title: &str, reason: &str) -> Self {
        Self::new(title, format!(r#"<p class="nothing">{}</p>"#, escape(reason)))
    }

    /// The figure as HTML.
    pub fn html(&self) -> String {
        let class = if self.wide { r#" class="wide""# } else { "" };
        let mut html = format!("<figure{class}><figcaption><h3>{}</h3></figcaption>", escape(&self.title));
        if !self.legend.is_empty() {
            html.push_str(r#"<ul class="legend">"#);
            for (swatch, name) in &self.legend {
                let _ = write!(html, "<li>{}{}</li>", swatch.svg(), escape(name));
            }
            html.push_str("</ul>");
        }
        // What scrolls must be reachable by keyboard.
        let scrolls = if self.wide { r#" tabindex="0""# } else { "" };
        let _ = write!(html, r#"<div class="drawing"{scrolls}>{}</div>"#, self.drawing);
        if !self.caption.is_empty() {
            let _ = write!(html, r#"<p class="caption">{}</p>"#, escape(&self.caption));
        }
        html.push_str("</figure>");
        html
    }
}

impl Swatch {
    /// The mark as a small inline drawing, hidden from screen readers.
    pub fn svg(self) -> String {
        let marks = match self {
            Self::Line(index) => {
                format!(r#"<path class="line {}" d="M1 6H27"/>{}"#, colour_class(index), mark(index, (14.0, 6.0)))
            }
            Self::Exact => {
                r#"<path class="line exact" d="M1 6H27"/><circle class="point exact" cx="14" cy="6" r="4"/>"#.to_owned()
            }
            Self::Learned => r#"<path class="point learned" d="M14 0.5l5.5 5.5l-5.5 5.5l-5.5 -5.5z"/>"#.to_owned(),
            Self::Threshold => r#"<path class="threshold" d="M1 6H27"/>"#.to_owned(),
        };
        format!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" class="swatch" viewBox="0 0 28 12" aria-hidden="true">{marks}</svg>"#
        )
    }
}

/// Figures beside each other, as HTML.
pub fn grid(figures: &[Figure]) -> String {
    let figures: String = figures.iter().map(Figure::html).collect();
    format!(r#"<div class="grid">{figures}</div>"#)
}
