//! The surface that figures are drawn on.

/// Colour as red, green and blue.
pub type Colour = [u8; 3];

/// Black, of text and axes.
pub const INK: Colour = [34, 34, 34];

/// Part of a text that its position refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    /// Its start.
    Start,
    /// In its middle.
    Middle,
    /// Its end.
    End,
}

/// Surface with its origin at the upper left, in pixels.
pub trait Canvas {
    /// Fills a rectangle: x, y, width and height.
    fn rectangle(&mut self, area: [f64; 4], colour: Colour);

    /// Draws a line through points.
    fn line(&mut self, points: &[[f64; 2]], colour: Colour);

    /// Writes text on a base line.
    fn text(&mut self, at: [f64; 2], anchor: Anchor, text: &str);
}
