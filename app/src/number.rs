//! Numbers as text, in tables and pages alike.

/// Text of a number that is not finite, in a table or a description.
pub const NOT_AVAILABLE: &str = "n/a";

/// `value` with `decimals` decimals, thousands separated by commas.
pub fn fixed(value: f64, decimals: usize) -> String {
    if !value.is_finite() {
        return NOT_AVAILABLE.to_owned();
    }
    let text = format!("{:.decimals$}", value.abs());
    let (whole, fraction) = text.split_at(text.find('.').unwrap_or(text.len()));
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
    grouped + fraction
}

/// A whole number with thousands separated by commas.
pub fn whole(value: u64) -> String {
    fixed(value as f64, 0)
}

/// A share in `0..=1` as a percentage with one decimal.
pub fn percent(share: f64) -> String {
    if share.is_finite() { format!("{}\u{202F}%", fixed(share * 100.0, 1)) } else { NOT_AVAILABLE.to_owned() }
}

/// `value` with `digits` significant digits, or all digits of its whole part where these are more; very large and very
/// small values in scientific notation.
pub fn significant(value: f64, digits: usize) -> String {
    if !value.is_finite() {
        return NOT_AVAILABLE.to_owned();
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    // The exponent after rounding: 9.996 has three digits as 10.0.
    let rounded = format!("{value:.0$e}", digits.saturating_sub(1));
    let exponent: i32 = rounded.split_once('e').and_then(|(_, exponent)| exponent.parse().ok()).unwrap_or(0);
    if (-4..9).contains(&exponent) {
        let decimals = digits as i32 - 1 - exponent;
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

/// Units of nanoseconds, the largest first.
const TIMES: [(f64, &str); 4] = [(1e9, " s"), (1e6, " ms"), (1e3, " µs"), (1.0, " ns")];

/// Nanoseconds in the unit that suits them, three digits.
pub fn duration(nanoseconds: f64) -> String {
    scaled(nanoseconds, &TIMES)
}

/// Two durations in nanoseconds as a range, with the unit once where both have the same.
pub fn duration_range(low: f64, high: f64) -> String {
    let (from, to) = (duration(low), duration(high));
    match (from.split_once(' '), to.split_once(' ')) {
        (Some((number, unit)), Some((_, other))) if unit == other => format!("{number} – {to}"),
        _ => format!("{from} – {to}"),
    }
}

/// Nanoseconds as milliseconds, three digits.
pub fn milliseconds(nanoseconds: f64) -> String {
    significant(nanoseconds / 1e6, 3)
}

/// Bytes in the binary unit that suits them, three digits; below 1 KiB in full.
pub fn bytes(count: u64) -> String {
    const UNIT: f64 = 1024.0;
    match count {
        0..1024 => format!("{count} B"),
        _ => scaled(
            count as f64,
            &[(UNIT.powi(4), " TiB"), (UNIT.powi(3), " GiB"), (UNIT.powi(2), " MiB"), (UNIT, " KiB")],
        ),
    }
}

fn scaled(value: f64, units: &[(f64, &str)]) -> String {
    if !value.is_finite() {
        return NOT_AVAILABLE.to_owned();
    }
    // 999.6 of a unit would print as 1000.
    let fits = units.iter().find(|(size, _)| value.abs() >= 0.9995 * size).or(units.last());
    fits.map_or_else(|| significant(value, 3), |(size, unit)| format!("{}{unit}", significant(value / size, 3)))
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
    fn fixed_point_numbers_have_grouped_thousands_and_signs() {
        assert_eq!(fixed(1_234_567.0, 0), "1,234,567");
        assert_eq!(whole(1_048_576), "1,048,576");
        assert_eq!(fixed(-1_024.25, 1), "−1,024.2");
        assert_eq!(fixed(-0.001, 2), "0.00");
        assert_eq!(fixed(f64::NEG_INFINITY, 2), "n/a");
    }

    #[test]
    fn percentages_and_significant_digits_are_formatted() {
        assert_eq!(percent(0.5), "50.0\u{202F}%");
        assert_eq!(percent(f64::NAN), "n/a");
        assert_eq!(significant(0.012_345, 3), "0.0123");
        assert_eq!(significant(123_456.0, 3), "123,456");
        assert_eq!(
            [1.234, 9.999, 12.34, 99.97, 123.4].map(|x| significant(x, 3)),
            ["1.23", "10.0", "12.3", "100", "123"]
        );
        assert_eq!(significant(3e-7, 3), "3×10⁻⁷");
        assert_eq!(significant(1e12, 2), "10¹²");
        assert_eq!(significant(0.0, 3), "0");
        assert_eq!(significant(-5.5, 3), "−5.50");
    }

    #[test]
    fn times_and_bytes_have_the_unit_that_suits_them() {
        assert_eq!([512.0, 1_234.0, 999_700.0, 2.5e9].map(duration), ["512 ns", "1.23 µs", "1.00 ms", "2.50 s"]);
        assert_eq!(duration(-1_234.0), "−1.23 µs");
        assert_eq!(duration(1e300), "10²⁹¹ s");
        assert_eq!(duration_range(411_000.0, 433_000.0), "411 – 433 µs");
        assert_eq!(duration_range(911_000.0, 1_433_000.0), "911 µs – 1.43 ms");
        assert_eq!([9_400.0, 95_000_000.0].map(milliseconds), ["0.00940", "95.0"]);
        assert_eq!(
            [0, 1023, 1024, 205_137_412, 8 << 30].map(bytes),
            ["0 B", "1023 B", "1.00 KiB", "196 MiB", "8.00 GiB"]
        );
    }
}
