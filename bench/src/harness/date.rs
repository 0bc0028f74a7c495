//! Dates and times of reports.

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
    fn dates_are_those_of_the_calendar() {
        assert_eq!(date(0), "1970-01-01 00:00 UTC");
        assert_eq!(date(951_826_800), "2000-02-29 12:20 UTC");
        assert_eq!(date(1_798_761_599), "2026-12-31 23:59 UTC");
        // Beyond the calendar, the number itself.
        assert_eq!(day(u64::MAX), "18446744073709551615 s after 1970-01-01");
        assert_eq!(date(u64::MAX - 1), "18446744073709551614 s after 1970-01-01");
    }
}
