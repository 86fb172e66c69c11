// SPDX-License-Identifier: Apache-2.0
//! Asks the kernel about a network interface: its index, MTU and offloads.

use std::ffi::CString;
use std::io;
use std::os::fd::RawFd;

const SIOCETHTOOL: libc::c_ulong = 0x8946;

/// `ethtool` settings that make frames on a veth differ from frames on a wire:
/// command of the ioctl that gets it, name for `ethtool -K`.
const OFFLOADS: [(u32, &str); 4] = [
    (0x0000_001e, "tso"), // ETHTOOL_GTSO
    (0x0000_0023, "gso"), // ETHTOOL_GGSO
    (0x0000_002b, "gro"), // ETHTOOL_GGRO
    (0x0000_0016, "tx"),  // ETHTOOL_GTXCSUM
];

const ETHTOOL_GFLAGS: u32 = 0x0000_0025;
/// From a command that gets a value to the one that sets it.
const SET: u32 = 1;
/// Bits of ETHTOOL_GFLAGS.
const FLAGS: [(u32, &str); 3] = [(1 << 15, "lro"), (1 << 7, "txvlan"), (1 << 8, "rxvlan")];

#[repr(C)]
struct EthtoolValue {
    command: u32,
    data: u32,
}

/// An interface that exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// The kernel's index.
    pub index: i32,
}

impl Interface {
    /// Finds an interface in this network namespace.
    ///
    /// # Errors
    /// There is none of that name.
    pub fn find(name: &str) -> io::Result<Self> {
        let c_name = CString::new(name).map_err(|_| io::ErrorKind::InvalidInput)?;
        // SAFETY: a NUL-terminated string that lives through the call.
        let index = unsafe { libc::if_nametoindex(c_name.as_ptr()) };
        if index == 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Self {
            name: name.to_owned(),
            index: index as i32,
        })
    }

    fn request(&self) -> libc::ifreq {
        // SAFETY: ifreq is plain data, for which zeros are valid.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        for (to, from) in request.ifr_name.iter_mut().zip(self.name.bytes().take(15)) {
            *to = from as libc::c_char;
        }
        request
    }

    /// The MTU in bytes, without the Ethernet header.
    pub fn mtu(&self, socket: RawFd) -> io::Result<u32> {
        let mut request = self.request();
        // SAFETY: SIOCGIFMTU fills the ifreq that it is given.
        let status = unsafe { libc::ioctl(socket, libc::SIOCGIFMTU as _, &mut request) };
        if status < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: SIOCGIFMTU has written this member.
        Ok(unsafe { request.ifr_ifru.ifru_mtu } as u32)
    }

    fn flags(&self, socket: RawFd) -> io::Result<i32> {
        let mut request = self.request();
        // SAFETY: SIOCGIFFLAGS fills the ifreq that it is given.
        let status = unsafe { libc::ioctl(socket, libc::SIOCGIFFLAGS as _, &mut request) };
        if status < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: SIOCGIFFLAGS has written this member.
        Ok(i32::from(unsafe { request.ifr_ifru.ifru_flags }))
    }

    /// True when the interface is administratively up.
    pub fn is_up(&self, socket: RawFd) -> io::Result<bool> {
        Ok(self.flags(socket)? & libc::IFF_UP != 0)
    }

    /// True when the interface is up and has a carrier.
    pub fn is_running(&self, socket: RawFd) -> io::Result<bool> {
        let both = libc::IFF_UP | libc::IFF_RUNNING;
        Ok(self.flags(socket)? & both == both)
    }

    fn ethtool(&self, socket: RawFd, command: u32, data: u32) -> Option<u32> {
        let mut value = EthtoolValue { command, data };
        let mut request = self.request();
        request.ifr_ifru.ifru_data = (&raw mut value).cast();
        // SAFETY: these commands read and write one ethtool_value, which
        // ifru_data points to and which outlives the call.
        let status = unsafe { libc::ioctl(socket, SIOCETHTOOL as _, &mut request) };
        (status == 0).then_some(value.data)
    }

    /// The offloads that are on, by their names for `ethtool -K`. What the
    /// driver does not know counts as off.
    pub fn offloads(&self, socket: RawFd) -> Vec<&'static str> {
        let mut on: Vec<&str> = OFFLOADS
            .iter()
            .filter(|(command, _)| self.ethtool(socket, *command, 0).unwrap_or(0) != 0)
            .map(|&(_, name)| name)
            .collect();
        let flags = self.ethtool(socket, ETHTOOL_GFLAGS, 0).unwrap_or(0);
        on.extend(
            FLAGS
                .iter()
                .filter(|(bit, _)| flags & bit != 0)
                .map(|&(_, name)| name),
        );
        on
    }

    /// Switches offloads off, by their names for `ethtool -K`, as far as the
    /// driver lets them be; [`Self::offloads`] tells what is left.
    pub fn switch_off(&self, socket: RawFd, offloads: &[&str]) {
        for (command, _) in OFFLOADS.iter().filter(|(_, name)| offloads.contains(name)) {
            self.ethtool(socket, command + SET, 0);
        }
        let bits = FLAGS.iter().filter(|(_, name)| offloads.contains(name));
        let off = bits.fold(0, |off, (bit, _)| off | bit);
        if off != 0 {
            let flags = self.ethtool(socket, ETHTOOL_GFLAGS, 0).unwrap_or(0);
            self.ethtool(socket, ETHTOOL_GFLAGS + SET, flags & !off);
        }
    }
}

/// The command that switches `offloads` off.
pub fn mend_command(interface: &str, offloads: &[&str]) -> String {
    let settings: Vec<String> = offloads.iter().map(|name| format!("{name} off")).collect();
    format!("ethtool -K {interface} {}", settings.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_the_command() {
        assert_eq!(
            mend_command("veth0", &["tso", "tx"]),
            "ethtool -K veth0 tso off tx off"
        );
    }

    #[test]
    fn loopback_is_there_and_nonsense_is_not() {
        assert!(Interface::find("lo").unwrap().index > 0);
        assert!(Interface::find("dsw-none").is_err());
        assert!(Interface::find("nul\0").is_err());
    }
}
