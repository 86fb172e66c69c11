// SPDX-License-Identifier: Apache-2.0
//! The memory that service flows take, whether or not frames wait in them. It is bounded, since
//! whoever configures the traffic manager could ask for 65,535 service flows on each of 511 ports.

use crate::{AckSuppression, ConfigError, Configuration, QueueId, ServiceFlowConfig};
use std::collections::BTreeMap;

/// The memory that the service flows of a device may take, bytes.
pub const MOST_FLOW_BYTES: usize = 256 << 20;
/// A service flow takes at most so many bytes without what is below.
const FLOW: usize = 1_536;
/// A sub-queue without frames takes at most so many bytes.
const SUB_QUEUE: usize = 32;
/// The connections that a queue remembers which suppresses acknowledgements take at most so many
/// bytes: they are 256, as soon as the first segment has come.
const CONNECTIONS: usize = 32 << 10;
/// A port finds its queues in a list with room for so many bytes for each queue_id up to the
/// highest one.
const PLACE: usize = 8;

/// The service flows of a device, and the memory that they take.
#[derive(Debug, Default)]
pub(crate) struct FlowRoom {
    /// The bytes of each flow.
    flows: BTreeMap<QueueId, usize>,
    /// The highest queue_id that each port has had: the list of places does not become shorter.
    places: BTreeMap<u16, u32>,
    bytes: usize,
}

/// What a request changes, if the traffic manager accepts it.
#[derive(Debug, Default)]
pub(crate) struct Change {
    flows: BTreeMap<QueueId, Option<usize>>,
    places: BTreeMap<u16, u32>,
    bytes: usize,
}

/// The memory of a service flow with this configuration, bytes.
fn bytes_of(config: &ServiceFlowConfig) -> usize {
    let sub_queues = match config.sub_queues {
        0 | 1 => 0,
        several => several as usize * SUB_QUEUE,
    };
    let connections = match config.ack_suppression {
        AckSuppression::Off => 0,
        AckSuppression::Always | AckSuppression::Safe => CONNECTIONS,
    };
    FLOW + sub_queues + connections
}

impl FlowRoom {
    /// The change that a request makes.
    ///
    /// # Errors
    /// The service flows would take more memory than they may.
    pub fn change(&self, request: &Configuration) -> Result<Change, ConfigError> {
        let mut change = Change {
            bytes: self.bytes,
            ..Change::default()
        };
        let removed = request.removed.iter().map(|queue| (*queue, None));
        let flows = request.service_flows.iter();
        let flows = flows.map(|config| (config.queue, Some(bytes_of(config))));
        for (queue, bytes) in removed.chain(flows) {
            // The traffic manager refuses a request that names a queue twice.
            let before = self.flows.get(&queue).copied();
            change.bytes = change.bytes - before.unwrap_or(0) + bytes.unwrap_or(0);
            change.flows.insert(queue, bytes);
            if bytes.is_some() {
                let known = self.places.get(&queue.port).copied();
                let place = change
                    .places
                    .entry(queue.port)
                    .or_insert(known.unwrap_or(0));
                let more = queue.queue_id.saturating_sub(*place) as usize;
                change.bytes += more * PLACE;
                *place = queue.queue_id.max(*place);
            }
        }
        if change.bytes > MOST_FLOW_BYTES && change.bytes > self.bytes {
            return Err(ConfigError::Invalid(format!(
                "service_flows: the device's service flows would take {} bytes of memory, more than \
                 {MOST_FLOW_BYTES}: remove some, or give them fewer sub_queues",
                change.bytes
            )));
        }
        Ok(change)
    }

    /// Notes that the traffic manager has accepted the request.
    pub fn accept(&mut self, change: Change) {
        for (queue, bytes) in change.flows {
            match bytes {
                Some(bytes) => self.flows.insert(queue, bytes),
                None => self.flows.remove(&queue),
            };
        }
        self.places.extend(change.places);
        self.bytes = change.bytes;
    }

    /// The memory that the service flows take, bytes.
    #[cfg(test)]
    fn bytes(&self) -> usize {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ServiceFlowConfig;

    fn with(queues: impl Iterator<Item = (u16, u32)>, sub_queues: u32) -> Configuration {
        let service_flows = queues.map(|(port, queue_id)| ServiceFlowConfig {
            queue: QueueId { port, queue_id },
            sub_queues,
            ..ServiceFlowConfig::default()
        });
        Configuration {
            service_flows: service_flows.collect(),
            ..Configuration::default()
        }
    }

    fn take(room: &mut FlowRoom, request: &Configuration) -> Result<(), ConfigError> {
        let change = room.change(request)?;
        room.accept(change);
        Ok(())
    }

    #[test]
    fn a_port_has_room_for_all_queue_ids_or_for_thousands_of_flows_with_all_sub_queues() {
        let mut room = FlowRoom::default();
        for port in [1, 2] {
            take(&mut room, &with((1..=65_535).map(|id| (port, id)), 1)).unwrap();
        }
        assert!(
            room.change(&with((1..=65_535).map(|id| (3, id)), 1))
                .is_err()
        );
        let mut room = FlowRoom::default();
        take(&mut room, &with((1..=27_000).map(|id| (1, id)), 256)).unwrap();
        assert!(
            room.change(&with((1..=3_000).map(|id| (2, id)), 256))
                .is_err()
        );
        // Or with suppression of acknowledgements for more than a modem's cm.p4 has.
        let mut room = FlowRoom::default();
        let mut suppressed = with((1..=4096).map(|id| (1, id)), 1);
        for flow in &mut suppressed.service_flows {
            flow.ack_suppression = AckSuppression::Safe;
        }
        take(&mut room, &suppressed).unwrap();
        let more = with((1..=65_535).map(|id| (2, id)), 1);
        take(&mut room, &more).unwrap();
        assert!(
            room.change(&with((1..=65_535).map(|id| (3, id)), 1))
                .is_err()
        );
    }

    #[test]
    fn lists_of_places_are_charged_once_for_each_port() {
        let mut room = FlowRoom::default();
        let mut ports = 0;
        while take(&mut room, &with([(ports, 65_535)].into_iter(), 0)).is_ok() {
            ports += 1;
        }
        assert!((500..512).contains(&ports), "{ports}");
    }

    #[test]
    fn what_is_removed_or_made_smaller_makes_room() {
        let mut room = FlowRoom::default();
        let request = with((1..=100).map(|id| (1, id)), 8);
        take(&mut room, &request).unwrap();
        let bytes = room.bytes();
        take(&mut room, &request).unwrap();
        assert_eq!(room.bytes(), bytes, "the same flows again");
        take(&mut room, &with((1..=100).map(|id| (1, id)), 1)).unwrap();
        assert_eq!(room.bytes(), bytes - 100 * 8 * SUB_QUEUE);
        let removed = Configuration {
            removed: (1..=100)
                .map(|queue_id| QueueId { port: 1, queue_id })
                .collect(),
            ..Configuration::default()
        };
        take(&mut room, &removed).unwrap();
        assert_eq!(room.bytes(), 100 * PLACE);
        // A request that is refused changes nothing.
        let too_much = with((1..=60_000).map(|id| (3, id)), 256);
        assert!(room.change(&too_much).is_err());
        assert_eq!(room.bytes(), 100 * PLACE);
    }
}
