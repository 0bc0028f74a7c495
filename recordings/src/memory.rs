//! Memory available to the process, and the part of it that recordings, tables and arrays may take while they are read.

use std::fs;
use std::path::{Path, PathBuf};

/// Memory left for samples, at first half of the available memory, because work on them needs some too.
#[derive(Debug, Clone, Copy)]
pub struct SampleMemory {
    /// Bytes.
    pub(crate) left: u64,
}

impl Default for SampleMemory {
    /// Half of the available memory; no limit where it is not known.
    fn default() -> Self {
        Self { left: available_memory().map_or(u64::MAX, |available| available / 2) }
    }
}

impl SampleMemory {
    /// Memory of a table or an array: half of that of recordings, since tasks make copies of them.
    pub(crate) fn of_table() -> Self {
        Self { left: Self::default().left / 2 }
    }

    /// Takes the memory of samples that are about to be held; false if it is not there.
    #[must_use]
    pub(crate) fn take(&mut self, samples: u64) -> bool {
        let left = self.left.checked_sub(samples.saturating_mul(size_of::<f32>() as u64));
        left.map(|left| self.left = left).is_some()
    }
}

/// Bytes in the binary unit that suits them; below 1 KiB in full.
pub(crate) fn bytes(count: u64) -> String {
    let power = (count.max(1).ilog2() / 10).min(4);
    let scaled = count as f64 / 1024f64.powi(power as i32);
    let decimals = if power == 0 || scaled >= 99.95 { 0 } else { 1 + usize::from(scaled < 9.995) };
    format!("{scaled:.decimals$} {}", ["B", "KiB", "MiB", "GiB", "TiB"][power as usize])
}

/// Memory available to this process, in bytes: the least of the machine's free memory, of the rest within its control
/// groups, and of the rest within its limits on address space and data. `None` on systems other than Linux.
pub fn available_memory() -> Option<u64> {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let machine = kibibytes(&read("/proc/meminfo"), "MemAvailable:");
    let groups =
        control_groups(&read("/proc/self/cgroup")).into_iter().filter_map(|(folder, files)| left_in(&folder, files));
    let limits = limits_left(&read("/proc/self/limits"), &read("/proc/self/status"));
    machine.into_iter().chain(groups).chain(limits).min()
}

/// Bytes under a name in a text with lines such as `VmSize:  2048 kB`.
fn kibibytes(text: &str, name: &str) -> Option<u64> {
    let value = text.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace().next()?;
    value.parse::<u64>().ok()?.checked_mul(1024)
}

/// Bytes left under the soft limits on address space and data (`ulimit -v` and `-d`), from `/proc/self/limits` and
/// `/proc/self/status`.
fn limits_left(limits: &str, status: &str) -> Vec<u64> {
    [("Max address space", "VmSize:"), ("Max data size", "VmData:")]
        .into_iter()
        .filter_map(|(limit, used)| {
            let line = limits.lines().find_map(|line| line.strip_prefix(limit))?;
            let limit = line.split_whitespace().next()?.parse::<u64>().ok()?;
            Some(limit.saturating_sub(kibibytes(status, used).unwrap_or(0)))
        })
        .collect()
}

/// Names of a control group's files: the limit, what is used of it, and the entry of `memory.stat` that counts file pages,
/// which the kernel takes back.
type GroupFiles = [&'static str; 3];

const VERSION_1: GroupFiles = ["memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file "];
const VERSION_2: GroupFiles = ["memory.max", "memory.current", "inactive_file "];

/// Bytes left in a control group; none if it sets no limit.
fn left_in(folder: &Path, [limit, used, reclaimable]: GroupFiles) -> Option<u64> {
    let read = |name: &str| fs::read_to_string(folder.join(name)).ok();
    let number = |name: &str| read(name)?.trim().parse::<u64>().ok();
    let pages = read("memory.stat").unwrap_or_default();
    let pages = pages.lines().find_map(|line| line.strip_prefix(reclaimable)?.parse().ok());
    let used = number(used)?.saturating_sub(pages.unwrap_or(0));
    Some(number(limit)?.saturating_sub(used))
}

/// Folders of the groups that `/proc/self/cgroup` names and those they are in, of both versions of control groups.
fn control_groups(membership: &str) -> Vec<(PathBuf, GroupFiles)> {
    let mounted = |line: &str| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        let (mount, files) = match controllers {
            "" => ("/sys/fs/cgroup", VERSION_2),
            _ if controllers.split(',').any(|name| name == "memory") => ("/sys/fs/cgroup/memory", VERSION_1),
            _ => return None,
        };
        let ancestors = Path::new(path.trim_start_matches('/')).ancestors();
        Some(ancestors.map(|path| (Path::new(mount).join(path), files)).collect::<Vec<_>>())
    };
    membership.lines().filter_map(mounted).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_take_what_is_left_and_no_more() {
        let mut memory = SampleMemory { left: 256 << 20 };
        assert!(memory.take(32 << 20) && memory.take(32 << 20));
        assert!(!memory.take(1) && !memory.take(u64::MAX), "nothing is left");
        assert!(memory.take(0));
        assert!(SampleMemory { left: 4 }.take(1));
        assert!(!SampleMemory { left: 3 }.take(1));
    }

    #[test]
    fn bytes_have_three_digits_and_a_unit() {
        let texts = [0, 1023, 1024, 10 << 20, 1536 << 20, 5 << 50].map(bytes);
        assert_eq!(texts, ["0 B", "1023 B", "1.00 KiB", "10.0 MiB", "1.50 GiB", "5120 TiB"]);
    }

    #[test]
    fn memory_left_is_the_limit_minus_its_use() {
        let limits = "Limit                     Soft Limit           Hard Limit           Units     \n\
                      Max data size             unlimited            unlimited            bytes     \n\
                      Max address space         4194304              unlimited            bytes     \n";
        assert_eq!(limits_left(limits, "VmPeak:\t  2000 kB\nVmSize:\t  1024 kB\n"), [3 << 20]);
        assert_eq!(limits_left(limits, "VmSize:\t  8192 kB\n"), [0]);
        assert!(limits_left("", "").is_empty());
    }

    #[test]
    fn every_group_up_to_the_root_counts() {
        let groups = control_groups("5:cpu,cpuacct:/x\n4:memory:/a/b\n0::/\n");
        let folders: Vec<_> = groups.iter().map(|(folder, _)| folder.to_str().unwrap()).collect();
        let expected =
            ["/sys/fs/cgroup/memory/a/b", "/sys/fs/cgroup/memory/a", "/sys/fs/cgroup/memory/", "/sys/fs/cgroup/"];
        assert_eq!(folders, expected);
        assert_eq!((groups[0].1, groups[3].1), (VERSION_1, VERSION_2));
    }

    #[test]
    fn a_group_leaves_its_limit_without_what_is_used_and_can_not_be_reclaimed() {
        let folder = tempfile::tempdir().unwrap();
        let left = || left_in(folder.path(), VERSION_2);
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        write("memory.current", "700\n");
        write("memory.stat", "anon 400\nactive_file 100\ninactive_file 200\n");
        write("memory.max", "max\n");
        assert_eq!(left(), None);
        write("memory.max", "1000\n");
        assert_eq!(left(), Some(500));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn available_memory_is_at_most_that_of_the_machine() {
        let machine = kibibytes(&fs::read_to_string("/proc/meminfo").unwrap(), "MemTotal:").unwrap();
        let available = available_memory().unwrap();
        assert!(available > 0 && available <= machine, "{available} of {machine}");
    }
}
