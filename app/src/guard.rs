//! Panics of other libraries as errors.

use std::any::Any;
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::sync::Once;

thread_local! {
    /// Whether a panic of this thread becomes an error, which says it all.
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// The result of `work`, or the message of its panic, of a device its [`root_cause`]. Burn's backends panic when a device
/// is lost or out of memory, and parsers of files at some damaged ones. Nothing is printed, unless `RUST_BACKTRACE` is
/// set.
pub fn guarded<R>(work: impl FnOnce() -> R) -> Result<R, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let print = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if !GUARDED.get() || std::env::var_os("RUST_BACKTRACE").is_some() {
                print(panic);
            }
        }));
    });
    let outside = GUARDED.replace(true);
    let result = catch_unwind(AssertUnwindSafe(work));
    GUARDED.set(outside);
    result.map_err(|panic| message(panic.as_ref()))
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    let text = text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string));
    text.map_or_else(|| "it panicked".into(), |text| root_cause(&text).to_string())
}

/// The last cause in a message of CubeCL, which lists all that a failure kept from running, and places in its code.
///
/// ```
/// use firefly_app::guard::root_cause;
///
/// let message = "The bytes were never written\nCaused by:\n  out of device memory\nNo backtrace available";
/// assert_eq!(root_cause(message), "out of device memory");
/// assert_eq!(root_cause("lost"), "lost");
/// ```
pub fn root_cause(message: &str) -> &str {
    let message = message.split("\nNo backtrace available").next().unwrap_or(message);
    message.rsplit("Caused by:").next().unwrap_or(message).trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_its_message() {
        assert_eq!(guarded(|| 3), Ok(3));
        let lost = |what: &str| guarded(|| panic!("{what} is lost")).unwrap_err();
        assert_eq!(lost("cuda:1"), "cuda:1 is lost");
        assert_eq!(guarded::<()>(|| panic!("out of memory")).unwrap_err(), "out of memory");
    }
}
