//! Output files: atomic, durable, and cells of CSV.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
#[cfg(unix)]
use std::sync::{Arc, atomic::AtomicBool};

pub use firefly_framework::files::{
    AtomicFile, PARTIAL, ensure_writable, open_own, output_path, sync_folder, write_atomically,
};

/// Has a write beyond the limit on the size of files (`ulimit -f`) fail with an error. The system also sends a signal,
/// which would end the program without a message.
pub fn fail_at_size_limit() {
    // A handler that has nothing to do; where the system refuses it, the signal ends the program as before.
    #[cfg(unix)]
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::new(AtomicBool::new(false)));
}

/// Has `clean` run when the process is interrupted or terminated; then it ends by the signal. One that ignores the signal,
/// as in the background of a script, goes on.
pub fn clean_at_interruption(clean: fn()) {
    #[cfg(not(unix))]
    let _ = clean;
    #[cfg(unix)]
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let ignored =
            status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
        let Ok((mut received, sent)) = std::os::unix::net::UnixStream::pair() else { return };
        let wait = move || {
            if io::Read::read_exact(&mut received, &mut [0]).is_ok() {
                clean();
                let _ = signal_hook::low_level::emulate_default_handler(signal);
            }
        };
        // Without a thread the signal ends the program as before.
        if ignored.is_none_or(|ignored| ignored >> (signal - 1) & 1 == 0)
            && std::thread::Builder::new().name("signals".into()).spawn(wait).is_ok()
        {
            let _ = signal_hook::low_level::pipe::register(signal, sent);
        }
    }
}

/// Checks that writing `output` would replace none of `inputs`.
pub fn ensure_no_input<'a>(output: &Path, inputs: impl IntoIterator<Item = &'a Path>) -> io::Result<()> {
    // What is not there yet replaces nothing.
    let Ok(output) = output.canonicalize() else { return Ok(()) };
    let is_output = |input: &Path| input.canonicalize().is_ok_and(|input: PathBuf| input == output);
    match inputs.into_iter().any(is_output) {
        true => Err(io::Error::other("it is an input, and would be replaced")),
        false => Ok(()),
    }
}

/// Whether two outputs are one file: the same path, or links to one, whether it is there yet or not.
///
/// # Errors
/// If one of them can't be an output.
pub fn is_same_output(a: &Path, b: &Path) -> io::Result<bool> {
    let place = |path: &Path| -> io::Result<_> {
        let target = output_path(path)?;
        let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf());
        Ok((folder, target.file_name().map(ToOwned::to_owned)))
    };
    Ok(place(a)? == place(b)?)
}

/// Syncs every file in `folder`, then the folder.
pub fn sync_folder_and_files(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        File::open(entry?.path())?.sync_all()?;
    }
    sync_folder(folder)
}

/// A text as a cell of CSV by RFC 4180: in quotation marks where it has to be.
///
/// ```
/// use firefly_app::files::csv_cell as cell;
///
/// assert_eq!((cell("a"), cell("a,b"), cell("\"a\"")), ("a".into(), "\"a,b\"".into(), "\"\"\"a\"\"\"".into()));
/// ```
pub fn csv_cell(text: &str) -> Cow<'_, str> {
    if text.contains([',', '"', '\n', '\r']) {
        Cow::Owned(format!("\"{}\"", text.replace('"', "\"\"")))
    } else {
        Cow::Borrowed(text)
    }
}
