// SPDX-License-Identifier: Apache-2.0
//! Two connections, a link each way, and one queue of events.

use std::collections::BTreeMap;

use tcp::{Config, Connection, Flags, MAX_HEADER_LENGTH, Role, Segment};

pub const MS: u64 = 1_000_000;
pub const SECOND: u64 = 1_000 * MS;

/// The end that opens, and the one that waits.
pub const CLIENT: usize = 0;
pub const SERVER: usize = 1;

/// What a frame has besides TCP: Ethernet with its FCS, and IPv4.
const FRAMING: u64 = 18 + 20;

/// One way.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    /// Bits per second; 0 for no limit.
    pub rate: u64,
    pub delay: u64,
    /// The most bytes that wait.
    pub queue: u64,
    busy_until: u64,
}

impl Link {
    pub fn new(rate: u64, delay: u64, queue: u64) -> Link {
        Link {
            rate,
            delay,
            queue,
            busy_until: 0,
        }
    }

    /// When a frame arrives; None if the queue is full.
    fn carry(&mut self, now: u64, bytes: u64) -> Option<u64> {
        if self.rate == 0 {
            return Some(now + self.delay);
        }
        let start = self.busy_until.max(now);
        let waiting = (start - now) as u128 * u128::from(self.rate) / 8 / 1_000_000_000;
        if waiting as u64 + bytes > self.queue {
            return None;
        }
        self.busy_until = start + bytes * 8 * 1_000_000_000 / self.rate;
        Some(self.busy_until + self.delay)
    }
}

/// What happens to a segment before the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Pass,
    Drop,
    /// It takes so much longer.
    Late(u64),
    /// It arrives no earlier than then.
    Held(u64),
    /// A copy comes so much later.
    Twice(u64),
}

/// A segment that was sent.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    pub at: u64,
    pub from: usize,
    pub segment: Segment,
    pub dropped: bool,
}

type Judge = Box<dyn FnMut(&Sent) -> Fate>;

pub struct World {
    pub now: u64,
    pub ends: [Connection; 2],
    links: [Link; 2],
    events: BTreeMap<(u64, u64), (usize, Segment)>,
    next: u64,
    judge: Judge,
    pub sent: Vec<Sent>,
    /// What the link's own queue dropped.
    pub overflows: u64,
    /// The highest edge that each end was offered.
    edges: [Option<u32>; 2],
    shifts: [u8; 2],
}

impl World {
    pub fn new(client: Config, server: Config, link: Link) -> World {
        let ports = |config: Config, port, peer_port| Config {
            port,
            peer_port,
            ..config
        };
        // The client's numbers wrap around soon.
        World {
            now: 0,
            ends: [
                Connection::open(ports(client, 4000, 80), Role::Active, u32::MAX - 5000, 0),
                Connection::open(ports(server, 80, 0), Role::Passive, 1 << 31, 0),
            ],
            links: [link, Link::new(0, link.delay, 0)],
            events: BTreeMap::new(),
            next: 0,
            judge: Box::new(|_| Fate::Pass),
            sent: Vec::new(),
            overflows: 0,
            edges: [None; 2],
            shifts: [0; 2],
        }
    }

    /// Decides on every segment before it reaches the link.
    #[must_use]
    pub fn with(mut self, judge: impl FnMut(&Sent) -> Fate + 'static) -> World {
        self.judge = Box::new(judge);
        self
    }

    pub fn both(config: Config, link: Link) -> World {
        World::new(config.clone(), config, link)
    }

    /// Sends everything that the ends have.
    fn flush(&mut self) {
        for from in [CLIENT, SERVER] {
            while let Some(segment) = self.ends[from].next_segment(self.now) {
                self.transmit(from, segment);
                self.check(from);
            }
        }
    }

    fn check(&self, from: usize) {
        let info = self.ends[from].info();
        assert!(info.cwnd >= 1, "{info:?}");
        assert!(info.ssthresh >= 2, "{info:?}");
        assert!(info.sacked + info.lost <= info.outstanding, "{info:?}");
    }

    fn transmit(&mut self, from: usize, segment: Segment) {
        self.check_wire(from, &segment);
        let bytes = FRAMING + segment.header_length() as u64 + u64::from(segment.payload);
        let mut sent = Sent {
            at: self.now,
            from,
            segment,
            dropped: false,
        };
        let fate = (self.judge)(&sent);
        let arrival = if fate == Fate::Drop {
            None
        } else {
            let arrival = self.links[from].carry(self.now, bytes);
            self.overflows += u64::from(arrival.is_none());
            arrival
        };
        sent.dropped = arrival.is_none();
        self.sent.push(sent);
        let Some(at) = arrival else {
            return;
        };
        let arrival = match fate {
            Fate::Late(late) => at + late,
            Fate::Held(until) => at.max(until),
            _ => at,
        };
        self.post(arrival, from, segment);
        if let Fate::Twice(later) = fate {
            self.post(at + later, from, segment);
        }
    }

    fn post(&mut self, at: u64, from: usize, segment: Segment) {
        self.events.insert((at, self.next), (1 - from, segment));
        self.next += 1;
    }

    /// A segment is the same behind the wire, fits, and is in the window.
    fn check_wire(&self, from: usize, segment: &Segment) {
        let mut buffer = [0; MAX_HEADER_LENGTH];
        let length = segment.encode(&mut buffer);
        let total = length + segment.payload as usize;
        assert_eq!(Segment::decode(&buffer[..length], total), Ok(*segment));
        assert!(total <= 1480, "{segment:?}");
        if segment.payload > 0 {
            let end = segment.seq.wrapping_add(segment.payload);
            let edge = self.edges[from].expect("data before the handshake");
            assert!(edge.wrapping_sub(end) as i32 >= 0, "beyond the window");
        }
    }

    /// Notes what an end is offered.
    fn note_edge(&mut self, to: usize, segment: &Segment) {
        if segment.flags.has(Flags::SYN) {
            self.shifts[to] = segment.window_scale.unwrap_or(0);
        }
        if !segment.flags.has(Flags::ACK) {
            return;
        }
        let shift = if segment.flags.has(Flags::SYN) {
            0
        } else {
            self.shifts[to]
        };
        let edge = segment.ack.wrapping_add(u32::from(segment.window) << shift);
        let highest = self.edges[to].get_or_insert(edge);
        if edge.wrapping_sub(*highest) as i32 > 0 {
            *highest = edge;
        }
    }

    /// One step: the next arrival or timer. False if there is none before `until`.
    pub fn step(&mut self, until: u64) -> bool {
        self.flush();
        let arrival = self.events.keys().next().map(|(at, _)| *at);
        let timers = self.ends.iter().filter_map(Connection::next_timer).min();
        let next = [arrival, timers].into_iter().flatten().min();
        let Some(at) = next.filter(|at| *at <= until) else {
            self.now = self.now.max(until);
            return false;
        };
        self.now = self.now.max(at);
        if arrival == Some(at) {
            let (_, (to, segment)) = self.events.pop_first().expect("there is one");
            self.note_edge(to, &segment);
            self.ends[to].on_segment(self.now, &segment);
        } else {
            for end in &mut self.ends {
                end.on_timer(self.now);
            }
        }
        self.flush();
        true
    }

    pub fn run_until(&mut self, until: u64) {
        while self.step(until) {}
    }

    /// Runs until the client has sent all of `bytes` and both have closed.
    pub fn transfer(&mut self, bytes: u64, limit: u64) {
        self.ends[CLIENT].send(bytes);
        self.ends[CLIENT].close();
        self.finish(limit);
        assert_eq!(self.ends[SERVER].delivered(), bytes);
    }

    /// Runs until both ends are closed; the server closes after the client.
    pub fn finish(&mut self, limit: u64) {
        while !self.ends.iter().all(Connection::is_closed) {
            assert!(self.step(limit), "not over at {limit}: {:?}", self.infos());
            if self.ends[SERVER].peer_closed() {
                self.ends[SERVER].close();
            }
        }
    }

    pub fn infos(&self) -> [tcp::Info; 2] {
        [self.ends[CLIENT].info(), self.ends[SERVER].info()]
    }

    /// The client's data, each as the number of the segment from 0 on.
    pub fn client_data(&self) -> Vec<(u64, u32)> {
        let data = self.sent.iter().filter(|sent| is_data(sent));
        data.map(|sent| (sent.at, number(&sent.segment))).collect()
    }
}

pub fn is_data(sent: &Sent) -> bool {
    sent.from == CLIENT && sent.segment.payload > 0
}

/// The bytes before a segment of the client.
pub fn offset(segment: &Segment) -> u32 {
    segment.seq.wrapping_sub(u32::MAX - 5000).wrapping_sub(1)
}

/// Which segment it is, of full ones with timestamps.
pub fn number(segment: &Segment) -> u32 {
    offset(segment) / 1448
}

/// Drops the first transmission of these segments, and with how many: as
/// often as they stand there.
pub fn dropping(numbers: &[u32]) -> impl FnMut(&Sent) -> Fate + 'static {
    let mut left = numbers.to_vec();
    move |sent| {
        if !is_data(sent) {
            return Fate::Pass;
        }
        match left.iter().position(|at| *at == number(&sent.segment)) {
            Some(place) => {
                left.remove(place);
                Fate::Drop
            }
            None => Fate::Pass,
        }
    }
}
