//! Numbers as text.

/// What a table or a description says in place of a number that is not finite.
pub const NOT_AVAILABLE: &str = "n/a";

/// Values beyond this magnitude are left out of drawings, so that ranges stay finite.
const LARGEST: f64 = 1e150;

/// `value` if a chart can draw it.
pub(super) fn drawable(value: f64) -> Option<f64> {
    (value.abs() < LARGEST).then_some(value)
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
