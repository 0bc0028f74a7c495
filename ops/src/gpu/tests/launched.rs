//! Record of the kernels that a test launches without bounds checks, and with them.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::mem::take;

/// Names of kernels.
pub type Kernels = BTreeSet<&'static str>;

thread_local! {
    /// The kernels that this thread launched: without bounds checks, and with them.
    static LAUNCHED: RefCell<[Kernels; 2]> = RefCell::default();
}

/// Records a launch of the kernel at `path`.
pub fn record(path: &'static str, bounds_checks: bool) {
    let name = path.rsplit(':').next().unwrap_or(path).trim();
    LAUNCHED.with_borrow_mut(|launched| launched[usize::from(bounds_checks)].insert(name));
}

/// The kernels that this thread launched since the last call: without bounds checks, and with them.
pub fn take_launched() -> [Kernels; 2] {
    LAUNCHED.with_borrow_mut(take)
}
