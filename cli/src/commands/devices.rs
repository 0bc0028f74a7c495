//! `firefly devices`: what is there, what the build supports, and what is calibrated.

use std::process::ExitCode;

use anyhow::Result;
use firefly_app::device::{DeviceChoice, DeviceError, DeviceId, DeviceKind, DeviceName};
use firefly_app::host::{available_cores, cpu_name};
use firefly_app::streams::print;
use firefly_app::table::{Align, TextTable};
use firefly_framework::profile::{default_path, load_or_preset};

const NOTES: &str = "\
A calibrated device has a profile of measured times, written by `firefly bench calibrate`; the model auto and decisions
on fusion follow it. Without one they follow the preset of its kind.

Example:
  firefly devices";
const MOST_DEVICES: usize = 16;

#[derive(Debug, Clone, clap::Args)]
#[command(after_help = NOTES)]
pub struct DevicesArgs {}

pub fn run(_: &DevicesArgs) -> Result<ExitCode> {
    let mut rows = Vec::new();
    let mut ignored = Vec::new();
    for kind in DeviceKind::ALL {
        let indices = 0..if kind.is_host() { 1 } else { MOST_DEVICES };
        for id in indices.map(|index| DeviceId::new(kind, index)) {
            let Ok(name) = id.to_string().parse::<DeviceName>() else { break };
            let opened = name.open();
            if opened.is_err() && id.index() > 0 {
                break;
            }
            let available = match &opened {
                Ok(_) => "yes".to_owned(),
                Err(DeviceError::NotBuilt(feature)) => format!("not in this build (--features {feature})"),
                Err(error) => format!("no: {error}"),
            };
            let calibrated = opened.as_ref().map_or(String::new(), |_| calibration(id, &mut ignored));
            rows.push([name.to_string(), available, calibrated]);
        }
    }
    let cpu = cpu_name().unwrap_or_else(|| "unknown processor".to_owned());
    let auto = DeviceChoice::Auto.explained();
    let table = table(rows).render();
    let ignored: String = ignored.iter().map(|line| format!("\n{line}\n")).collect();
    print(&format!("{cpu}, {} cores available\ndefault device: {auto}\n\n{table}{ignored}", available_cores()))?;
    Ok(ExitCode::SUCCESS)
}

/// Table of a row per device: its name, whether it is available, and whether it is calibrated.
fn table(rows: Vec<[String; 3]>) -> TextTable {
    let mut table = TextTable::default().columns(["device", "available", "calibrated"], Align::Left);
    rows.into_iter().for_each(|row| table.row(row));
    table
}

/// Whether a device has a calibrated profile, and where. Profiles that can't be used are reported.
fn calibration(id: DeviceId, ignored: &mut Vec<String>) -> String {
    let (profile, error) = load_or_preset(id);
    ignored.extend(error.map(|error| error.to_string()));
    match (profile.is_calibrated(), default_path(id)) {
        (true, Ok(path)) => path.display().to_string(),
        (true, Err(_)) => "yes".to_owned(),
        (false, _) => format!("no (preset {})", profile.name),
    }
}

#[cfg(test)]
mod tests {
    use firefly_app::table::TableLayout;

    use super::*;

    #[test]
    fn devices_at_80_100_and_160_columns() {
        let rows = [
            ["cpu", "yes", "/home/alice/.config/firefly/devices/cpu.toml"],
            ["vulkan", "no: device `vulkan` is not on this machine: its driver offers 0 of the kind", ""],
            ["metal", "not in this build (--features metal)", ""],
            ["cuda", "yes", "no (preset cuda)"],
        ];
        let table = table(rows.map(|row| row.map(str::to_owned)).to_vec());
        let texts = [80, 100, 160].map(|width| {
            let text = table.render_in(TableLayout { width, every_column: false });
            assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
            format!("{width} columns\n{text}")
        });
        insta::assert_snapshot!(texts.join("\n"));
    }
}
