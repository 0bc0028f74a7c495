//! Interruption of a measurement by Ctrl-C, or by a signal to end.

use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

/// Exit status of an interrupted command, as shells report SIGINT.
pub const INTERRUPTED: u8 = 130;

/// Whether the process was told to end.
static IS_INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Has a measurement end after the iteration that runs when the process is told to end. A second signal ends the
/// process, as the first one does where the system refuses the handler.
pub fn listen() {
    static LISTENING: Once = Once::new();
    LISTENING.call_once(|| {
        let _ = ctrlc::set_handler(|| {
            if IS_INTERRUPTED.swap(true, Ordering::Relaxed) {
                std::process::exit(i32::from(INTERRUPTED));
            }
        });
    });
}

/// Whether the process was told to end.
pub fn is_interrupted() -> bool {
    IS_INTERRUPTED.load(Ordering::Relaxed)
}
