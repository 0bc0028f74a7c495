//! Drawings as PNG (ISO/IEC 15948).

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::ZlibEncoder;
use noto_sans_mono_bitmap::{FontWeight, RasterHeight, get_raster, get_raster_width};

use super::canvas::{Anchor, Canvas, Colour, INK};

const FONT: (FontWeight, RasterHeight) = (FontWeight::Regular, RasterHeight::Size16);
/// Pixels of a character above its base line.
const ASCENT: f64 = 13.0;
/// Bytes of a pixel.
const PIXEL: usize = 3;

/// Canvas of pixels in red, green and blue.
pub struct PngCanvas {
    width: usize,
    height: usize,
    pixels: Vec<u8>,
}

impl PngCanvas {
    /// An empty white canvas of a width and height.
    pub fn new([width, height]: [f64; 2]) -> Self {
        let (width, height) = (width as usize, height as usize);
        Self { width, height, pixels: vec![255; width * height * PIXEL] }
    }

    /// The drawing as the bytes of a file.
    ///
    /// # Errors
    /// If the pixels can't be compressed.
    pub fn finish(self) -> io::Result<Vec<u8>> {
        let mut rows = ZlibEncoder::new(Vec::new(), Compression::default());
        for row in self.pixels.chunks(self.width * PIXEL) {
            // Each row begins with its filter: none.
            rows.write_all(&[0])?;
            rows.write_all(row)?;
        }
        let mut header = Vec::new();
        header.extend((self.width as u32).to_be_bytes());
        header.extend((self.height as u32).to_be_bytes());
        // 8 bits, colours without transparency, the only compression and filter method, not interlaced.
        header.extend([8, 2, 0, 0, 0]);
        let mut bytes = b"\x89PNG\r\n\x1a\n".to_vec();
        chunk(&mut bytes, b"IHDR", &header);
        chunk(&mut bytes, b"IDAT", &rows.finish()?);
        chunk(&mut bytes, b"IEND", &[]);
        Ok(bytes)
    }

    /// Mixes a colour into a pixel; a share of 255 replaces it.
    fn mix(&mut self, x: i64, y: i64, colour: Colour, share: u8) {
        let inside = (0..self.width as i64).contains(&x) && (0..self.height as i64).contains(&y);
        if inside {
            let start = (y as usize * self.width + x as usize) * PIXEL;
            for (channel, wanted) in self.pixels[start..start + PIXEL].iter_mut().zip(colour) {
                let mixed = u32::from(*channel) * u32::from(255 - share) + u32::from(wanted) * u32::from(share);
                *channel = (mixed / 255) as u8;
            }
        }
    }
}

impl Canvas for PngCanvas {
    fn rectangle(&mut self, [x, y, width, height]: [f64; 4], colour: Colour) {
        for row in y.round() as i64..(y + height).round() as i64 {
            for column in x.round() as i64..(x + width).round() as i64 {
                self.mix(column, row, colour, 255);
            }
        }
    }

    fn line(&mut self, points: &[[f64; 2]], colour: Colour) {
        for pair in points.windows(2) {
            let [[x0, y0], [x1, y1]] = [pair[0], pair[1]];
            let steps = (x1 - x0).abs().max((y1 - y0).abs()).ceil().max(1.0) as i64;
            for step in 0..=steps {
                let share = step as f64 / steps as f64;
                let (x, y) = (x0 + share * (x1 - x0), y0 + share * (y1 - y0));
                self.mix(x.floor() as i64, y.floor() as i64, colour, 255);
            }
        }
    }

    fn text(&mut self, [x, y]: [f64; 2], anchor: Anchor, text: &str) {
        let advance = get_raster_width(FONT.0, FONT.1);
        let width = (text.chars().count() * advance) as f64;
        let start = match anchor {
            Anchor::Start => x,
            Anchor::Middle => x - width / 2.0,
            Anchor::End => x - width,
        };
        let top = (y - ASCENT).round() as i64;
        for (index, character) in text.chars().enumerate() {
            // What the font lacks is a question mark.
            let Some(raster) = get_raster(character, FONT.0, FONT.1).or_else(|| get_raster('?', FONT.0, FONT.1)) else {
                continue;
            };
            let left = start.round() as i64 + (index * advance) as i64;
            for (row, pixels) in raster.rows().enumerate() {
                for (column, share) in pixels.iter().enumerate().filter(|(_, share)| **share > 0) {
                    self.mix(left + column as i64, top + row as i64, INK, *share);
                }
            }
        }
    }
}

fn chunk(out: &mut Vec<u8>, name: &[u8; 4], content: &[u8]) {
    out.extend((content.len() as u32).to_be_bytes());
    let start = out.len();
    out.extend(name);
    out.extend(content);
    let checksum = crc32fast::hash(&out[start..]);
    out.extend(checksum.to_be_bytes());
}
