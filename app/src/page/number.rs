//! Numbers as text: table cells, tick labels and SVG coordinates.

use std::fmt;

/// What a table or a description says in place of a number that is not finite.
pub const NOT_AVAILABLE: &str = "n/a";

/// A coordinate in SVG user units, written with at most two decimals. Never writes NaN or an infinity.
#[derive(Clone, Copy)]
pub struct Pixel(pub f64);

impl fmt::Display for Pixel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let finite = if self.0.is_finite() { self.0.clamp(-1e6, 1e6) } else { 0.0 };
        // Adding zero turns a rounded -0 into 0.
        write!(formatter, "{}", (finite * 100.0).round() / 100.0 + 0.0)
    }
}

/// `value` with `decimals` decimals, thousands separated by commas.
pub fn fixed(value: f64, decimals: usize) -> String {
    if !value.is_finite() {
        return NOT_AVAILABLE.to_owned();
    }
    let text = format!("{:.decimals$}", value.abs());
    let (whole, fraction) = match text.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (text.as_str(), None),
    };
    let mut grouped = String::new();
    let is_zero = text.bytes().all(|byte| matches!(byte, b'0' | b'.'));
    if value < 0.0 && !is_zero {
        grouped.push('−');
    }
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    if let Some(fraction) = fraction {
        grouped.push('.');
        grouped.push_str(fraction);
    }
    grouped
}

/// A share in `0..=1` as a percentage with one decimal.
pub fn percent(share: f64) -> String {
    if share.is_finite() { format!("{}\u{202F}%", fixed(share * 100.0, 1)) } else { NOT_AVAILABLE.to_owned() }
}

/// `value` with about `digits` significant digits; very large and very small values in scientific notation.
pub fn significant(value: f64, digits: usize) -> String {
    if !value.is_finite() {
        return NOT_AVAILABLE.to_owned();
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    let exponent = value.abs().log10().floor();
    if (-4.0..9.0).contains(&exponent) {
        let decimals = digits as i32 - 1 - exponent as i32;
        fixed(value, decimals.max(0) as usize)
    } else {
        scientific(value, digits.saturating_sub(1))
    }
}

/// `value` as a mantissa with `decimals` decimals times a power of ten.
pub fn scientific(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$e}");
    let Some((mantissa, exponent)) = text.split_once('e') else {
        return text;
    };
    let mantissa = if mantissa.contains('.') { mantissa.trim_end_matches('0').trim_end_matches('.') } else { mantissa };
    let power = format!("10{}", superscript(exponent));
    match mantissa {
        "1" => power,
        _ => format!("{}×{power}", mantissa.replace('-', "−")),
    }
}

fn superscript(exponent: &str) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    exponent
        .chars()
        .filter_map(|character| match character.to_digit(10) {
            Some(digit) => Some(DIGITS[digit as usize]),
            None => (character == '-').then_some('⁻'),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_are_short_and_finite() {
        assert_eq!(Pixel(1.0 / 3.0).to_string(), "0.33");
        assert_eq!(Pixel(12.0).to_string(), "12");
        assert_eq!(Pixel(-0.001).to_string(), "0");
        assert_eq!(Pixel(f64::NAN).to_string(), "0");
        assert_eq!(Pixel(f64::INFINITY).to_string(), "0");
    }

    #[test]
    fn fixed_groups_thousands_and_signs() {
        assert_eq!(fixed(1_234_567.0, 0), "1,234,567");
        assert_eq!(fixed(-1_024.25, 1), "−1,024.2");
        assert_eq!(fixed(-0.001, 2), "0.00");
        assert_eq!(fixed(f64::NEG_INFINITY, 2), "n/a");
    }

    #[test]
    fn shares_and_significant_digits() {
        assert_eq!(percent(0.5), "50.0\u{202F}%");
        assert_eq!(percent(f64::NAN), "n/a");
        assert_eq!(significant(0.012_345, 3), "0.0123");
        assert_eq!(significant(123_456.0, 3), "123,456");
        assert_eq!(significant(3e-7, 3), "3×10⁻⁷");
        assert_eq!(significant(1e12, 2), "10¹²");
        assert_eq!(significant(0.0, 3), "0");
    }
}
