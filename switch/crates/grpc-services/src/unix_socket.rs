// SPDX-License-Identifier: Apache-2.0
//! A Unix socket that only processes of its user and of root can connect to. The socket has the
//! mode 0600 and its folder the mode 0700, because not every system checks the mode of a socket.

use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::task::{Context, Poll};

use tokio::net::{UnixListener, UnixStream};

/// Permissions of anybody but the user.
const OTHERS: u32 = 0o077;

/// A listening socket, whose name is removed when it is dropped.
#[derive(Debug)]
pub struct UnixSocket {
    listener: UnixListener,
    path: PathBuf,
    /// Device and inode.
    made: (u64, u64),
}

impl UnixSocket {
    /// Makes the folder, unless it exists, and the socket. A socket of that name on which nobody
    /// listens any more is replaced. This needs a tokio runtime with I/O.
    ///
    /// # Errors
    /// Other users may enter the folder, or something else has the name. The words say which.
    pub async fn bind(path: &Path) -> io::Result<Self> {
        let folder = match path.parent() {
            Some(folder) if folder != Path::new("") => folder,
            _ => Path::new("."),
        };
        make_private(folder)?;
        remove_dead(path).await?;
        let listener = UnixListener::bind(path)?;
        // Nobody else can enter the folder, so there is no moment with other permissions.
        fs::set_permissions(path, Permissions::from_mode(0o600))?;
        Ok(Self {
            listener,
            path: path.to_owned(),
            made: identity(path)?,
        })
    }

    pub fn poll_accept(&self, context: &mut Context<'_>) -> Poll<io::Result<UnixStream>> {
        self.listener
            .poll_accept(context)
            .map_ok(|(stream, _)| stream)
    }
}

impl Drop for UnixSocket {
    fn drop(&mut self) {
        if identity(&self.path).is_ok_and(|found| found == self.made) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    let found = path.symlink_metadata()?;
    Ok((found.dev(), found.ino()))
}

/// Makes or checks a folder that only this user may enter. Its parent must exist.
fn make_private(folder: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            let words = format!("its folder {} cannot be made: {error}", folder.display());
            return Err(io::Error::new(error.kind(), words));
        }
        _ => {}
    }
    let found = folder.symlink_metadata()?;
    let refused = |words: &str| {
        let words = format!("its folder {} {words}", folder.display());
        Err(io::Error::new(ErrorKind::InvalidInput, words))
    };
    if !found.is_dir() {
        return refused("is a link or a file; name a folder");
    }
    // The files of a process in /proc belong to its user, which is found so without unsafe code.
    if found.uid() != fs::metadata("/proc/self")?.uid() {
        return refused("belongs to another user; name one of your own");
    }
    if found.mode() & OTHERS != 0 {
        return refused("is open to other users; chmod 700 it, or name one that is not there yet");
    }
    Ok(())
}

/// Removes a socket of that name if nobody listens on it any more.
async fn remove_dead(path: &Path) -> io::Result<()> {
    match path.symlink_metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
        Ok(found) if !found.file_type().is_socket() => Err(io::Error::new(
            ErrorKind::InvalidInput,
            "there is something else of that name; remove it, or choose another",
        )),
        Ok(_) => match UnixStream::connect(path).await {
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => fs::remove_file(path),
            // A listener that is too busy to answer still listens.
            _ => Err(ErrorKind::AddrInUse.into()),
        },
    }
}
