//! Drawings of spectra and spectrograms, as SVG, as PNG, or on an HTML page.

mod curves;
mod figure;
mod heat_map;
mod picture;

use std::io;
use std::path::Path;

use anyhow::Result;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use firefly_app::files::write_atomically;
use firefly_app::page::document::{Document, facts};
use firefly_app::page::escape;
use firefly_app::page::html_table::HtmlTable;
use plotters::coord::Shift;
use plotters::prelude::*;

pub use curves::{Curve, Curves};
use figure::{Figure, Images, PlacedImage, TitledArea, register_font};
pub use heat_map::SpectrogramPlot;
use heat_map::palette;
pub use picture::Picture;

use crate::options::format_of;

/// Width and height of one figure in the units of SVG.
const SIZE: (u32, u32) = (960, 360);
/// Pixels of a PNG per unit.
const PNG_SCALE: u32 = 2;
/// Pixels drawn per pixel of a PNG in both directions; their mean is the pixel.
const SUPERSAMPLING: u32 = 2;
/// Bytes of a pixel.
const PIXEL: usize = 3;

pub enum PlotFigure<'a> {
    Curves(Curves<'a>),
    HeatMap(&'a SpectrogramPlot),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlotFormat {
    Svg,
    Png,
    Html,
}

impl PlotFormat {
    pub fn of(path: &Path) -> Result<Self> {
        let formats = [("svg", Self::Svg), ("png", Self::Png), ("html", Self::Html), ("htm", Self::Html)];
        format_of(path, "drawings", "svg, png and html", &formats)
    }

    /// Draws figures below each other into a file with a title; a page also has the facts and the lines.
    pub fn write(
        self,
        path: &Path,
        title: &str,
        facts: &[(&str, String)],
        lines: Option<HtmlTable>,
        figures: &[PlotFigure<'_>],
    ) -> io::Result<()> {
        register_font();
        let bytes = match self {
            Self::Png => png(figures)?,
            Self::Svg => svg(title, figures, false)?.into_bytes(),
            Self::Html => page(title, facts, lines, &svg(title, figures, true)?).into_bytes(),
        };
        write_atomically(path, &bytes)
    }
}

impl PlotFigure<'_> {
    fn draw<DB: DrawingBackend<ErrorType: 'static>>(&self, figure: Figure<DB>) -> io::Result<()> {
        let drawn = match self {
            Self::Curves(curves) => curves.draw(figure),
            Self::HeatMap(map) => map.draw(figure),
        };
        drawn.map_err(io::Error::other)
    }
}

fn page(title: &str, names: &[(&str, String)], lines: Option<HtmlTable>, drawing: &str) -> String {
    let mut document = Document::new("firefly", title);
    document.section("", &facts(names.iter().map(|(name, value)| (*name, value.as_str()))));
    if let Some(lines) = lines.filter(|lines| !lines.rows.is_empty()) {
        document.section("", &lines.html_folded_if_long());
    }
    document.section("", &format!(r#"<figure class="wide"><div class="across" tabindex="0">{drawing}</div></figure>"#));
    document.html()
}

/// The drawing as an SVG element, with a title for screen readers. Heat maps are embedded images, below everything
/// else; invisible areas that show values under the pointer, if wanted, are above it.
fn svg(title: &str, figures: &[PlotFigure<'_>], shows_values: bool) -> io::Result<String> {
    let (width, height) = (SIZE.0, SIZE.1 * figures.len().max(1) as u32);
    let (mut text, mut images, mut titled) = (String::new(), Vec::new(), Vec::new());
    {
        let root = SVGBackend::with_string(&mut text, (width, height)).into_drawing_area();
        for (figure, area) in figures.iter().zip(root.split_evenly((figures.len().max(1), 1))) {
            let (images, titled) = (Images::Placed(&mut images), shows_values.then_some(&mut titled));
            figure.draw(Figure { area, scale: 1.0, images, titled })?;
        }
        root.present().map_err(io::Error::other)?;
    }
    let mut below =
        format!("<title>{}</title><rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>", escape(title));
    for PlacedImage { at: (x, y), size: (width, height), levels, pixel_size } in images {
        let data = STANDARD.encode(encoded(&levels, pixel_size, Some(palette()))?);
        below += &format!(
            "\n<image x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" preserveAspectRatio=\"none\" \
             style=\"image-rendering:pixelated\" href=\"data:image/png;base64,{data}\"/>"
        );
    }
    let body = text.find('>').map_or(0, |end| end + 1);
    text.insert_str(body, &below);
    if shows_values {
        let rectangle = |TitledArea { at: (x, y), size: (width, height), title }: &TitledArea| {
            let title = escape(title);
            format!("\n<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"><title>{title}</title></rect>")
        };
        let areas: String = titled.iter().map(rectangle).collect();
        let end = text.rfind("</svg>").unwrap_or(text.len());
        text.insert_str(end, &format!("<g fill=\"none\" pointer-events=\"all\">{areas}\n</g>\n"));
    }
    Ok(text.replacen("<svg ", "<svg role=\"img\" ", 1))
}

fn png(figures: &[PlotFigure<'_>]) -> io::Result<Vec<u8>> {
    let scale = PNG_SCALE * SUPERSAMPLING;
    let size = (SIZE.0 * scale, SIZE.1 * scale);
    let mut pixels = Vec::new();
    for figure in figures {
        let mut drawn = vec![255; (size.0 * size.1) as usize * PIXEL];
        {
            let area: DrawingArea<_, Shift> = BitMapBackend::with_buffer(&mut drawn, size).into_drawing_area();
            figure.draw(Figure { area: area.clone(), scale: f64::from(scale), images: Images::Drawn, titled: None })?;
            area.present().map_err(io::Error::other)?;
        }
        pixels.extend(averaged(&drawn, size.0 as usize));
    }
    encoded(&pixels, (SIZE.0 * PNG_SCALE, SIZE.1 * PNG_SCALE * figures.len() as u32), None)
}

/// Means of squares of pixels of an image of a width.
fn averaged(pixels: &[u8], width: usize) -> Vec<u8> {
    const SIDE: usize = SUPERSAMPLING as usize;
    let row = width * PIXEL;
    let mut means = Vec::with_capacity(pixels.len() / SIDE / SIDE);
    for rows in pixels.chunks_exact(SIDE * row) {
        for x in (0..width).step_by(SIDE) {
            for channel in 0..PIXEL {
                let at = |row_of, column| rows[row_of * row + (x + column) * PIXEL + channel];
                let sum: usize =
                    (0..SIDE).flat_map(|row| (0..SIDE).map(move |column| usize::from(at(row, column)))).sum();
                means.push(((sum + SIDE * SIDE / 2) / (SIDE * SIDE)) as u8);
            }
        }
    }
    means
}

/// Pixels of a width and height, or their places in a palette, as the bytes of a PNG file.
fn encoded(pixels: &[u8], (width, height): (u32, u32), palette: Option<Vec<[u8; PIXEL]>>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Rgb);
    if let Some(palette) = palette {
        encoder.set_color(png::ColorType::Indexed);
        encoder.set_palette(palette.concat());
        encoder.set_compression(png::Compression::High);
        // Neighbouring places of a palette differ by no pattern that a filter removes.
        encoder.set_filter(png::Filter::NoFilter);
    }
    let mut writer = encoder.write_header()?;
    writer.write_image_data(pixels)?;
    writer.finish()?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures() -> (Vec<Curve>, SpectrogramPlot) {
        let curve = Curve {
            name: "a <b> & c".to_owned(),
            first_hertz: 0.0,
            hertz_per_bin: 4000.0 / 3.0,
            values: vec![-10.0, f64::NEG_INFINITY, 3.0, -4.0],
            marks: vec![0.0, 4000.0 / 3.0, 2700.0],
        };
        let mut picture = Picture::new(33);
        for frame in 0..5000u32 {
            let mut power = vec![1e-6; 33];
            power[(frame / 200) as usize] = 1.0;
            picture.add(&power);
        }
        let map = SpectrogramPlot {
            title: "map".to_owned(),
            power: "power, dB".to_owned(),
            first_hertz: -2000.0,
            hertz_per_bin: 125.0,
            seconds: 10.0,
            tracks: 2,
            picture,
        };
        (vec![curve.clone(), curve], map)
    }

    fn written(name: &str, (curves, map): &(Vec<Curve>, SpectrogramPlot)) -> Vec<u8> {
        let curves = Curves { title: "spectrum".to_owned(), label: "power, dB".to_owned(), curves, range: None };
        written_of(name, &[PlotFigure::Curves(curves), PlotFigure::HeatMap(map)])
    }

    fn written_of(name: &str, figures: &[PlotFigure<'_>]) -> Vec<u8> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        let format = PlotFormat::of(&path).unwrap();
        let facts = [("rate", "8000 Hz".to_owned())];
        format.write(&path, "a title", &facts, None, figures).unwrap();
        std::fs::read(&path).unwrap()
    }

    #[test]
    fn a_page_of_noise_is_small_and_has_a_mark_per_line_with_power() {
        let (curves, mut map) = figures();
        map.picture = Picture::new(257);
        let mut state = 1u32;
        for _ in 0..1024 {
            let mut noise = || {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                -(f64::from((state >> 8) + 1) / f64::from(1 << 24)).ln() as f32
            };
            map.picture.add(&(0..257).map(|_| noise()).collect::<Vec<_>>());
        }
        let page = String::from_utf8(written("x.html", &(curves, map))).unwrap();
        assert!(page.len() < 400_000, "{} bytes", page.len());
        assert_eq!(page.matches("<circle").count(), 4);
    }

    #[test]
    fn vector_graphics_have_labels_units_and_an_image() {
        let text = String::from_utf8(written("x.svg", &figures())).unwrap();
        assert!(text.starts_with("<svg") && text.trim_end().ends_with("</svg>"));
        for wanted in ["a &lt;b&gt; &amp; c", "frequency, kHz", "power, dB", "time, s", "data:image/png;base64,"] {
            assert!(text.contains(wanted), "{wanted}");
        }
        assert!(!text.contains("NaN") && !text.contains("inf"));
        let page = String::from_utf8(written("x.html", &figures())).unwrap();
        assert!(page.contains("8000 Hz") && page.contains("<svg"));
    }

    #[test]
    fn a_page_shows_the_values_of_columns_and_marks_under_the_pointer() {
        let (curves, map) = figures();
        let page = String::from_utf8(written("x.html", &(curves[..1].to_vec(), map))).unwrap();
        let titles = |title: &str| page.matches(&format!("<title>{title}</title></rect>")).count();
        // Of four bins, the second has no power; the strongest has a mark 33 Hz above it.
        assert_eq!(titles("2.7 kHz, 3 dB"), 1);
        assert_eq!(["0 kHz, −10 dB", "2.666667 kHz, 3 dB", "4 kHz, −4 dB"].map(titles), [2, 1, 1]);
        assert_eq!(page.matches("</title></rect>").count(), 5);
        let page = String::from_utf8(written("x.html", &figures())).unwrap();
        let of_curve = "a &lt;b&gt; &amp; c: 4 kHz, −4 dB";
        assert!(page.contains(&format!("<title>{of_curve}\n{of_curve}</title>")), "one line per curve");
        let drawing = String::from_utf8(written("x.svg", &figures())).unwrap();
        assert!(!drawing.contains("</title></rect>"), "vector graphics have no invisible areas");
    }

    #[test]
    fn pixels_are_those_of_the_figures() {
        let bytes = written("x.png", &figures());
        let mut reader = png::Decoder::new(io::Cursor::new(bytes)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut pixels).unwrap();
        assert_eq!((info.width, info.height), (SIZE.0 * PNG_SCALE, 2 * SIZE.1 * PNG_SCALE));
        // Paper, antialiased ink, and colours of the map.
        let count = |wanted: fn(&[u8]) -> bool| pixels.chunks(PIXEL).filter(|pixel| wanted(pixel)).count();
        assert!(count(|pixel| pixel == [255; 3]) > pixels.len() / PIXEL / 4);
        assert!(count(|pixel| pixel[0] == pixel[1] && pixel[1] == pixel[2] && (60..200).contains(&pixel[0])) > 500);
        assert!(count(|pixel| pixel[0] > pixel[1] + 60) > 500);
    }

    #[test]
    fn a_drawing_without_values_is_written() {
        let curve = Curve {
            name: "silence".to_owned(),
            first_hertz: 0.0,
            hertz_per_bin: 0.0,
            values: vec![f64::NEG_INFINITY],
            marks: vec![0.0],
        };
        let map = SpectrogramPlot {
            title: String::new(),
            power: "power, dB".to_owned(),
            first_hertz: 0.0,
            hertz_per_bin: 0.0,
            seconds: 1e-9,
            tracks: 8,
            picture: Picture::new(1),
        };
        let figures = (vec![curve], map);
        for name in ["x.svg", "x.png"] {
            assert!(!written(name, &figures).is_empty());
        }
        assert!(!written_of("x.svg", &[]).is_empty());
        assert!(PlotFormat::of(Path::new("x.gif")).unwrap_err().to_string().contains("svg, png and html"));
    }
}
