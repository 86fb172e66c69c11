// SPDX-License-Identifier: Apache-2.0
//! What a queue remembers of the TCP connections whose segments came to it. Its memory is bounded: when
//! there are too many connections, it forgets one, and treats that one as new when it sends again.

use super::segment::Connection;

/// No frame's number.
pub const NOBODY: u64 = u64::MAX;

/// Connections that have the same place, and places, of a queue.
const WAYS: usize = 4;
const SETS: usize = 64;

/// One of the connections.
#[derive(Debug, Clone, Copy)]
pub struct Known {
    connection: Connection,
    /// When a segment of it came last, in segments.
    used: u64,
    /// The highest acknowledgement number that came.
    pub highest: Option<u32>,
    /// Number of the first frame in the queue that a new acknowledgement may make superfluous,
    /// and of the last one.
    pub first: u64,
    pub last: u64,
}

/// The connections of a queue, [`SETS`] times [`WAYS`] at the most. The one that has been silent
/// for longest among those of its place gives way.
#[derive(Debug, Default)]
pub struct Connections {
    /// Empty until a segment comes.
    known: Vec<Option<Known>>,
    segments: u64,
}

/// Which set a connection belongs to. Who makes many of one set only loses their own.
fn set(connection: &Connection) -> usize {
    let Connection {
        stations: _,
        vlans: _,
        is_ipv6: _,
        addresses,
        ports,
    } = connection;
    let mut hash = u64::from(ports[0]) << 16 | u64::from(ports[1]);
    for half in addresses.as_flattened().chunks_exact(8) {
        let half = half.try_into().map_or(0, u64::from_le_bytes);
        hash = (hash.rotate_left(5) ^ half).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
    (hash.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58) as usize
}

impl Connections {
    /// Where this connection is, from now on, if it was not before.
    pub fn find(&mut self, connection: &Connection) -> u16 {
        if self.known.is_empty() {
            self.known = vec![None; SETS * WAYS];
        }
        self.segments += 1;
        let first = set(connection) * WAYS;
        let ways = &mut self.known[first..first + WAYS];
        let is_it =
            |known: &Option<Known>| known.is_some_and(|known| known.connection == *connection);
        let found = ways.iter().position(is_it);
        let way = found.unwrap_or_else(|| {
            let oldest = (0..WAYS).min_by_key(|&way| ways[way].map_or(0, |known| known.used));
            let way = oldest.unwrap_or(0);
            ways[way] = Some(Known {
                connection: *connection,
                used: 0,
                highest: None,
                first: NOBODY,
                last: NOBODY,
            });
            way
        });
        if let Some(known) = &mut ways[way] {
            known.used = self.segments;
        }
        (first + way) as u16
    }

    /// The connection that is there now.
    pub fn at(&mut self, place: u16) -> Option<&mut Known> {
        self.known.get_mut(usize::from(place))?.as_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connection(port: u16) -> Connection {
        Connection {
            stations: [2; 12],
            vlans: [0; 2],
            is_ipv6: false,
            addresses: [[10; 16], [203; 16]],
            ports: [port, 443],
        }
    }

    #[test]
    fn memory_is_bounded_and_the_silent_give_way() {
        let mut connections = Connections::default();
        assert!(connections.known.is_empty());
        for port in 0..u16::MAX {
            let place = connections.find(&connection(port));
            connections.at(place).unwrap().highest = Some(port.into());
            // One that is never silent stays.
            let place = connections.find(&connection(u16::MAX));
            let stays = connections.at(place).unwrap();
            assert_eq!(stays.highest.is_some(), port > 0);
            stays.highest = Some(7);
        }
        assert_eq!(connections.known.len(), SETS * WAYS);
        let sets = connections.known.iter().filter(|known| known.is_some());
        assert_eq!(sets.count(), SETS * WAYS, "ports spread over all sets");
        let place = connections.find(&connection(0));
        assert_eq!(connections.at(place).unwrap().highest, None);
    }
}
