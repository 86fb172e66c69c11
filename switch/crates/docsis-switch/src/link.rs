// SPDX-License-Identifier: Apache-2.0
//! Interfaces that go down, vanish and come back while the switch runs.

use crate::control::{Command, Control};
use crate::interface::Interface;
use crate::ports::{self, Opening};
use std::fmt::Display;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use tracing::{info, warn};

/// A port's interface, as it was seen last.
#[derive(Debug)]
struct Watched {
    name: String,
    device_id: u64,
    number: u16,
    /// Index of the port among its device's.
    port: usize,
    control: Control,
    /// Whether there is an interface of that name.
    exists: bool,
    up: bool,
    /// The interface that the port's socket is bound to.
    bound: i32,
    /// Whether an interface that came back could not be opened, which may be so for a while only.
    closed: bool,
}

/// Tells the devices' threads how their interfaces are.
#[derive(Debug)]
pub struct LinkMonitor {
    netlink: OwnedFd,
    how: Opening,
    watched: Vec<Watched>,
}

impl LinkMonitor {
    /// Listens for changes from now on, in this network namespace. Interfaces
    /// that come back are opened as at first.
    ///
    /// # Errors
    /// The kernel has no rtnetlink.
    pub fn open(how: Opening) -> io::Result<Self> {
        // SAFETY: no pointers; the new descriptor is owned here alone.
        let netlink = unsafe {
            let fd = libc::socket(
                libc::AF_NETLINK,
                libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK,
                libc::NETLINK_ROUTE,
            );
            if fd < 0 {
                return Err(io::Error::last_os_error());
            }
            OwnedFd::from_raw_fd(fd)
        };
        // SAFETY: plain data, for which zeros are valid.
        let mut address: libc::sockaddr_nl = unsafe { std::mem::zeroed() };
        address.nl_family = libc::AF_NETLINK as u16;
        address.nl_groups = libc::RTMGRP_LINK as u32;
        // SAFETY: a sockaddr_nl and its size.
        let status = unsafe {
            libc::bind(
                netlink.as_raw_fd(),
                (&raw const address).cast(),
                size_of::<libc::sockaddr_nl>() as libc::socklen_t,
            )
        };
        if status < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Self {
            netlink,
            how,
            watched: Vec::new(),
        })
    }

    /// Watches the interface of a device's port, whose socket is open.
    pub fn watch(
        &mut self,
        device_id: u64,
        number: u16,
        name: &str,
        port: usize,
        control: Control,
    ) {
        let index = Interface::find(name).ok().map(|found| found.index);
        self.watched.push(Watched {
            name: name.to_owned(),
            device_id,
            number,
            port,
            control,
            exists: true,
            up: true,
            bound: index.unwrap_or(-1),
            closed: false,
        });
    }

    /// Looks at every interface after [`Self::as_raw_fd`] became readable, and
    /// once at the start. True where one could not be opened: look again in a while.
    pub fn check(&mut self) -> bool {
        self.discard();
        let fd = self.netlink.as_raw_fd();
        for watched in &mut self.watched {
            watched.check(fd, self.how);
        }
        self.watched.iter().any(|watched| watched.closed)
    }

    /// Reads and drops all messages. They only tell that something has changed; what has changed is
    /// asked of the kernel itself, because some messages may have been lost.
    fn discard(&self) {
        let mut buffer = [0u8; 4096];
        loop {
            // SAFETY: the buffer and its size.
            let got = unsafe {
                libc::recv(
                    self.netlink.as_raw_fd(),
                    buffer.as_mut_ptr().cast(),
                    buffer.len(),
                    libc::MSG_DONTWAIT,
                )
            };
            let lost = || io::Error::last_os_error().raw_os_error() == Some(libc::ENOBUFS);
            if got <= 0 && !lost() {
                break;
            }
        }
    }
}

impl AsRawFd for LinkMonitor {
    fn as_raw_fd(&self) -> RawFd {
        self.netlink.as_raw_fd()
    }
}

impl Watched {
    fn check(&mut self, fd: RawFd, how: Opening) {
        let was_closed = std::mem::take(&mut self.closed);
        let found = match Interface::find(&self.name) {
            Ok(interface) => Some(interface),
            Err(error) if error.raw_os_error() == Some(libc::ENODEV) => None,
            Err(error) => {
                // Nothing is known of it, so its port stays as it is.
                self.cannot_reach(&error, was_closed);
                return;
            }
        };
        let running = found
            .as_ref()
            .is_some_and(|interface| interface.is_running(fd).unwrap_or(false));
        let vanished = self.exists && found.is_none();
        self.exists = found.is_some();
        if vanished {
            warn!(
                "{}: the interface has vanished; the next of that name will be used",
                self.place()
            );
        }
        let mut link = None;
        if let Some(interface) = found.filter(|interface| running && interface.index != self.bound)
        {
            // The interface is opened as at the start, with the same warnings.
            match ports::open(&self.name, how) {
                Ok(opened) => {
                    self.bound = interface.index;
                    link = Some(opened);
                }
                Err(error) => self.cannot_reach(&error, was_closed),
            }
        }
        let up = running && !self.closed;
        let port = self.port;
        if up && (!self.up || link.is_some()) {
            self.up = true;
            info!("{}: the interface is up", self.place());
            self.control.send(Command::LinkUp { port, link });
        } else if !up && self.up {
            self.up = false;
            if !vanished && !self.closed {
                warn!("{}: the interface is down", self.place());
            }
            self.control.send(Command::LinkDown { port });
        }
    }

    /// The interface is there and cannot be reached, which may be so for a while only; said once.
    fn cannot_reach(&mut self, why: &dyn Display, was_closed: bool) {
        self.closed = true;
        if !was_closed {
            warn!("{}: {why}; it is tried again", self.place());
        }
    }

    fn place(&self) -> String {
        format!(
            "port {} of device {} ({})",
            self.number, self.device_id, self.name
        )
    }
}
