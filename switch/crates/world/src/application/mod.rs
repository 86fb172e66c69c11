// SPDX-License-Identifier: Apache-2.0
//! Applications: what hosts send each other, and what is recorded of it.

mod delay;
mod pages;
mod probes;
mod request_response;
mod tcp;
mod udp_stream;
mod video;

use crate::frame::{Frame, frame_length};
use crate::host::{Endpoint, Host, Role};
use crate::lateness::Lateness;
use crate::net::Net;
use crate::random::Random;
use crate::records::PacketRecords;
use crate::samples::{Reading, Samples};
use crate::wire::{Addresses, FlowKey};

pub use delay::Delay;
pub use pages::{Content, MOST_VARIATION, Named, Pages, PagesConfig, Server, Timed};
pub use probes::{Probes, ProbesConfig};
pub use request_response::{RequestResponse, RequestResponseConfig};
pub use tcp::{
    CONNECTIONS, Messages, PORTS_BETWEEN, Plan, Requests, Tcp, TransferInfo, Transfers, Turns,
};
pub use udp_stream::{Timetable, UdpStream, UdpStreamConfig};
pub use video::{PlayerConfig, Video, VideoColumns, VideoConfig};

/// IPv4 packets that are shorter are not recorded: handshakes and acknowledgements.
const SHORTEST_RECORDED: usize = 100;

/// Whether a frame of so many bytes, without its CRC, is a handshake or an acknowledgement.
fn is_short(bytes: usize) -> bool {
    bytes < SHORTEST_RECORDED + crate::wire::ETHERNET
}

/// What an application's packets came to, from its source to its destination.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Frames sent.
    pub sent_frames: u64,
    /// Their bytes to the end of the CRC.
    pub sent_bytes: u64,
    /// Frames received.
    pub received_frames: u64,
    /// Their bytes to the end of the CRC.
    pub received_bytes: u64,
    /// Payload that the receiving application got.
    pub payload: u64,
}

/// The application's traffic.
#[derive(Debug)]
pub enum Kind {
    /// UDP that comes back.
    Probes(Probes),
    /// UDP requests, each after the reply to the one before.
    RequestResponse(RequestResponse),
    /// UDP that does not come back.
    UdpStream(UdpStream),
    /// TCP.
    Tcp(Box<Tcp>),
    /// Pages over TCP.
    Pages(Box<Pages>),
    /// An adaptive video over TCP.
    Video(Box<Video>),
}

/// What every application has, whatever its traffic is.
#[derive(Debug)]
pub struct Common {
    /// Its number.
    pub number: u32,
    /// The host that sends, by its index.
    pub source: u32,
    /// The host that receives.
    pub destination: u32,
    /// The addresses of packets from source to destination.
    pub forward: Addresses,
    /// The timer's source of events.
    pub timer: u32,
    /// How late the application runs after its timer.
    pub lateness: Lateness,
    /// For all that it draws.
    pub random: Random,
    /// Packets from source to destination.
    pub counts: Counts,
    /// The same, one by one.
    pub records: Option<PacketRecords>,
    /// Pure acknowledgements and handshakes of the end that gets the data, and which end that is.
    pub acknowledgements: Option<(Role, PacketRecords)>,
    /// What the destination sends is so much longer on its way than its link says.
    pub delay: Option<Box<Delay>>,
    /// The next IPv4 identification, by role.
    identifications: [u16; 2],
}

impl Common {
    /// Makes the common part of an application without traffic yet.
    #[must_use]
    pub fn new(
        number: u32,
        hosts: [u32; 2],
        forward: Addresses,
        timer: u32,
        lateness: Lateness,
        mut random: Random,
        one_in: u16,
    ) -> Self {
        let identifications = [random.bits() as u16, random.bits() as u16];
        Self {
            number,
            source: hosts[0],
            destination: hosts[1],
            forward,
            timer,
            lateness,
            random,
            counts: Counts::default(),
            records: (one_in > 0).then(|| PacketRecords::new(one_in)),
            acknowledgements: None,
            delay: None,
            identifications,
        }
    }

    /// The next packet's identification.
    pub fn identification(&mut self, role: Role) -> u16 {
        let next = &mut self.identifications[role as usize];
        *next = next.wrapping_add(1);
        *next
    }

    /// Addresses of packets that one end sends.
    #[must_use]
    pub fn addresses(&self, role: Role) -> Addresses {
        Self::of(&self.forward, role)
    }

    /// Addresses of packets that one end sends, given the client's.
    #[must_use]
    pub fn of(forward: &Addresses, role: Role) -> Addresses {
        match role {
            Role::Client => *forward,
            Role::Server => forward.reversed(),
        }
    }

    /// An end sends a packet now.
    pub fn send(&mut self, net: &mut Net, hosts: &mut [Host], role: Role, id: u16, frame: Frame) {
        let host = match role {
            Role::Client => self.source,
            Role::Server => self.destination,
        };
        self.send_from(net, hosts, (role, host), id, frame);
    }

    /// An end, which is at a host, sends a packet now.
    pub fn send_from(
        &mut self,
        net: &mut Net,
        hosts: &mut [Host],
        (role, host): (Role, u32),
        id: u16,
        frame: Frame,
    ) {
        if role == Role::Client {
            self.counts.sent_frames += 1;
            self.counts.sent_bytes += frame_length(frame.bytes.len()) as u64;
            if let Some(records) = &mut self.records
                && !is_short(frame.bytes.len())
            {
                records.sent(net, id);
            }
        }
        if let Some((from, records)) = &mut self.acknowledgements
            && *from == role
            && is_short(frame.bytes.len())
        {
            records.sent(net, id);
        }
        match &mut self.delay {
            Some(delay) if role == Role::Server => {
                if let Some(due) = delay.put(net, host, frame) {
                    net.schedule.set_earlier(self.timer, due);
                }
            }
            _ => hosts[host as usize].send(net, frame),
        }
    }

    /// A packet reaches an end's interface now.
    pub fn arrived(&mut self, now: u64, role: Role, id: u16, length: usize) {
        if role == Role::Server {
            self.counts.received_frames += 1;
            self.counts.received_bytes += frame_length(length) as u64;
            if let Some(records) = &mut self.records {
                records.received(now, id);
            }
        }
        if let Some((from, records)) = &mut self.acknowledgements
            && *from != role
            && is_short(length)
        {
            records.received(now, id);
        }
    }

    /// The timer is set to what is due next; the application is late for it.
    pub fn set_timer(&mut self, net: &mut Net, due: Option<u64>) {
        let lateness = self.lateness.draw(&mut self.random);
        let time = due.map(|due| due.max(net.now) + lateness);
        net.schedule.set(self.timer, time);
    }

    /// Both ends get what is for these addresses.
    pub fn open(&self, hosts: &mut [Host]) {
        for (role, host) in [
            (Role::Client, self.source),
            (Role::Server, self.destination),
        ] {
            let endpoint = Endpoint {
                application: self.number,
                role,
            };
            hosts[host as usize].open(self.key(role), endpoint);
        }
    }

    /// How an end's host knows its packets.
    #[must_use]
    pub fn key(&self, role: Role) -> FlowKey {
        Self::key_of(&self.forward, role)
    }

    /// The same, given the client's addresses.
    #[must_use]
    pub fn key_of(forward: &Addresses, role: Role) -> FlowKey {
        let own = Self::of(forward, role);
        FlowKey {
            local_port: own.source_port,
            remote_port: own.destination_port,
            remote: own.destination,
            protocol: own.protocol,
        }
    }
}

/// An application.
#[derive(Debug)]
pub struct Application {
    /// What every one has.
    pub common: Common,
    /// Its traffic.
    pub kind: Kind,
    /// What is sampled of it.
    pub samples: Option<Samples>,
}

impl Application {
    /// Its timer is set for the first time.
    pub fn begin(&mut self, net: &mut Net) {
        let due = match &self.kind {
            Kind::Probes(probes) => probes.due(),
            Kind::RequestResponse(requests) => requests.due(),
            Kind::UdpStream(stream) => stream.due(),
            Kind::Tcp(tcp) => tcp.due(),
            Kind::Pages(pages) => pages.due(),
            Kind::Video(video) => video.due(),
        };
        self.set_timer(net, due);
    }

    fn set_timer(&mut self, net: &mut Net, due: Option<u64>) {
        match &self.kind {
            // TCP is the kernel's, which is not late; the application's part knows itself.
            Kind::Tcp(_) | Kind::Pages(_) | Kind::Video(_) => {
                let delayed = self.common.delay.as_ref().and_then(|delay| delay.due());
                let due = due.into_iter().chain(delayed).min();
                let time = due.map(|due| due.max(net.now));
                net.schedule.set(self.common.timer, time);
            }
            _ => self.common.set_timer(net, due),
        }
    }

    /// Asks for the memory of one of its ends, which will get a packet.
    #[inline]
    pub fn fetch(&self, role: Role) {
        if let Kind::Tcp(tcp) = &self.kind {
            tcp.fetch(role);
        }
    }

    /// Its timer has come, or something earlier than that.
    pub fn on_timer(&mut self, net: &mut Net, hosts: &mut [Host]) {
        let common = &mut self.common;
        if let Some(delay) = &mut common.delay {
            delay.release(net, hosts);
        }
        let due = match &mut self.kind {
            Kind::Probes(probes) => probes.on_timer(common, net, hosts),
            Kind::RequestResponse(requests) => requests.on_timer(common, net, hosts),
            Kind::UdpStream(stream) => stream.on_timer(common, net, hosts),
            Kind::Tcp(tcp) => tcp.on_timer(common, net, hosts),
            Kind::Pages(pages) => pages.on_timer(common, net, hosts),
            Kind::Video(video) => video.on_timer(common, net, hosts),
        };
        self.set_timer(net, due);
    }

    /// A packet with right checksums is handed to one of its ends. False where what it
    /// carries makes no sense.
    pub fn receive(
        &mut self,
        net: &mut Net,
        hosts: &mut [Host],
        (role, addresses): (Role, &Addresses),
        content: &[u8],
    ) -> bool {
        let common = &mut self.common;
        match &mut self.kind {
            Kind::Probes(probes) => {
                probes.receive(common, net, hosts, role, content);
                true
            }
            Kind::RequestResponse(requests) => {
                if requests.receive(common, net, hosts, role, content) {
                    common.set_timer(net, requests.due());
                }
                true
            }
            Kind::UdpStream(_) => {
                common.counts.payload += content.len() as u64;
                true
            }
            Kind::Tcp(tcp) => {
                let understood = tcp.receive(common, net, hosts, (role, addresses), content);
                // A timer that comes too early costs less than one that moves with every
                // segment.
                if let Some(due) = tcp.due_at(role) {
                    net.schedule.set_earlier(common.timer, due.max(net.now));
                }
                understood
            }
            Kind::Pages(pages) => {
                let from = (role, addresses);
                let (understood, due) = pages.receive(common, net, hosts, from, content);
                if let Some(due) = due {
                    net.schedule.set_earlier(common.timer, due.max(net.now));
                }
                understood
            }
            Kind::Video(video) => {
                let from = (role, addresses);
                let (understood, due) = video.receive(common, net, hosts, from, content);
                if let Some(due) = due {
                    net.schedule.set_earlier(common.timer, due.max(net.now));
                }
                understood
            }
        }
    }

    /// What is sampled, now.
    #[must_use]
    pub fn reading(&self) -> Reading {
        Reading {
            received: self.common.counts.payload,
            sender: match &self.kind {
                Kind::Tcp(tcp) => Some(tcp.info().sender),
                _ => None,
            },
        }
    }
}
