// SPDX-License-Identifier: Apache-2.0
//! Opens the files that the switch writes: captures, traces, recordings, logs. The switch may be
//! root, and others may write to the folder, so a name there may lead to another file.

use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind, Result};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// Creates a file, or empties a regular one of this user's that has no other name. No symbolic
/// link is followed.
///
/// # Errors
/// It cannot be written, or is something else.
pub fn create(path: &Path) -> Result<File> {
    let file = open(path, OpenOptions::new().write(true).create(true))?;
    file.set_len(0)?;
    Ok(file)
}

/// Opens such a file, which exists, to write behind what it has.
///
/// # Errors
/// It cannot be written, is not there, or is something else.
pub fn append(path: &Path) -> Result<File> {
    open(path, OpenOptions::new().append(true))
}

fn open(path: &Path, options: &mut OpenOptions) -> Result<File> {
    // Without waiting: a FIFO would have us wait for a reader.
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;
    let file = options.custom_flags(flags).open(path).map_err(|error| {
        let kind = error.kind();
        match error.raw_os_error() {
            Some(libc::ELOOP) => Error::new(kind, "it is a symbolic link; name the file itself"),
            // A FIFO that nobody reads, or a socket.
            Some(libc::ENXIO) => Error::new(kind, NO_FILE),
            _ => error,
        }
    })?;
    let found = file.metadata()?;
    let refused = |words| Err(Error::new(ErrorKind::PermissionDenied, words));
    // SAFETY: no pointers.
    let own = found.uid() == unsafe { libc::geteuid() };
    match (found.is_file(), own, found.nlink()) {
        (false, ..) => refused(NO_FILE),
        (true, false, _) => refused("it belongs to another user; name a new file"),
        (true, true, 2..) => refused("it is a file with another name, too; name a new file"),
        (true, true, _) => Ok(file),
    }
}

const NO_FILE: &str = "it is no regular file; name a new file";

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let name = format!("docsis-output-{}-{name}", std::process::id());
            let folder = std::env::temp_dir().join(name);
            std::fs::create_dir(&folder).unwrap();
            Self(folder)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn links_are_not_followed() {
        let folder = Folder::new("links");
        let file = folder.0.join("file");
        std::fs::write(&file, "what was there").unwrap();
        let (link, dangling) = (folder.0.join("link"), folder.0.join("dangling"));
        symlink(&file, &link).unwrap();
        symlink(folder.0.join("new"), &dangling).unwrap();
        for path in [&link, &dangling] {
            let error = create(path).unwrap_err();
            assert!(error.to_string().contains("symbolic link"), "{error}");
            assert!(append(path).is_err());
        }
        assert_eq!(std::fs::read(&file).unwrap(), b"what was there");
        assert!(!folder.0.join("new").exists());
        // The same file under a second name.
        let second = folder.0.join("second");
        std::fs::hard_link(&file, &second).unwrap();
        let error = create(&second).unwrap_err();
        assert!(error.to_string().contains("another name"), "{error}");
        assert_eq!(std::fs::read(&file).unwrap(), b"what was there");
    }

    #[test]
    fn what_is_no_regular_file_is_refused_at_once() {
        let folder = Folder::new("kinds");
        let socket = folder.0.join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        let fifo = folder.0.join("fifo");
        let status = std::process::Command::new("mkfifo").arg(&fifo).status();
        assert!(status.unwrap().success());
        for path in [&socket, &fifo, Path::new("/dev/null")] {
            let error = create(path).unwrap_err();
            assert!(error.to_string().contains("no regular file"), "{error}");
        }
        assert!(create(&folder.0).is_err());
    }

    #[test]
    fn a_file_of_our_own_is_emptied_and_written_on() {
        let folder = Folder::new("own");
        let file = folder.0.join("file");
        assert!(append(&file).is_err(), "it is not there");
        create(&file).unwrap().write_all(b"what was there").unwrap();
        create(&file).unwrap().write_all(b"it").unwrap();
        append(&file).unwrap().write_all(b" goes on").unwrap();
        assert_eq!(std::fs::read(&file).unwrap(), b"it goes on");
    }
}
