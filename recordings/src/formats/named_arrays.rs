//! Files of several named arrays: one of them holds the samples, and one number may be the sample rate.

use super::Format;
use super::npy::ArrayHeader;
use crate::error::{RecordingProblem, Result};

/// Names of a number that is the sample rate.
const RATES: [&str; 5] = ["rate", "fs", "sr", "sample_rate", "sampling_rate"];

/// Whether a number of this name is the sample rate.
pub(super) fn is_rate(name: &str) -> bool {
    RATES.contains(&name.to_ascii_lowercase().as_str())
}

/// Array of a file: its name, what opens it, and its header or the reason why it is not read.
pub(super) struct NamedArray<S> {
    pub(super) name: String,
    pub(super) source: S,
    pub(super) header: Result<ArrayHeader>,
}

pub(super) struct SampleArray<S> {
    pub(super) source: S,
    pub(super) header: ArrayHeader,
    /// Names of the arrays that are not read.
    pub(super) left_out: Vec<String>,
}

/// The only array of one or two dimensions that is not the sample rate, and the sample rate: of the arrays that
/// `number` reads, or else of `rates`, numbers by name.
pub(super) fn samples_and_rate<S>(
    arrays: Vec<NamedArray<S>>,
    number: impl Fn(&S, &ArrayHeader) -> Result<f64>,
    rates: &[(String, f64)],
    format: Format,
) -> Result<(SampleArray<S>, Option<f64>)> {
    let (mut samples, mut of_arrays, mut refused, mut left_out) = (Vec::new(), Vec::new(), None, Vec::new());
    for NamedArray { name, source, header } in arrays {
        match header {
            Ok(header) if is_rate(&name) && header.shape.iter().product::<u64>() == 1 => {
                of_arrays.push((name, number(&source, &header)?));
            }
            Ok(header) if matches!(header.shape.len(), 1 | 2) => samples.push((name, source, header)),
            Ok(_) => left_out.push(name),
            Err(RecordingProblem::Content { reason, .. }) => {
                refused = refused.or(Some(format!("its array `{name}`: {reason}")));
                left_out.push(name);
            }
            Err(problem) => return Err(problem),
        }
    }
    let rate =
        rate_of(if of_arrays.is_empty() { rates } else { &of_arrays }).map_err(|reason| format.problem(reason))?;
    let names: Vec<String> = samples.iter().map(|(name, ..)| name.clone()).collect();
    match (samples.pop(), refused) {
        (Some((_, source, header)), _) if samples.is_empty() => Ok((SampleArray { source, header, left_out }, rate)),
        (None, Some(reason)) => Err(format.problem(reason)),
        _ => {
            let found = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            let reason = format!("one array of one or two dimensions is read as samples, and it has {found}");
            Err(format.problem(reason))
        }
    }
}

/// The sample rate, by several names or one.
///
/// # Errors
/// The reason why there is no such rate.
fn rate_of(rates: &[(String, f64)]) -> Result<Option<f64>, String> {
    let Some((name, rate)) = rates.first() else { return Ok(None) };
    if !(rate.is_finite() && *rate > 0.0) {
        return Err(format!("its sample rate `{name}` is {rate}"));
    }
    match rates.iter().find(|(_, other)| other != rate) {
        Some((other_name, other)) => Err(format!("its sample rate `{name}` is {rate}, and `{other_name}` is {other}")),
        None => Ok(Some(*rate)),
    }
}
