//! Bounded cache of plans.

use std::num::NonZeroUsize;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use lru::LruCache;

use crate::plan::Plan;
use crate::{Call, InteropError};

/// Plans that are kept: those of the calls used last.
pub const CAPACITY: NonZeroUsize = NonZeroUsize::new(4096).expect("it is not 0");

/// Plans by the words of their keys.
type Plans = LruCache<Box<[u64]>, Arc<Plan>>;

static PLANS: LazyLock<Mutex<Plans>> = LazyLock::new(|| Mutex::new(LruCache::new(CAPACITY)));

/// The plan of a call, recorded where it is not known.
///
/// # Errors
/// As [`Call::checked`] and [`Call::key`]; [`InteropError::Device`] for a limit of the device, and if the operation's
/// kernels do not compile; [`InteropError::Missing`] in a build without the feature `cuda`, or without a device.
pub fn plan(call: &Call<'_>) -> Result<Arc<Plan>, InteropError> {
    let key = call.key()?;
    if let Some(plan) = PLANS.lock().unwrap_or_else(PoisonError::into_inner).get(key.words()) {
        return Ok(Arc::clone(plan));
    }
    // Other threads go on meanwhile; two may record the same plan.
    let plan = Arc::new(record(call)?);
    PLANS.lock().unwrap_or_else(PoisonError::into_inner).put(key.words().into(), Arc::clone(&plan));
    Ok(plan)
}

#[cfg(feature = "cuda")]
fn record(call: &Call<'_>) -> Result<Plan, InteropError> {
    crate::cuda::Recorder::of_device(call.device)?.record(call)
}

#[cfg(not(feature = "cuda"))]
fn record(call: &Call<'_>) -> Result<Plan, InteropError> {
    call.checked()?;
    Err(InteropError::without_cuda(call.operation))
}
