// SPDX-License-Identifier: Apache-2.0
//! Both ends of a TCP connection, and their segments as frames.

use tcp::{Config, Connection, Role as Opens, Segment, State};

use crate::application::Common;
use crate::frame::Frame;
use crate::host::{Endpoint, Host, Role};
use crate::net::Net;
use crate::wire::{Addresses, ETHERNET, FlowKey, IPV4};

/// Where a TCP header has its checksum.
const CHECKSUM: std::ops::Range<usize> = 16..18;

/// A connection from an application's source to its destination.
#[derive(Debug)]
pub struct Pair {
    /// The addresses of segments from the client.
    pub addresses: Addresses,
    /// The client's host and the server's, by their indexes.
    pub hosts: [u32; 2],
    /// Who opened it.
    pub client: Connection,
    /// Who answers.
    pub server: Connection,
}

impl Pair {
    /// The client sets out to connect, and the server listens; nothing is sent yet.
    #[must_use]
    pub fn begin(
        config: &Config,
        addresses: Addresses,
        server_host: u32,
        common: &mut Common,
        now: u64,
    ) -> Self {
        let mut open = |port, peer_port, role| {
            let config = Config {
                port,
                peer_port,
                ..config.clone()
            };
            let iss = common.random.bits() as u32;
            Connection::open(config, role, iss, now)
        };
        let (own, other) = (addresses.source_port, addresses.destination_port);
        Self {
            client: open(own, other, Opens::Active),
            server: open(other, own, Opens::Passive),
            hosts: [common.source, server_host],
            addresses,
        }
    }

    /// Timers that have come.
    pub fn fire(&mut self, common: &mut Common, net: &mut Net, hosts: &mut [Host]) {
        for role in [Role::Client, Role::Server] {
            let end = self.end(role);
            if end.next_timer().is_some_and(|at| at <= net.now) {
                end.on_timer(net.now);
                self.flush(role, common, net, hosts);
            }
        }
    }

    /// One of the ends.
    pub fn end(&mut self, role: Role) -> &mut Connection {
        match role {
            Role::Client => &mut self.client,
            Role::Server => &mut self.server,
        }
    }

    /// How an end's host knows its segments.
    #[must_use]
    pub fn key(&self, role: Role) -> FlowKey {
        Common::key_of(&self.addresses, role)
    }

    /// When one of the ends next has something to do by itself.
    #[must_use]
    pub fn timer_at(&self, role: Role) -> Option<u64> {
        match role {
            Role::Client => self.client.next_timer(),
            Role::Server => self.server.next_timer(),
        }
    }

    /// When an end next has something to do by itself.
    #[must_use]
    pub fn next_timer(&self) -> Option<u64> {
        let ends = [self.client.next_timer(), self.server.next_timer()];
        ends.into_iter().flatten().min()
    }

    /// Whether nothing more comes of it. Who still waits for a connection that the other
    /// one has given up waits for ever.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.client.is_closed() && (self.server.is_closed() || self.server.state() == State::Listen)
    }

    /// Sends all that an end has to send now.
    pub fn flush(&mut self, role: Role, common: &mut Common, net: &mut Net, hosts: &mut [Host]) {
        while let Some(segment) = self.end(role).next_segment(net.now) {
            let id = common.identification(role);
            let frame = write(net, &segment, &Common::of(&self.addresses, role), id);
            let host = self.hosts[role as usize];
            common.send_from(net, hosts, (role, host), id, frame);
        }
    }

    /// The hosts know whose segments these are.
    pub fn open(&self, application: u32, hosts: &mut [Host]) {
        for role in [Role::Client, Role::Server] {
            let host = &mut hosts[self.hosts[role as usize] as usize];
            host.open(self.key(role), Endpoint { application, role });
        }
    }

    /// The hosts forget the connection.
    pub fn close(&self, hosts: &mut [Host]) {
        for role in [Role::Client, Role::Server] {
            hosts[self.hosts[role as usize] as usize].close(&self.key(role));
        }
    }
}

/// A segment with its headers; its data are zeros.
fn write(net: &mut Net, segment: &Segment, addresses: &Addresses, id: u16) -> Frame {
    let length = segment.header_length() + segment.payload as usize;
    let mut frame = net.blank(ETHERNET + IPV4 + length);
    addresses.begin(id, &mut frame);
    let content = &mut frame[ETHERNET + IPV4..];
    let header = segment.encode(content);
    let (from, to) = (addresses.source, addresses.destination);
    let pseudo = tcp::pseudo_header_sum(from, to, length as u16);
    let sum = tcp::checksum(pseudo, &content[..header]);
    content[CHECKSUM].copy_from_slice(&sum.to_be_bytes());
    Net::frame_of(frame, ETHERNET + IPV4 + header)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{PROTOCOL_TCP, Packet, parse};
    use tcp::Flags;

    #[test]
    fn a_segment_is_read_as_it_was_written() {
        let segment = Segment {
            source_port: 20_001,
            destination_port: 5201,
            seq: 7,
            ack: 9,
            flags: Flags::ACK,
            window: 500,
            timestamps: Some(tcp::Timestamps { value: 1, echo: 2 }),
            payload: 1448,
            ..Segment::default()
        };
        let addresses = Addresses {
            source_mac: [2, 0, 0, 0, 1, 1],
            destination_mac: [2, 0, 0, 0, 2, 1],
            source: [10, 0, 0, 11],
            destination: [10, 0, 0, 101],
            source_port: 20_001,
            destination_port: 5201,
            protocol: PROTOCOL_TCP,
            tos: 0,
        };
        let frame = write(&mut Net::default(), &segment, &addresses, 3).bytes;
        assert_eq!(frame.len(), 1514);
        let Packet::Transport {
            addresses: found,
            content,
        } = parse(&frame, frame.len())
        else {
            panic!("{:?}", parse(&frame, frame.len()));
        };
        assert_eq!(found, addresses);
        assert_eq!(Segment::decode(content, content.len()), Ok(segment));
    }
}
