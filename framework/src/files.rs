//! Output files: written to a temporary file in the same folder, synced, and renamed.
//!
//! A link is followed: the file that it names is replaced, and the link stays. Devices, pipes, sockets, folders and
//! open streams (`/dev/stdout`) are refused, because renaming would replace them by a file.
//!
//! ```
//! use firefly_framework::files::write_atomically;
//!
//! let folder = tempfile::tempdir()?;
//! write_atomically(&folder.path().join("reports/out.json"), b"{}")?;
//! # Ok::<_, std::io::Error>(())
//! ```

use std::ffi::OsString;
use std::fs::{self, File, FileType};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use tempfile::{NamedTempFile, TempPath};

#[cfg(test)]
use injected::call;

/// Announces a call of the file system, which tests let fail.
#[cfg(not(test))]
const fn call() -> io::Result<()> {
    Ok(())
}

/// Beginning of the names of files that are being written, which an interrupted program leaves behind.
pub const PARTIAL: &str = ".partial-";
/// Number of links that are followed before they are assumed to form a loop, as in Linux.
const MAX_LINKS: usize = 40;

/// Output file that is being written; [`commit`](Self::commit) moves it to its place. If it is dropped before that, it
/// is removed.
pub struct AtomicFile {
    temporary: NamedTempFile,
    target: PathBuf,
}

impl AtomicFile {
    /// A file that will be at `path`, in place of an existing one. Missing folders are created.
    ///
    /// # Errors
    /// If `path` names something else than a file, or its folder can't be created or written.
    pub fn create(path: &Path) -> io::Result<Self> {
        Self::from_temporary(path, |target| temporary_in(folder_of(target)))
    }

    /// [`create`](Self::create) for a program that holds a lock on `path`, so that no other writes to it. The
    /// unfinished file has a fixed name, `.NAME.partial`, and one that a killed program left behind is replaced.
    ///
    /// # Errors
    /// As [`create`](Self::create).
    pub fn create_locked(path: &Path) -> io::Result<Self> {
        let file = Self::continue_locked(path)?;
        file.temporary.as_file().set_len(0)?;
        Ok(file)
    }

    /// The unfinished file of a killed program, to be read and continued; an empty one if there is none.
    ///
    /// # Errors
    /// As [`create`](Self::create).
    pub fn continue_locked(path: &Path) -> io::Result<Self> {
        Self::from_temporary(path, |target| {
            let mut name = OsString::from(".");
            name.push(target.file_name().unwrap_or_default());
            name.push(".partial");
            let partial = folder_of(target).join(name);
            let at_path = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", partial.display()));
            let file = open_own(&partial).map_err(at_path)?;
            Ok(NamedTempFile::from_parts(file, TempPath::try_from_path(partial)?))
        })
    }

    /// Truncates the file to `length` bytes, or extends it with zeros.
    ///
    /// # Errors
    /// If the file can't be written.
    pub fn set_len(&self, length: u64) -> io::Result<()> {
        self.temporary.as_file().set_len(length)
    }

    /// A file that will be at `path`, written to the temporary file that `open` makes in the target's folder.
    fn from_temporary(path: &Path, open: impl FnOnce(&Path) -> io::Result<NamedTempFile>) -> io::Result<Self> {
        let target = output_path(path)?;
        call()?;
        fs::create_dir_all(folder_of(&target))?;
        call()?;
        let temporary = open(&target)?;
        // The new file has the permissions of the old one.
        if let Ok(old) = fs::metadata(&target) {
            call()?;
            temporary.as_file().set_permissions(old.permissions())?;
        }
        Ok(Self { temporary, target })
    }

    /// Syncs the file and moves it to its place.
    ///
    /// # Errors
    /// If it can't be synced or renamed; the old file is then unchanged.
    pub fn commit(self) -> io::Result<()> {
        call()?;
        self.temporary.as_file().sync_all()?;
        call()?;
        self.temporary.persist(&self.target).map_err(|error| error.error)?;
        call()?;
        sync_folder(folder_of(&self.target))
    }
}

impl Read for AtomicFile {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.temporary.read(bytes)
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        call()?;
        self.temporary.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.temporary.flush()
    }
}

impl Seek for AtomicFile {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        self.temporary.seek(position)
    }
}

/// Writes `bytes` to `path` and creates missing folders. A reader sees the old file or the new one, never a part, even
/// after a crash.
///
/// # Errors
/// If `path` names something else than a file, the folder can't be created or written, or the disk is full; the old
/// file is then unchanged.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = AtomicFile::create(path)?;
    file.write_all(bytes)?;
    file.commit()
}

/// Checks that [`write_atomically`] can write to `path`, before a long computation. Creates nothing.
///
/// # Errors
/// As writing would.
pub fn ensure_writable(path: &Path) -> io::Result<()> {
    let target = output_path(path)?;
    let existing =
        folder_of(&target).ancestors().map(or_current_folder).find(|folder| folder.exists()).unwrap_or(Path::new("."));
    if !existing.is_dir() {
        return Err(io::Error::from(io::ErrorKind::NotADirectory));
    }
    temporary_in(existing).map(drop)
}

/// A file of fixed name that a program keeps beside its output, to be read and written; made if there is none.
///
/// Other users may write to the folder, so an existing entry of that name is checked. A symbolic or hard link would
/// redirect writes to another user's file, and opening a pipe would block.
///
/// # Errors
/// If the file can't be opened, is a link or has one, or is no file.
pub fn open_own(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NOFOLLOW | libc::O_NONBLOCK);
    let refused =
        |what: &str| io::Error::new(io::ErrorKind::InvalidInput, format!("it is {what}, not a file of its own"));
    let file = match options.open(path) {
        Err(_) if fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink()) => return Err(refused("a link")),
        opened => opened?,
    };
    let found = file.metadata()?;
    #[cfg(unix)]
    if std::os::unix::fs::MetadataExt::nlink(&found) > 1 {
        return Err(refused("a file of several names"));
    }
    if found.is_file() { Ok(file) } else { Err(refused(name_of(found.file_type()))) }
}

/// Syncs a folder, so that renames in it survive a crash.
///
/// # Errors
/// If the folder can't be opened or synced.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    // Windows has no handle for syncing a folder.
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

/// The file that an output to `path` replaces: `path`, or what it links to.
///
/// # Errors
/// If `path` names something else than a file, or links lead in a circle.
pub fn output_path(path: &Path) -> io::Result<PathBuf> {
    let mut target = path.to_path_buf();
    for _ in 0..=MAX_LINKS {
        // Linux shows the open streams of a process as links below /proc.
        if fs::canonicalize(folder_of(&target)).is_ok_and(|folder| folder.starts_with("/proc")) {
            return Err(refused(path, &target, "an open stream of a process"));
        }
        let kind = match fs::symlink_metadata(&target) {
            Ok(metadata) => metadata.file_type(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(target),
            Err(error) => return Err(error),
        };
        if kind.is_symlink() {
            target = folder_of(&target).join(fs::read_link(&target)?);
        } else if kind.is_file() {
            return Ok(target);
        } else {
            return Err(refused(path, &target, name_of(kind)));
        }
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "it is a link that leads to itself"))
}

fn refused(path: &Path, target: &Path, what: &str) -> io::Error {
    let message = if path == target {
        format!("it is {what}, but an output must be a file")
    } else {
        format!("it is a link to {}, {what}, but an output must be a file", target.display())
    };
    io::Error::new(io::ErrorKind::InvalidInput, message)
}

/// File type other than a regular file or a link, with its article.
#[cfg(unix)]
fn name_of(kind: FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt;
    match kind {
        kind if kind.is_dir() => "a folder",
        kind if kind.is_fifo() => "a pipe",
        kind if kind.is_socket() => "a socket",
        _ => "a device",
    }
}

/// File type other than a regular file or a link, with its article.
#[cfg(not(unix))]
fn name_of(kind: FileType) -> &'static str {
    if kind.is_dir() { "a folder" } else { "a device" }
}

fn temporary_in(folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(PARTIAL);
    // Temporary files are private by default; output files follow the user's umask.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(folder)
}

fn folder_of(path: &Path) -> &Path {
    or_current_folder(path.parent().unwrap_or(Path::new("")))
}

/// A folder whose path may be empty, as that of a relative file is.
fn or_current_folder(folder: &Path) -> &Path {
    if folder.as_os_str().is_empty() { Path::new(".") } else { folder }
}

/// Failures of calls of the file system, on the thread of a test.
#[cfg(test)]
mod injected {
    use std::cell::Cell;
    use std::io;

    thread_local! {
        /// Calls that succeed before one fails, and the system's number of its error.
        static FAILURE: Cell<Option<(usize, i32)>> = const { Cell::new(None) };
    }

    /// Runs `work`, in which the call behind `calls` others fails once; whether it was reached.
    pub fn with_failure<R>(calls: usize, error: i32, work: impl FnOnce() -> R) -> (R, bool) {
        FAILURE.set(Some((calls, error)));
        let result = work();
        (result, FAILURE.take().is_none())
    }

    pub fn call() -> io::Result<()> {
        match FAILURE.take() {
            None => Ok(()),
            Some((0, error)) => Err(io::Error::from_raw_os_error(error)),
            Some((calls, error)) => {
                FAILURE.set(Some((calls - 1, error)));
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn a_file_is_replaced_and_no_temporary_file_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/down/out.json");
        write_atomically(&path, b"first").unwrap();
        write_atomically(&path, b"second").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"second");
        assert_eq!(names(path.parent().unwrap()), ["out.json"]);
    }

    #[test]
    fn a_file_that_is_not_committed_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = AtomicFile::create(&folder.path().join("out.csv")).unwrap();
        file.write_all(b"half").unwrap();
        drop(file);
        assert!(names(folder.path()).is_empty());
    }

    #[test]
    fn a_file_under_a_lock_replaces_what_a_killed_program_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.bin");
        fs::write(folder.path().join(".out.bin.partial"), "left behind by a killed program").unwrap();
        let mut file = AtomicFile::continue_locked(&path).unwrap();
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        assert_eq!(text, "left behind by a killed program");
        std::mem::forget(file);
        let mut file = AtomicFile::create_locked(&path).unwrap();
        file.write_all(b"new").unwrap();
        file.commit().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        drop(AtomicFile::create_locked(&path).unwrap());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    #[cfg(unix)]
    fn a_link_at_the_name_of_an_unfinished_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (precious, path) = (folder.path().join("precious"), folder.path().join("out.bin"));
        let partial = folder.path().join(".out.bin.partial");
        fs::write(&precious, "precious").unwrap();
        let links: [fn(&Path, &Path) -> io::Result<()>; 2] =
            [|file, link| std::os::unix::fs::symlink(file, link), |file, link| fs::hard_link(file, link)];
        for link in links {
            link(&precious, &partial).unwrap();
            let error = AtomicFile::create_locked(&path).err().unwrap().to_string();
            assert!(error.contains(".out.bin.partial: it is a"), "{error}");
            assert_eq!(fs::read(&precious).unwrap(), b"precious");
            fs::remove_file(&partial).unwrap();
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn whatever_call_fails_the_old_file_or_the_new_one_is_left_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        for error in [libc::ENOSPC, libc::EIO, libc::EMFILE, libc::EINTR, libc::EDQUOT] {
            for calls in 0.. {
                fs::write(&path, "old").unwrap();
                let (written, failed) = injected::with_failure(calls, error, || write_atomically(&path, b"new"));
                let found = fs::read_to_string(&path).unwrap();
                assert_eq!(names(folder.path()), ["out"], "error {error} at call {calls}");
                match written {
                    // A write that is interrupted is repeated.
                    Ok(()) => {
                        assert!(found == "new" && (!failed || error == libc::EINTR), "error {error} at call {calls}")
                    }
                    Err(found_error) => {
                        assert_eq!(found_error.raw_os_error(), Some(error));
                        assert!(found == "old" || found == "new", "error {error} at call {calls}: {found}");
                    }
                }
                if !failed {
                    assert_eq!(calls, 7, "folder, file, permissions, write, sync, rename and sync of the folder");
                    break;
                }
            }
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn an_unfinished_file_that_is_continued_survives_failed_calls() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let write = || -> io::Result<()> {
            let mut file = AtomicFile::continue_locked(&path)?;
            file.set_len(0)?;
            file.write_all(b"first, ")?;
            file.write_all(b"second")?;
            file.commit()
        };
        for calls in 0..7 {
            let (written, failed) = injected::with_failure(calls, libc::ENOSPC, write);
            assert!(written.is_err() && failed, "call {calls}");
            // A failure after the rename leaves the whole file, any other one none.
            assert!(calls == 6 || !path.exists(), "call {calls}");
            write().unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), "first, second");
            fs::remove_file(&path).unwrap();
            assert!(names(folder.path()).is_empty(), "call {calls}");
        }
    }

    #[test]
    fn a_failed_write_leaves_the_old_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("taken");
        fs::create_dir_all(path.join("inside")).unwrap();
        let error = write_atomically(&path, b"bytes").unwrap_err().to_string();
        assert_eq!(error, "it is a folder, but an output must be a file");
        assert!(path.join("inside").is_dir());
        assert_eq!(names(folder.path()), ["taken"]);
    }

    #[test]
    fn unwritable_paths_are_errors_before_writing() {
        let folder = tempfile::tempdir().unwrap();
        ensure_writable(&folder.path().join("new/out.json")).unwrap();
        assert!(names(folder.path()).is_empty(), "a check creates no folder");
        assert!(ensure_writable(folder.path()).is_err());
        fs::write(folder.path().join("file"), "").unwrap();
        assert!(ensure_writable(&folder.path().join("file/out.json")).is_err());
        assert!(ensure_writable(&folder.path().join("file/deep/out.json")).is_err());
        ensure_writable(Path::new("relative.json")).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_and_stay() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let (link, target) = (folder.path().join("link"), folder.path().join("target"));
        symlink("target", &link).unwrap();
        write_atomically(&link, b"first").unwrap();
        fs::set_permissions(&target, fs::Permissions::from_mode(0o600)).unwrap();
        write_atomically(&link, b"second").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&target).unwrap(), b"second");
        assert_eq!(fs::metadata(&target).unwrap().permissions().mode() & 0o777, 0o600);
        symlink("circle", folder.path().join("circle")).unwrap();
        let error = ensure_writable(&folder.path().join("circle")).unwrap_err().to_string();
        assert_eq!(error, "it is a link that leads to itself");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn devices_pipes_and_streams_are_refused() {
        use std::os::unix::fs::{FileTypeExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link");
        symlink("/dev/null", &link).unwrap();
        let message = |path: &Path| write_atomically(path, b"bytes").unwrap_err().to_string();
        assert_eq!(message(Path::new("/dev/null")), "it is a device, but an output must be a file");
        assert_eq!(message(&link), "it is a link to /dev/null, a device, but an output must be a file");
        for stream in ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/2"] {
            assert!(message(Path::new(stream)).contains("an open stream of a process"), "{stream}");
        }
        assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
        assert!(fs::symlink_metadata("/dev/stdout").unwrap().is_symlink());
    }
}
