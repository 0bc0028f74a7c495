//! Report of the picker: predicted and measured times of every method, and the regret of its choices.

use firefly_app::table::{Align, TextTable};
use serde::{Deserialize, Serialize};

use super::schema::Tool;
use crate::harness::machine::MachineInfo;
use crate::harness::statistics::Percentiles;
use firefly_app::number::{duration, significant};

/// Factor of the measured time within which a prediction is good.
pub const GOOD: f64 = 1.5;
/// Regret of a choice that is as good as the best.
pub const LOW_REGRET: f64 = 0.03;
/// Version of the JSON format; it changes when a reader would have to.
pub const PICKER_FORMAT: u32 = 2;

/// Predictions and choices over a grid of problems.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PickerReport {
    /// [`PICKER_FORMAT`].
    pub format: u32,
    /// The program.
    pub tool: Tool,
    /// Time of the measurement, in seconds since 1970 (UTC).
    pub date: u64,
    /// The machine.
    pub host: MachineInfo,
    /// Name of the device.
    pub device: String,
    /// Source of the device's costs: `calibrated` or `preset`.
    pub profile: String,
    /// Remark on the measurement, such as that the machine was busy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remark: Option<String>,
    /// Share of cases predicted within a factor of [`GOOD`] of the median.
    pub predicted_well: f64,
    /// Share of cases predicted within that factor of the fastest tenth of the samples.
    pub predicted_well_p10: f64,
    /// Mean of the cases' regret.
    pub mean_regret: f64,
    /// Largest regret of a case.
    pub worst_regret: f64,
    /// Nanoseconds per decision on a problem that was not decided on before.
    pub deciding_first_ns: Percentiles,
    /// Nanoseconds per decision on a problem that was.
    pub deciding_again_ns: Percentiles,
    /// Problems left out, with the reason.
    pub left_out: Vec<String>,
    /// One record per problem.
    pub cases: Vec<PickerCase>,
}

/// Predictions and choice for a problem.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PickerCase {
    /// Samples per segment.
    pub n_fft: usize,
    /// Tier.
    pub tier: String,
    /// Frames per call.
    pub batch: usize,
    /// Peaks per frame.
    pub k: usize,
    /// Method chosen.
    pub chosen: String,
    /// Every method with its predicted nanoseconds, if predicted, and the measured ones.
    pub methods: Vec<(String, Option<f64>, Percentiles)>,
    /// Predicted by measured median time of the chosen method.
    pub prediction: f64,
    /// The same by the fastest tenth of the samples.
    pub prediction_p10: f64,
    /// Excess of the chosen method's time over the fastest method's, relative to the latter.
    pub regret: f64,
}

impl PickerCase {
    /// Whether the prediction of the chosen method is within a factor of [`GOOD`] of the median.
    pub fn is_predicted_well(&self) -> bool {
        self.prediction.max(1.0 / self.prediction) <= GOOD
    }
}

impl PickerReport {
    /// Table with a row per problem.
    pub fn table(&self) -> TextTable {
        self.table_of(|_| true)
    }

    /// Table of the problems whose prediction is off by more than [`GOOD`], or whose regret is above [`LOW_REGRET`];
    /// none if there are none.
    pub fn table_of_misses(&self) -> Option<TextTable> {
        let is_miss = |case: &PickerCase| !case.is_predicted_well() || case.regret > LOW_REGRET;
        self.cases.iter().any(is_miss).then(|| self.table_of(is_miss))
    }

    /// Table with a row per length and tier: how well its problems are predicted, and the regret of choices.
    pub fn overview(&self) -> TextTable {
        let mut table = TextTable::default()
            .column("n_fft", Align::Right)
            .column("tier", Align::Left)
            .columns(["cases", "within × 1.5, %", "worst ratio", "mean regret, %", "worst regret, %"], Align::Right);
        for group in self.cases.chunk_by(|a, b| (a.n_fft, &a.tier) == (b.n_fft, &b.tier)) {
            let share = |count: usize| 100.0 * count as f64 / group.len() as f64;
            let distance = |ratio: f64| ratio.max(1.0 / ratio);
            let worst = group.iter().map(|case| case.prediction);
            let worst = worst.max_by(|a, b| distance(*a).total_cmp(&distance(*b))).unwrap_or(f64::NAN);
            let regrets = || group.iter().map(|case| 100.0 * case.regret);
            table.row([
                group[0].n_fft.to_string(),
                group[0].tier.clone(),
                group.len().to_string(),
                format!("{:.0}", share(group.iter().filter(|case| case.is_predicted_well()).count())),
                significant(worst, 3),
                format!("{:.1}", regrets().sum::<f64>() / group.len() as f64),
                format!("{:.1}", regrets().fold(0.0, f64::max)),
            ]);
        }
        table
    }

    fn table_of(&self, is_shown: impl Fn(&PickerCase) -> bool) -> TextTable {
        let mut table = TextTable::default()
            .column("n_fft", Align::Right)
            .column("tier", Align::Left)
            .grouped(2)
            .columns(["batch", "k"], Align::Right)
            .column("chosen", Align::Left);
        for (method, ..) in self.cases.iter().take(1).flat_map(|case| &case.methods) {
            table = table.column(method, Align::Right);
        }
        table = table.columns(["predicted / measured", "regret, %"], Align::Right);
        for case in self.cases.iter().filter(|case| is_shown(case)) {
            let times = case.methods.iter().map(|(_, _, time)| duration(time.median));
            let sizes = [case.n_fft.to_string(), case.tier.clone(), case.batch.to_string(), case.k.to_string()];
            let rest = [significant(case.prediction, 3), format!("{:.1}", 100.0 * case.regret)];
            table.row(sizes.into_iter().chain([case.chosen.clone()]).chain(times).chain(rest));
        }
        table
    }

    /// Quality of predictions and choices, with the remark on the measurement if there is one, and time per decision,
    /// as lines of text.
    pub fn summary(&self) -> [String; 2] {
        let [first, again] = [self.deciding_first_ns, self.deciding_again_ns];
        let remark = self.remark.as_ref().map(|remark| format!("; {remark}")).unwrap_or_default();
        [
            format!(
                "{} profile of {}: of {} cases {:.0} % predicted within × {GOOD} of the median, {:.0} % of the fastest \
                 tenth of the samples; regret {:.1} % on average, {:.1} % at worst{remark}",
                self.profile,
                self.device,
                self.cases.len(),
                100.0 * self.predicted_well,
                100.0 * self.predicted_well_p10,
                100.0 * self.mean_regret,
                100.0 * self.worst_regret
            ),
            format!(
                "deciding takes {} the first time (p90 {}), {} each later time (p90 {})",
                duration(first.median),
                duration(first.p90),
                duration(again.median),
                duration(again.p90)
            ),
        ]
    }
}
