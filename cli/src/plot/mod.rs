//! Drawings of spectra and spectrograms, as SVG, as PNG, or on an HTML page.

mod axes;
mod canvas;
mod curves;
mod heat_map;
mod picture;
mod png;
mod svg;

use std::io;
use std::path::Path;

use anyhow::Result;
use firefly_app::files::write_atomically;
use firefly_app::page::document::{Document, facts};

use canvas::Canvas;
pub use curves::{Curve, Curves};
pub use heat_map::SpectrogramPlot;
pub use picture::Picture;

use crate::extension::format_of;

/// Width of a drawing in pixels.
const WIDTH: f64 = 960.0;
/// Height of one figure in pixels.
const HEIGHT: f64 = 320.0;

/// One figure of a drawing.
pub enum PlotFigure {
    /// Power over frequency.
    Curves(Curves),
    /// Power over time and frequency.
    HeatMap(SpectrogramPlot),
}

/// Format of a drawing's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlotFormat {
    /// Vector graphics.
    Svg,
    /// Pixels.
    Png,
    /// A self-contained page.
    Html,
}

impl PlotFormat {
    /// The format of a file by its extension.
    ///
    /// # Errors
    /// For an extension that names none.
    pub fn of(path: &Path) -> Result<Self> {
        let formats = [("svg", Self::Svg), ("png", Self::Png), ("html", Self::Html), ("htm", Self::Html)];
        format_of(path, "drawings", "svg, png and html", &formats)
    }

    /// Draws figures below each other into a file; a page also has the facts.
    ///
    /// # Errors
    /// If the file can't be written.
    pub fn write(self, path: &Path, title: &str, names: &[(&str, String)], figures: &[PlotFigure]) -> io::Result<()> {
        let size = [WIDTH, HEIGHT * figures.len().max(1) as f64];
        let bytes = match self {
            Self::Png => {
                let mut canvas = png::PngCanvas::new(size);
                draw(&mut canvas, figures);
                canvas.finish()?
            }
            Self::Svg | Self::Html => {
                let mut canvas = svg::SvgCanvas::new(size);
                draw(&mut canvas, figures);
                let drawing = canvas.finish(title);
                if self == Self::Svg { drawing.into_bytes() } else { page(title, names, &drawing).into_bytes() }
            }
        };
        write_atomically(path, &bytes)
    }
}

fn page(title: &str, names: &[(&str, String)], drawing: &str) -> String {
    let mut document = Document::new("firefly", title);
    document.section("", &facts(names.iter().map(|(name, value)| (*name, value.as_str()))));
    document.section("", &format!(r#"<figure class="wide"><div class="across" tabindex="0">{drawing}</div></figure>"#));
    document.html()
}

fn draw(canvas: &mut dyn Canvas, figures: &[PlotFigure]) {
    for (index, figure) in figures.iter().enumerate() {
        let top = index as f64 * HEIGHT;
        match figure {
            PlotFigure::Curves(curves) => curves.draw(canvas, top),
            PlotFigure::HeatMap(map) => map.draw(canvas, top),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures() -> Vec<PlotFigure> {
        let curve = Curve {
            name: "a <b> & c".to_owned(),
            nyquist: 4000.0,
            decibels: vec![-10.0, f64::NEG_INFINITY, 3.0, -4.0],
        };
        let mut picture = Picture::new(33);
        for frame in 0..5000u32 {
            let mut power = vec![1e-6; 33];
            power[(frame / 200) as usize] = 1.0;
            picture.add(&power);
        }
        vec![
            PlotFigure::Curves(Curves { title: "spectrum".to_owned(), curves: vec![curve.clone(), curve] }),
            PlotFigure::HeatMap(SpectrogramPlot {
                title: "map".to_owned(),
                nyquist: 4000.0,
                seconds: 10.0,
                tracks: 2,
                picture,
            }),
        ]
    }

    #[test]
    fn every_format_is_written() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["x.svg", "x.html", "x.png"] {
            let path = folder.path().join(name);
            let format = PlotFormat::of(&path).unwrap();
            format.write(&path, "a title", &[("rate", "8000 Hz".to_owned())], &figures()).unwrap();
            let bytes = std::fs::read(&path).unwrap();
            match format {
                PlotFormat::Png => assert!(bytes.starts_with(b"\x89PNG\r\n\x1a\n")),
                PlotFormat::Svg => {
                    let text = String::from_utf8(bytes).unwrap();
                    assert!(text.starts_with("<svg") && text.ends_with("</svg>\n"));
                    assert!(text.contains("a &lt;b&gt; &amp; c") && !text.contains("NaN") && !text.contains("inf"));
                }
                PlotFormat::Html => assert!(String::from_utf8(bytes).unwrap().contains("8000 Hz")),
            }
        }
        assert!(PlotFormat::of(Path::new("x.gif")).unwrap_err().to_string().contains("svg, png and html"));
    }
}
