//! Drawings as SVG.

use std::fmt::Write;

use firefly_app::page::escape;

use super::canvas::{Anchor, Canvas, Colour};

/// Canvas of SVG elements. Rectangles of one colour that follow each other are one path.
pub struct SvgCanvas {
    size: [f64; 2],
    body: String,
    /// Colour of the rectangles of the open path.
    open: Option<Colour>,
}

impl SvgCanvas {
    /// An empty white canvas of a width and height.
    pub fn new(size: [f64; 2]) -> Self {
        Self { size, body: String::new(), open: None }
    }

    /// The drawing as an element of its own, with a title for screen readers.
    pub fn finish(mut self, title: &str) -> String {
        self.close();
        let [width, height] = self.size;
        let size = format!(r#"width="{width}" height="{height}""#);
        let font = r#"font-family="sans-serif" font-size="12""#;
        let (title, body) = (escape(title), self.body);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" {size} role=\"img\" {font}>\
             <title>{title}</title><rect {size} fill=\"#fff\"/>{body}</svg>\n"
        )
    }

    fn close(&mut self) {
        if self.open.take().is_some() {
            self.body.push_str("\"/>");
        }
    }
}

impl Canvas for SvgCanvas {
    fn rectangle(&mut self, [x, y, width, height]: [f64; 4], colour: Colour) {
        if self.open != Some(colour) {
            self.close();
            let _ = write!(self.body, "<path fill=\"{}\" d=\"", hex(colour));
            self.open = Some(colour);
        }
        let (width, height) = (short(width), short(height));
        let _ = write!(self.body, "M{} {}h{width}v{height}h-{width}z", short(x), short(y));
    }

    fn line(&mut self, points: &[[f64; 2]], colour: Colour) {
        self.close();
        let points: Vec<String> = points.iter().map(|[x, y]| format!("{},{}", short(*x), short(*y))).collect();
        let points = points.join(" ");
        let _ = write!(self.body, r#"<polyline points="{points}" fill="none" stroke="{}"/>"#, hex(colour));
    }

    fn text(&mut self, [x, y]: [f64; 2], anchor: Anchor, text: &str) {
        self.close();
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let (x, y) = (short(x), short(y));
        let _ =
            write!(self.body, r##"<text x="{x}" y="{y}" text-anchor="{anchor}" fill="#222">{}</text>"##, escape(text));
    }
}

/// A number with at most one decimal.
fn short(number: f64) -> f64 {
    (number * 10.0).round() / 10.0
}

fn hex([red, green, blue]: Colour) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}
