//! One line of metrics: the state of training at one step.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Error as _, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Beginning of the names of what a validation measures.
const VALIDATION: &str = "validation_";

/// Value of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum MetricValue {
    /// A count.
    Whole(u64),
    /// A measured number.
    Real(f64),
}

impl MetricValue {
    /// The value as a float.
    pub fn as_f64(self) -> f64 {
        match self {
            Self::Whole(count) => count as f64,
            Self::Real(number) => number,
        }
    }
}

/// A named number.
#[derive(Debug, Clone, PartialEq)]
pub struct Metric {
    /// The name, in snake case.
    pub name: Cow<'static, str>,
    /// The value.
    pub value: MetricValue,
}

impl Metric {
    /// A count.
    pub fn whole(name: &'static str, count: usize) -> Self {
        Self { name: name.into(), value: MetricValue::Whole(count as u64) }
    }

    /// A measured number.
    pub fn real(name: &'static str, number: f64) -> Self {
        Self { name: name.into(), value: MetricValue::Real(number) }
    }
}

/// The state of training at one step: one line of metrics.
///
/// As JSON it is one object: `step`, `loss`, the metrics, `learning_rate`, `validation_loss` and the validation's
/// metrics, `step_milliseconds`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TrainingPoint {
    /// Steps done.
    pub step: usize,
    /// Total loss of the step.
    pub loss: f64,
    /// Terms of the loss and properties of the model.
    pub metrics: Vec<Metric>,
    /// Base learning rate of the step.
    pub learning_rate: f64,
    /// Validation, at the steps that validated.
    pub validation: Option<Validation>,
    /// Mean wall time per step since the line before, without validation and checkpoints, in milliseconds.
    pub step_milliseconds: f64,
}

/// Result of a validation.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Validation {
    /// Total loss, which early stopping compares.
    pub loss: f64,
    /// Further metrics of the task.
    pub metrics: Vec<Metric>,
}

impl Validation {
    /// The metric of this name.
    pub fn metric(&self, name: &str) -> Option<f64> {
        value_of(&self.metrics, name)
    }
}

/// The value of the metric of this name.
fn value_of(metrics: &[Metric], name: &str) -> Option<f64> {
    metrics.iter().find(|metric| metric.name == name).map(|metric| metric.value.as_f64())
}

impl TrainingPoint {
    /// The metric of this name, with `validation_` before it for one of the validation.
    pub fn metric(&self, name: &str) -> Option<f64> {
        match (name.strip_prefix(VALIDATION), &self.validation) {
            (Some("loss"), Some(validation)) => Some(validation.loss),
            (Some(name), Some(validation)) => validation.metric(name),
            (Some(_), None) => None,
            (None, _) => value_of(&self.metrics, name),
        }
    }

    /// Loss with its terms, time and validation on one line. `properties` are put between the terms and the time.
    pub fn description(&self, terms: &[(&'static str, &'static str)], properties: &[String]) -> String {
        let is_term = |metric: &&Metric| terms.iter().any(|(name, _)| *name == metric.name);
        let named = |metric: &Metric, digits: usize| {
            format!("{} {:.digits$}", metric.name.replace('_', " "), metric.value.as_f64())
        };
        let terms: Vec<String> = self.metrics.iter().filter(is_term).map(|metric| named(metric, 4)).collect();
        let mut parts = vec![match terms.is_empty() {
            true => format!("loss {}", loss_text(self.loss)),
            false => format!("loss {} ({})", loss_text(self.loss), terms.join(", ")),
        }];
        parts.extend_from_slice(properties);
        parts.push(format!("{:.2} ms per step", self.step_milliseconds));
        if let Some(validation) = &self.validation {
            let others: String = validation.metrics.iter().map(|metric| format!(", {}", named(metric, 3))).collect();
            parts.push(format!("validation loss {}{others}", loss_text(validation.loss)));
        }
        parts.join("  ")
    }
}

/// A loss with four decimals, or as many significant digits where it is small.
fn loss_text(loss: f64) -> String {
    if loss != 0.0 && loss.abs() < 1e-3 { format!("{loss:.3e}") } else { format!("{loss:.4}") }
}

impl Serialize for TrainingPoint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("step", &self.step)?;
        map.serialize_entry("loss", &self.loss)?;
        for metric in &self.metrics {
            map.serialize_entry(&metric.name, &metric.value)?;
        }
        map.serialize_entry("learning_rate", &self.learning_rate)?;
        if let Some(validation) = &self.validation {
            map.serialize_entry("validation_loss", &validation.loss)?;
            for metric in &validation.metrics {
                map.serialize_entry(&format!("{VALIDATION}{}", metric.name), &metric.value)?;
            }
        }
        map.serialize_entry("step_milliseconds", &self.step_milliseconds)?;
        map.end()
    }
}

impl<'de> Deserialize<'de> for TrainingPoint {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(PointVisitor)
    }
}

struct PointVisitor;

impl<'de> Visitor<'de> for PointVisitor {
    type Value = TrainingPoint;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a line of metrics")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<TrainingPoint, A::Error> {
        let mut point = TrainingPoint::default();
        let (mut step, mut loss) = (None, None);
        while let Some((name, value)) = map.next_entry::<String, MetricValue>()? {
            match (name.as_str(), value) {
                ("step", MetricValue::Whole(count)) => step = usize::try_from(count).ok(),
                ("loss", value) => loss = Some(value.as_f64()),
                ("learning_rate", value) => point.learning_rate = value.as_f64(),
                ("step_milliseconds", value) => point.step_milliseconds = value.as_f64(),
                _ => match name.strip_prefix(VALIDATION) {
                    None => point.metrics.push(Metric { name: name.into(), value }),
                    Some("loss") => point.validation.get_or_insert_default().loss = value.as_f64(),
                    Some(of_validation) => {
                        let metric = Metric { name: of_validation.to_owned().into(), value };
                        point.validation.get_or_insert_default().metrics.push(metric);
                    }
                },
            }
        }
        point.step = step.ok_or_else(|| A::Error::missing_field("step"))?;
        point.loss = loss.ok_or_else(|| A::Error::missing_field("loss"))?;
        Ok(point)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_survives_its_line_with_the_order_of_its_keys() {
        let validation = Validation { loss: 0.5, metrics: vec![Metric::real("recall", 0.25)] };
        let point = TrainingPoint {
            step: 7,
            loss: 1.5,
            metrics: vec![Metric::real("price", 0.125), Metric::whole("butterflies", 12)],
            learning_rate: 0.03,
            validation: Some(validation),
            step_milliseconds: 2.0,
        };
        let line = serde_json::to_string(&point).unwrap();
        let expected = "{\"step\":7,\"loss\":1.5,\"price\":0.125,\"butterflies\":12,\"learning_rate\":0.03,\
                        \"validation_loss\":0.5,\"validation_recall\":0.25,\"step_milliseconds\":2.0}";
        assert_eq!(line, expected);
        assert_eq!(serde_json::from_str::<TrainingPoint>(&line).unwrap(), point);
        assert_eq!((point.metric("butterflies"), point.metric("validation_recall")), (Some(12.0), Some(0.25)));
        assert!(serde_json::from_str::<TrainingPoint>("{\"step\":7}").is_err(), "a point has a loss");
    }

    #[test]
    fn a_point_is_described_on_one_line() {
        let point = TrainingPoint { loss: 2.0, metrics: vec![Metric::real("log_power", 0.5)], ..Default::default() };
        let described = point.description(&[("log_power", "log power")], &["active 10.0%".into()]);
        assert_eq!(described, "loss 2.0000 (log power 0.5000)  active 10.0%  0.00 ms per step");
    }
}
