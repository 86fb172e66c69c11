// SPDX-License-Identifier: Apache-2.0
//! Sleeps until a socket, a signal, another thread or the clock wakes the thread.

use crate::port::Poll;
use crate::waker::Waker;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// SIGTERM and SIGINT as a descriptor. To be made before other threads are.
#[derive(Debug)]
pub struct Signals {
    fd: OwnedFd,
}

impl Signals {
    /// Blocks both signals in this thread and in those that it starts.
    ///
    /// # Errors
    /// The kernel has no signalfd.
    pub fn block() -> io::Result<Self> {
        // SAFETY: a signal set on the stack that sigemptyset initialises.
        unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&mut set);
            libc::sigaddset(&mut set, libc::SIGTERM);
            libc::sigaddset(&mut set, libc::SIGINT);
            libc::pthread_sigmask(libc::SIG_BLOCK, &set, std::ptr::null_mut());
            let fd = libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
            if fd < 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(Self {
                fd: OwnedFd::from_raw_fd(fd),
            })
        }
    }
}

impl Signals {
    /// The number of a signal that has come, if one has.
    pub fn take(&self) -> Option<i32> {
        // SAFETY: plain data, for which zeros are valid.
        let mut info: libc::signalfd_siginfo = unsafe { std::mem::zeroed() };
        let size = size_of::<libc::signalfd_siginfo>();
        // SAFETY: a signalfd_siginfo and its size.
        let got = unsafe { libc::read(self.fd.as_raw_fd(), (&raw mut info).cast(), size) };
        (got == size as isize).then_some(info.ssi_signo as i32)
    }
}

impl AsRawFd for Signals {
    fn as_raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}

/// Descriptors to wait for.
#[derive(Debug)]
pub struct PollSet {
    entries: Vec<libc::pollfd>,
    /// Entries that also wait for room to send.
    for_room: usize,
}

impl PollSet {
    /// Waits for any of `fds` to be readable.
    pub fn of(fds: impl IntoIterator<Item = RawFd>) -> Self {
        Self {
            entries: fds
                .into_iter()
                .map(|fd| libc::pollfd {
                    fd,
                    events: libc::POLLIN,
                    revents: 0,
                })
                .collect(),
            for_room: 0,
        }
    }

    /// Waits for at most `timeout` nanoseconds; `None` is for ever.
    pub fn wait(&mut self, timeout: Option<u64>) {
        let time = timeout.map(|ns| libc::timespec {
            tv_sec: (ns / 1_000_000_000) as _,
            tv_nsec: (ns % 1_000_000_000) as _,
        });
        let pointer = time.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: the entries and their number; the timespec lives through the call.
        let status = unsafe {
            libc::ppoll(
                self.entries.as_mut_ptr(),
                self.entries.len() as libc::nfds_t,
                pointer,
                std::ptr::null(),
            )
        };
        if status <= 0 {
            // Time is up, or a signal: nothing is known to be readable.
            for entry in &mut self.entries {
                entry.revents = 0;
            }
        }
    }

    /// Whether descriptor `n` has something (or an error) to read.
    pub fn is_ready(&self, n: usize) -> bool {
        self.entries[n].revents != 0
    }
}

impl<P: AsRawFd> Poll<P> for PollSet {
    fn new<'p>(ports: impl Iterator<Item = &'p P>, waker: Option<&Waker>) -> Self
    where
        P: 'p,
    {
        Self::of(ports.map(P::as_raw_fd).chain(waker.map(Waker::as_raw_fd)))
    }

    fn wait(&mut self, timeout: Option<u64>) {
        PollSet::wait(self, timeout);
    }

    fn is_ready(&self, n: usize) -> bool {
        PollSet::is_ready(self, n)
    }

    fn want_room(&mut self, n: usize, wanted: bool) {
        let events = libc::POLLIN | if wanted { libc::POLLOUT } else { 0 };
        let before = std::mem::replace(&mut self.entries[n].events, events);
        self.for_room -= usize::from(before & libc::POLLOUT != 0);
        self.for_room += usize::from(wanted);
    }

    fn wants_room(&self) -> bool {
        self.for_room > 0
    }

    fn replace(&mut self, n: usize, port: &P) {
        self.entries[n].fd = port.as_raw_fd();
        self.entries[n].revents = 0;
    }

    fn ignore(&mut self, n: usize) {
        self.entries[n].fd = -1;
        self.entries[n].revents = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_waker_ends_a_wait_until_it_is_reset() {
        let waker = Waker::new().unwrap();
        let mut set = PollSet::of([waker.as_raw_fd()]);
        set.wait(Some(0));
        assert!(!set.is_ready(0));
        waker.clone().wake();
        set.wait(None);
        assert!(set.is_ready(0));
        waker.reset();
        set.wait(Some(0));
        assert!(!set.is_ready(0));
    }
}
