// SPDX-License-Identifier: Apache-2.0
//! Standard error as the log writes to it. It may be shared with other programs, which can leave it
//! without waiting (`O_NONBLOCK`), or be a file on a disk that is full for a while: what cannot be
//! written is lost, and the log goes on.

use std::io::{self, ErrorKind, Write};
use std::os::fd::AsRawFd;

/// How long to wait at once for whoever reads, milliseconds.
const LOOK_MS: libc::c_int = 1000;

/// Takes everything.
pub struct StandardError;

impl Write for StandardError {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match io::stderr().write(bytes) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    let mut room = libc::pollfd {
                        fd: io::stderr().as_raw_fd(),
                        events: libc::POLLOUT,
                        revents: 0,
                    };
                    // SAFETY: one entry, which lives through the call.
                    unsafe { libc::poll(&raw mut room, 1, LOOK_MS) };
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Ok(bytes.len()),
                written => return written,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
