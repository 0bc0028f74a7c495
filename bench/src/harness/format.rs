//! Numbers as tables show them.

/// Nanoseconds in the unit that suits them, three digits.
pub fn duration(nanoseconds: f64) -> String {
    scaled(nanoseconds, &[(1e9, " s"), (1e6, " ms"), (1e3, " µs"), (1.0, " ns")])
}

/// Nanoseconds as milliseconds, three digits.
pub fn milliseconds(nanoseconds: f64) -> String {
    let value = nanoseconds / 1e6;
    let decimals = match value.abs() {
        0.0..0.001 => 6,
        0.001..0.01 => 5,
        0.01..0.1 => 4,
        0.1..1.0 => 3,
        _ => return digits(value),
    };
    format!("{value:.decimals$}")
}

/// Bytes in the binary unit that suits them, three digits.
pub fn bytes(count: u64) -> String {
    const UNIT: f64 = 1024.0;
    let units = [(UNIT.powi(4), " TiB"), (UNIT.powi(3), " GiB"), (UNIT.powi(2), " MiB"), (UNIT, " KiB")];
    match count {
        0..1024 => format!("{count} B"),
        _ => scaled(count as f64, &units),
    }
}

/// A count with a thousand, million or billion as its letter, three digits.
pub fn count(value: f64) -> String {
    scaled(value, &[(1e9, " G"), (1e6, " M"), (1e3, " k"), (1.0, "")])
}

/// A number with three digits.
pub fn digits(value: f64) -> String {
    let decimals = match value.abs() {
        0.0..9.995 => 2,
        9.995..99.95 => 1,
        _ => 0,
    };
    format!("{value:.decimals$}")
}

fn scaled(value: f64, units: &[(f64, &str)]) -> String {
    // 999.6 of a unit would print as 1000.
    let fits = units.iter().find(|(size, _)| value >= 0.9995 * size).or(units.last());
    fits.map_or_else(|| digits(value), |(size, unit)| format!("{}{unit}", digits(value / size)))
}

/// Seconds since 1970 as a date and time, UTC.
pub fn date(seconds: u64) -> String {
    moment(seconds, "%Y-%m-%d %H:%M UTC")
}

/// Seconds since 1970 as a date, UTC.
pub fn day(seconds: u64) -> String {
    moment(seconds, "%Y-%m-%d")
}

fn moment(seconds: u64, format: &str) -> String {
    let timestamp = i64::try_from(seconds).ok().and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
    match timestamp {
        Some(timestamp) => timestamp.strftime(format).to_string(),
        None => format!("{seconds} s after 1970-01-01"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits() {
        assert_eq!(
            [0.0, 1.234, 9.999, 12.34, 99.97, 123.4].map(digits),
            ["0.00", "1.23", "10.0", "12.3", "100", "123"]
        );
        assert_eq!(duration(512.0), "512 ns");
        assert_eq!(duration(1_234.0), "1.23 µs");
        assert_eq!(duration(999_700.0), "1.00 ms");
        assert_eq!(duration(2.5e9), "2.50 s");
        assert_eq!(count(10_834_000.0), "10.8 M");
        assert_eq!(count(12.0), "12.0");
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(date(0), "1970-01-01 00:00 UTC");
        assert_eq!(date(951_826_800), "2000-02-29 12:20 UTC");
        assert_eq!(date(1_798_761_599), "2026-12-31 23:59 UTC");
    }
}
