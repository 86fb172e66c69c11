// SPDX-License-Identifier: Apache-2.0
//! AF_PACKET sockets: whole Ethernet frames in and out, in batches.

use crate::interface::Interface;
use crate::port::{BATCH, Inbox, LONGEST_FRAME, Port, Received};
use std::fmt;
use std::io;
use std::mem::{size_of, zeroed};
use std::ops::Range;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// Room in front of a received frame for the VLAN tag that the kernel took out.
const HEADROOM: usize = 4;
/// Not a multiple of 4096: the first lines of all buffers would compete for
/// the same cache sets.
const SLOT: usize = HEADROOM + LONGEST_FRAME + 60;
/// Room for one PACKET_AUXDATA and one time stamp, in units of their alignment.
const CONTROL: usize = 12;
/// Kernel buffer of a socket at the least, bytes.
const SOCKET_BUFFER: u64 = 32 << 20;
/// What is taken for the line rate of an interface, bit/s: a veth pair has none.
const LINE_RATE: u64 = 10_000_000_000;

const PACKET_IGNORE_OUTGOING: i32 = 23;
const TP_STATUS_CSUMNOTREADY: u32 = 1 << 3;
const TP_STATUS_VLAN_VALID: u32 = 1 << 4;
const TP_STATUS_VLAN_TPID_VALID: u32 = 1 << 6;
const ETHERTYPE_VLAN: u16 = 0x8100;

/// Kernel buffer for what comes at line rate in `lateness` ns, bytes. The kernel doubles
/// it and charges some 1.6 times of a long frame's bytes, so it holds them with room to spare.
fn receive_buffer(lateness: u64) -> i32 {
    let bytes = u128::from(LINE_RATE / 8) * u128::from(lateness) / 1_000_000_000;
    let bytes = u64::try_from(bytes).unwrap_or(u64::MAX).max(SOCKET_BUFFER);
    i32::try_from(bytes).unwrap_or(i32::MAX / 2)
}

/// A socket that is the wire of one interface.
#[derive(Debug)]
pub struct PacketSocket {
    fd: OwnedFd,
    headers: SendHeaders,
}

fn check(status: libc::c_int) -> io::Result<libc::c_int> {
    if status < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(status)
    }
}

impl PacketSocket {
    fn set<T>(&self, level: i32, option: i32, value: &T) -> io::Result<()> {
        // SAFETY: the option's value is `T`, alive through the call, and its
        // size is passed with it.
        let status = unsafe {
            libc::setsockopt(
                self.fd.as_raw_fd(),
                level,
                option,
                std::ptr::from_ref(value).cast(),
                size_of::<T>() as libc::socklen_t,
            )
        };
        check(status).map(|_| ())
    }

    /// Opens an interface: promiscuous, without its own frames. Its buffer holds what
    /// comes at line rate while nobody receives for `lateness` ns. What it sends goes
    /// through the interface's qdisc, which costs nothing measurable where there is none:
    /// so what `tc` or Mininet's `bw` set on a link holds, and tcpdump sees the frames.
    ///
    /// # Errors
    /// No permission (CAP_NET_RAW and CAP_NET_ADMIN), or the interface is gone.
    pub fn open(interface: &Interface, lateness: u64) -> io::Result<Self> {
        // Protocol 0 receives nothing until bind has said from where.
        // SAFETY: no pointers.
        let fd = check(unsafe {
            libc::socket(
                libc::AF_PACKET,
                libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK,
                0,
            )
        })?;
        let socket = Self {
            // SAFETY: a new descriptor that nobody else owns.
            fd: unsafe { OwnedFd::from_raw_fd(fd) },
            headers: SendHeaders::default(),
        };
        let on: i32 = 1;
        socket.set(libc::SOL_PACKET, PACKET_IGNORE_OUTGOING, &on)?;
        socket.set(libc::SOL_PACKET, libc::PACKET_AUXDATA, &on)?;
        socket.set(libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &on)?;
        let buffer = receive_buffer(lateness);
        socket.set(libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &buffer)?;

        // SAFETY: plain data, for which zeros are valid.
        let mut membership: libc::packet_mreq = unsafe { zeroed() };
        membership.mr_ifindex = interface.index;
        membership.mr_type = libc::PACKET_MR_PROMISC as u16;
        socket.set(libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &membership)?;

        // SAFETY: plain data, for which zeros are valid.
        let mut address: libc::sockaddr_ll = unsafe { zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
        address.sll_ifindex = interface.index;
        // SAFETY: a sockaddr_ll and its size.
        check(unsafe {
            libc::bind(
                fd,
                (&raw const address).cast(),
                size_of::<libc::sockaddr_ll>() as libc::socklen_t,
            )
        })?;
        Ok(socket)
    }

    /// Room for bursts, for who sends at rates of his own and does not wait for
    /// room. With the kernel's default a slow qdisc is noticed early.
    ///
    /// # Errors
    /// No permission (CAP_NET_ADMIN).
    pub fn enlarge_send_buffer(&self) -> io::Result<()> {
        let buffer = SOCKET_BUFFER as i32;
        self.set(libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, &buffer)
    }
}

impl Port for PacketSocket {
    type Inbox = ReceiveBatch;
    type Link = Self;

    fn receive(&mut self, inbox: &mut ReceiveBatch, slots: Range<usize>) -> io::Result<usize> {
        inbox.receive(self.fd.as_raw_fd(), slots)
    }

    fn send(&mut self, frames: &mut [Vec<u8>]) -> io::Result<usize> {
        self.headers.send(self.fd.as_raw_fd(), frames)
    }

    fn missed(&mut self) -> u64 {
        let mut statistics = [0u32; 2];
        let mut size = size_of_val(&statistics) as libc::socklen_t;
        // SAFETY: a tpacket_stats is two u32, packets and drops; the kernel
        // gets its size and sets both to 0.
        let status = unsafe {
            libc::getsockopt(
                self.fd.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                statistics.as_mut_ptr().cast(),
                &raw mut size,
            )
        };
        if status < 0 { 0 } else { statistics[1].into() }
    }

    fn attach(&mut self, link: Self) {
        *self = link;
    }
}

impl AsRawFd for PacketSocket {
    fn as_raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}

/// Buffers that the kernel receives into: slots of one frame each.
pub struct ReceiveBatch {
    buffers: Box<[u8]>,
    controls: Box<[[u64; CONTROL]]>,
    iovecs: Box<[libc::iovec]>,
    messages: Box<[libc::mmsghdr]>,
}

// SAFETY: the pointers within go to the boxes within, which move with it.
unsafe impl Send for ReceiveBatch {}

impl ReceiveBatch {
    fn receive(&mut self, fd: RawFd, slots: Range<usize>) -> io::Result<usize> {
        let messages = &mut self.messages[slots];
        for message in &mut *messages {
            message.msg_hdr.msg_controllen = size_of::<[u64; CONTROL]>() as _;
            message.msg_hdr.msg_flags = 0;
        }
        debug_assert_eq!(self.iovecs.len(), self.controls.len());
        // SAFETY: headers whose iovec, buffer and control area belong to this batch
        // and do not overlap.
        let count = unsafe {
            libc::recvmmsg(
                fd,
                messages.as_mut_ptr(),
                messages.len() as libc::c_uint,
                // TRUNC: msg_len is the length on the wire even if it did not fit.
                (libc::MSG_DONTWAIT | libc::MSG_TRUNC) as _,
                std::ptr::null_mut(),
            )
        };
        if count >= 0 {
            return Ok(count as usize);
        }
        let error = io::Error::last_os_error();
        match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(0),
            _ => Err(error),
        }
    }

    /// The content of the first control message of this kind.
    fn control<T>(header: &libc::msghdr, level: i32, kind: i32) -> Option<T> {
        // SAFETY: the kernel filled msg_control with whole control messages
        // and set msg_controllen; the macros check the length, and a message of
        // this level and kind holds a `T`.
        unsafe {
            let mut control = libc::CMSG_FIRSTHDR(header);
            while !control.is_null() {
                if (*control).cmsg_level == level && (*control).cmsg_type == kind {
                    return Some(std::ptr::read_unaligned(libc::CMSG_DATA(control).cast()));
                }
                control = libc::CMSG_NXTHDR(header, control);
            }
        }
        None
    }
}

impl Inbox for ReceiveBatch {
    /// Memory that no frame has reached is none.
    fn new(slots: usize) -> Self {
        let mut buffers = vec![0u8; SLOT * slots].into_boxed_slice();
        let mut controls = vec![[0u64; CONTROL]; slots].into_boxed_slice();
        let mut iovecs: Box<[libc::iovec]> = (0..slots)
            .map(|n| libc::iovec {
                iov_base: buffers[n * SLOT + HEADROOM..].as_mut_ptr().cast(),
                iov_len: LONGEST_FRAME,
            })
            .collect();
        let messages = (0..slots)
            .map(|n| {
                // SAFETY: plain data, for which zeros are valid.
                let mut message: libc::mmsghdr = unsafe { zeroed() };
                message.msg_hdr.msg_iov = &raw mut iovecs[n];
                message.msg_hdr.msg_iovlen = 1;
                message.msg_hdr.msg_control = controls[n].as_mut_ptr().cast();
                message
            })
            .collect();
        Self {
            buffers,
            controls,
            iovecs,
            messages,
        }
    }

    fn slots(&self) -> usize {
        self.messages.len()
    }

    /// When the kernel received the frame, nanoseconds since 1970.
    fn stamp(&self, n: usize) -> Option<u64> {
        let header = &self.messages[n].msg_hdr;
        let time: libc::timespec = Self::control(header, libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS)?;
        let seconds = u64::try_from(time.tv_sec).ok()?;
        Some(seconds * 1_000_000_000 + time.tv_nsec as u64)
    }

    fn frame(&mut self, n: usize) -> Received<'_> {
        let len = self.messages[n].msg_len as usize;
        if len > LONGEST_FRAME {
            return Received::TooLong(len);
        }
        let header = &self.messages[n].msg_hdr;
        let aux: Option<libc::tpacket_auxdata> =
            Self::control(header, libc::SOL_PACKET, libc::PACKET_AUXDATA);
        let slot = &mut self.buffers[n * SLOT..(n + 1) * SLOT];
        let status = aux.map_or(0, |aux| aux.tp_status);
        let checksum_missing = status & TP_STATUS_CSUMNOTREADY != 0;
        let mut start = HEADROOM;
        if let Some(aux) = aux
            && status & TP_STATUS_VLAN_VALID != 0
            && len >= 12
        {
            let tpid = if status & TP_STATUS_VLAN_TPID_VALID != 0 {
                aux.tp_vlan_tpid
            } else {
                ETHERTYPE_VLAN
            };
            put_tag_back(&mut slot[..HEADROOM + 12], tpid, aux.tp_vlan_tci);
            start = 0;
        }
        Received::Frame {
            bytes: &slot[start..HEADROOM + len],
            checksum_missing,
        }
    }
}

/// Moves the addresses to the front and puts the tag behind them.
fn put_tag_back(head: &mut [u8], tpid: u16, tci: u16) {
    head.copy_within(HEADROOM..HEADROOM + 12, 0);
    head[12..14].copy_from_slice(&tpid.to_be_bytes());
    head[14..16].copy_from_slice(&tci.to_be_bytes());
}

/// What the kernel is told of frames that go out with one system call.
struct SendHeaders {
    iovecs: Box<[libc::iovec]>,
    messages: Box<[libc::mmsghdr]>,
}

// SAFETY: the pointers within go to the boxes within, which move with it;
// those to frames are set before each use.
unsafe impl Send for SendHeaders {}

impl fmt::Debug for SendHeaders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SendHeaders").finish_non_exhaustive()
    }
}

impl Default for SendHeaders {
    fn default() -> Self {
        let mut iovecs = vec![
            libc::iovec {
                iov_base: std::ptr::null_mut(),
                iov_len: 0,
            };
            BATCH
        ]
        .into_boxed_slice();
        let messages = (0..BATCH)
            .map(|n| {
                // SAFETY: plain data, for which zeros are valid.
                let mut message: libc::mmsghdr = unsafe { zeroed() };
                message.msg_hdr.msg_iov = &raw mut iovecs[n];
                message.msg_hdr.msg_iovlen = 1;
                message
            })
            .collect();
        Self { iovecs, messages }
    }
}

impl SendHeaders {
    /// Sends the first of these frames, [`BATCH`] at most; how many the kernel took.
    fn send(&mut self, fd: RawFd, frames: &mut [Vec<u8>]) -> io::Result<usize> {
        let count = frames.len().min(BATCH);
        for (iovec, frame) in self.iovecs.iter_mut().zip(frames) {
            iovec.iov_base = frame.as_mut_ptr().cast();
            iovec.iov_len = frame.len();
        }
        // SAFETY: the first `count` headers, each with one iovec, a whole frame that is borrowed
        // through the call.
        let sent = unsafe {
            libc::sendmmsg(
                fd,
                self.messages.as_mut_ptr(),
                count as libc::c_uint,
                libc::MSG_DONTWAIT as _,
            )
        };
        if sent > 0 {
            Ok(sent as usize)
        } else {
            Err(io::Error::last_os_error())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tag_is_where_it_was() {
        let mut head = [0u8; 16];
        for (n, byte) in head[4..].iter_mut().enumerate() {
            *byte = n as u8;
        }
        put_tag_back(&mut head, 0x8100, 0x6005);
        assert_eq!(head[..12], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
        assert_eq!(head[12..], [0x81, 0x00, 0x60, 0x05]);
    }
}
