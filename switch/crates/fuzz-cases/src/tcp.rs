// SPDX-License-Identifier: Apache-2.0
//! The fuzz target of hostile segments for one end of a TCP connection.

use crate::bytes::Bytes;
use tcp::{Config, Congestion, Connection, Flags, MAX_HEADER_LENGTH, Role, Segment, Timestamps};

const PORT: u16 = 1;
const PEER: u16 = 2;
/// The most that the end may have on its way, in bytes.
const SEND_BUFFER: u32 = 1 << 16;
/// The least segment that a peer can ask for has this many bytes of data.
const LEAST_DATA: u32 = 48 - 12;

/// One end of a connection, with what a listening peer knows of it.
struct End {
    connection: Connection,
    now: u64,
    /// The last segment that it sent.
    last: Segment,
}

impl End {
    fn new(bytes: &mut Bytes<'_>) -> End {
        let choice = bytes.byte();
        let profile = if choice & 1 == 0 {
            Config::linux()
        } else {
            Config::rfc()
        };
        let congestions = [Congestion::Reno, Congestion::Cubic, Congestion::Ledbat];
        let config = Config {
            port: PORT,
            peer_port: PEER,
            congestion: congestions[bytes.below(3)],
            sack: choice & 2 == 0,
            timestamps: choice & 4 == 0,
            nagle: choice & 8 == 0,
            reads_at_once: choice & 16 == 0,
            send_buffer: SEND_BUFFER,
            ..profile
        };
        let role = if choice & 32 == 0 {
            Role::Active
        } else {
            Role::Passive
        };
        End {
            connection: Connection::open(config, role, bytes.long() as u32, 0),
            now: 0,
            last: Segment::default(),
        }
    }

    /// Sends everything, and looks at it.
    fn poll(&mut self) {
        let mut count = 0;
        while let Some(segment) = self.connection.next_segment(self.now) {
            let mut buffer = [0; MAX_HEADER_LENGTH];
            let length = segment.encode(&mut buffer);
            let total = length + segment.payload as usize;
            assert_eq!(Segment::decode(&buffer[..length], total), Ok(segment));
            self.last = segment;
            count += 1;
            assert!(count < 10_000, "it does not stop sending");
        }
        let info = self.connection.info();
        assert!(info.cwnd >= 1, "{info:?}");
        assert!(info.outstanding <= SEND_BUFFER / LEAST_DATA + 2, "{info:?}");
    }

    /// A number near `from`, which makes sense most of the time.
    fn near(from: u32, bytes: &mut Bytes<'_>) -> u32 {
        let choice = bytes.byte();
        let number = u32::from(bytes.number());
        match choice % 8 {
            0..4 => from,
            4 => from.wrapping_add(number),
            5 => from.wrapping_sub(number),
            6 => from.wrapping_add(number << 12),
            _ => number << 16 | u32::from(bytes.number()),
        }
    }

    /// A segment that a peer would answer with, with something changed.
    fn answer(&self, bytes: &mut Bytes<'_>) -> Segment {
        let sent = self
            .last
            .seq
            .wrapping_add(self.last.sequence_length() as u32);
        let flags = bytes.byte();
        let mut segment = Segment {
            source_port: PEER,
            destination_port: PORT,
            seq: Self::near(self.last.ack, bytes),
            ack: Self::near(sent, bytes),
            flags: Flags(if flags & 0x80 == 0 {
                0x10
            } else {
                flags & 0x3f
            }),
            window: bytes.number(),
            payload: u32::from(bytes.number() % 3000),
            ..Segment::default()
        };
        let options = bytes.byte();
        if let Some(own) = self.last.timestamps.filter(|_| options & 1 == 0) {
            segment.timestamps = Some(Timestamps {
                value: Self::near(own.echo, bytes),
                echo: Self::near(own.value, bytes),
            });
        }
        if segment.flags.has(Flags::SYN) {
            segment.mss = (options & 2 == 0).then(|| bytes.number());
            segment.window_scale = (options & 4 == 0).then(|| bytes.byte());
            segment.sack_permitted = options & 8 == 0;
        }
        for _ in 0..(options >> 4) % 5 {
            let left = Self::near(segment.ack, bytes);
            segment
                .sack
                .push(left, left.wrapping_add(u32::from(bytes.number())));
        }
        segment
    }

    fn step(&mut self, bytes: &mut Bytes<'_>) {
        match bytes.byte() % 16 {
            0..8 => {
                let segment = self.answer(bytes);
                self.connection.on_segment(self.now, &segment);
            }
            8 => {
                let length = bytes.below(80);
                let header = bytes.take(length);
                if let Ok(mut segment) = Segment::decode(header, length + 100) {
                    segment.source_port = PEER;
                    segment.destination_port = PORT;
                    self.connection.on_segment(self.now, &segment);
                }
            }
            9..12 => {
                let shift = bytes.byte() % 45;
                self.now += u64::from(bytes.number()) << shift.min(40);
                self.connection.on_timer(self.now);
            }
            12 => {
                if let Some(at) = self.connection.next_timer() {
                    self.now = self.now.max(at);
                    self.connection.on_timer(self.now);
                }
            }
            13 => self.connection.send(bytes.long() >> (bytes.byte() % 64)),
            14 => {
                self.connection.read(u64::from(bytes.number()));
            }
            _ => match bytes.byte() {
                0 => self.connection.abort(),
                1..20 => self.connection.close(),
                _ => {}
            },
        }
    }
}

/// Lets a peer do to one end of a connection what the bytes say.
pub fn tcp(data: &[u8]) {
    let mut bytes = Bytes(data);
    let mut end = End::new(&mut bytes);
    end.connection.send(100_000);
    end.poll();
    while !bytes.is_empty() {
        end.step(&mut bytes);
        end.poll();
    }
}
