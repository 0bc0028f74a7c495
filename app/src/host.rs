//! Facts about the machine, and the limits it sets to a process.

use std::fs;
use std::path::{Path, PathBuf};

pub use firefly_framework::device::{available_cores, cpu_name};
use rayon::ThreadPoolBuilder;
use thiserror::Error;

/// The greatest number of threads that is accepted.
pub const MOST_THREADS: usize = 1024;

/// The variable that sets the number of threads of operations on the CPU.
const THREADS_VARIABLE: &str = "RAYON_NUM_THREADS";

/// Failure to start threads.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ThreadError {
    /// The variable asks for more than [`MOST_THREADS`].
    #[error("{THREADS_VARIABLE} is {0}, but must be at most {MOST_THREADS}")]
    TooMany(usize),
    /// The system refuses a thread.
    #[error("starting the threads of operations on the CPU; {THREADS_VARIABLE} sets their number")]
    Start(#[source] rayon::ThreadPoolBuildError),
}

/// The first value under `name` in a file of Linux's `/proc`.
pub fn entry(file: &str, name: &str) -> Option<String> {
    value_under(&fs::read_to_string(file).ok()?, name).map(str::to_string)
}

fn value_under<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (_, value) = text.lines().find(|line| line.starts_with(name))?.split_once(':')?;
    Some(value.trim())
}

/// Starts the threads that operations on the CPU share, which otherwise start, or panic, at the first operation.
///
/// # Errors
/// If there would be too many of them for [`MOST_THREADS`] or for the system.
pub fn start_threads() -> Result<(), ThreadError> {
    let asked = std::env::var(THREADS_VARIABLE).ok().and_then(|threads| threads.parse().ok());
    match asked.filter(|threads| *threads > MOST_THREADS) {
        Some(threads) => Err(ThreadError::TooMany(threads)),
        None => ThreadPoolBuilder::new().build_global().map_err(ThreadError::Start),
    }
}

/// Memory available to this process, in bytes: the least of the machine's free memory, of the rest within its control
/// groups, and of the rest within its limits on address space and data. `None` on systems other than Linux.
pub fn available_memory() -> Option<u64> {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let machine = kibibytes(&read("/proc/meminfo"), "MemAvailable:");
    let groups = control_groups(&read("/proc/self/cgroup")).into_iter().filter_map(|group| group.available());
    let limits = limits_left(&read("/proc/self/limits"), &read("/proc/self/status"));
    machine.into_iter().chain(groups).chain(limits).min()
}

/// Bytes under a name in a text with lines such as `VmSize:  2048 kB`.
fn kibibytes(text: &str, name: &str) -> Option<u64> {
    let value = value_under(text, name)?.split_whitespace().next()?;
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

/// Names of a control group's files: the limit, what is used of it, and the entry of `memory.stat` that counts file
/// pages, which the kernel takes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct GroupFiles {
    limit: &'static str,
    used: &'static str,
    reclaimable: &'static str,
}

const VERSION_1: GroupFiles =
    GroupFiles { limit: "memory.limit_in_bytes", used: "memory.usage_in_bytes", reclaimable: "total_inactive_file " };
const VERSION_2: GroupFiles = GroupFiles { limit: "memory.max", used: "memory.current", reclaimable: "inactive_file " };

/// A control group that may limit this process's memory.
#[derive(Debug, PartialEq, Eq)]
struct ControlGroup {
    folder: PathBuf,
    files: GroupFiles,
}

impl ControlGroup {
    /// Bytes left in the group; none if it sets no limit.
    fn available(&self) -> Option<u64> {
        let read = |name: &str| fs::read_to_string(self.folder.join(name)).ok();
        let number = |name: &str| read(name)?.trim().parse::<u64>().ok();
        let reclaimable = read("memory.stat").unwrap_or_default();
        let reclaimable = reclaimable.lines().find_map(|line| line.strip_prefix(self.files.reclaimable)?.parse().ok());
        let used = number(self.files.used)?.saturating_sub(reclaimable.unwrap_or(0));
        Some(number(self.files.limit)?.saturating_sub(used))
    }
}

/// The groups that `/proc/self/cgroup` names and those they are in, of both versions of control groups.
fn control_groups(membership: &str) -> Vec<ControlGroup> {
    let mounted = |line: &str| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        let (mount, files) = match controllers {
            "" => ("/sys/fs/cgroup", VERSION_2),
            _ if controllers.split(',').any(|name| name == "memory") => ("/sys/fs/cgroup/memory", VERSION_1),
            _ => return None,
        };
        Some((mount, path.trim_start_matches('/').to_string(), files))
    };
    let groups = membership.lines().filter_map(mounted);
    groups
        .flat_map(|(mount, path, files)| {
            let ancestors: Vec<_> = Path::new(&path).ancestors().map(|path| Path::new(mount).join(path)).collect();
            ancestors.into_iter().map(move |folder| ControlGroup { folder, files })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let folders: Vec<_> = groups.iter().map(|group| group.folder.to_str().unwrap()).collect();
        let expected =
            ["/sys/fs/cgroup/memory/a/b", "/sys/fs/cgroup/memory/a", "/sys/fs/cgroup/memory/", "/sys/fs/cgroup/"];
        assert_eq!(folders, expected);
        assert_eq!((groups[0].files, groups[3].files), (VERSION_1, VERSION_2));
    }

    #[test]
    fn a_group_leaves_its_limit_without_what_is_used_and_can_not_be_reclaimed() {
        let folder = tempfile::tempdir().unwrap();
        let group = ControlGroup { folder: folder.path().into(), files: VERSION_2 };
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        write("memory.current", "700\n");
        write("memory.stat", "anon 400\nactive_file 100\ninactive_file 200\n");
        write("memory.max", "max\n");
        assert_eq!(group.available(), None);
        write("memory.max", "1000\n");
        assert_eq!(group.available(), Some(500));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn available_memory_is_at_most_that_of_the_machine() {
        let machine = kibibytes(&fs::read_to_string("/proc/meminfo").unwrap(), "MemTotal:").unwrap();
        let available = available_memory().unwrap();
        assert!(available > 0 && available <= machine, "{available} of {machine}");
    }
}
