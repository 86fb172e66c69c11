// SPDX-License-Identifier: Apache-2.0
//! Sends a device's packet-ins, digests and idle timeouts to the primary client of each role. They
//! are dropped if the client does not keep up.

use std::sync::atomic::Ordering;
use std::time::SystemTime;

use device::DigestList;
use device::events::{Event, Generation};
use v1model::{TableEntry, TableId};

use super::{Epoch, Target};
use crate::pipeline_config::{PipelineConfig, lock};
use crate::proto::p4::v1 as p4;
use crate::proto::p4::v1::stream_message_response::Update;
use crate::read::{render_cell, render_expired};
use crate::role::Access;
use crate::schema::Shape;

/// The most entries in one message about idle timeouts.
const EXPIRED_PER_MESSAGE: usize = 1024;

impl Target {
    /// Passes on what the device has sent, unless another pipeline has come since, whose P4Info says
    /// nothing about it.
    pub async fn event(&self, generation: Generation, event: Event) {
        let pipelines = self.pipelines.read().await;
        let Some(active) = &pipelines.active else {
            return;
        };
        if generation != pipelines.generation {
            self.lost.fetch_add(1, Ordering::Relaxed);
            return;
        }
        match event {
            Event::PacketIn(frame) => {
                if let Some(packet) = active.schema.packet_in.unpack(frame) {
                    self.tell_primaries(Update::Packet(packet));
                }
            }
            Event::Digests(list) => {
                if let Some(list) = digest_list(active, list, self.epoch.now()) {
                    self.tell_primaries(Update::Digest(list));
                }
            }
            Event::IdleTimeouts(expired) => {
                for expired in expired.chunks(EXPIRED_PER_MESSAGE) {
                    if let Some(notification) = idle_timeouts(active, expired, self.epoch.now()) {
                        self.tell_primaries(Update::IdleTimeoutNotification(notification));
                    }
                }
            }
        }
    }

    fn tell_primaries(&self, update: Update) {
        let arbiter = lock(&self.arbiter);
        let clients = lock(&self.clients);
        let wants = |access: &Access| match &update {
            Update::Packet(packet) => access.receives(packet),
            Update::Digest(list) => access.write(Some(list.digest_id)).is_ok(),
            _ => true,
        };
        for (client, access) in arbiter.primaries() {
            if access.is_none_or(wants)
                && let Some(link) = clients.get(&client)
                && !link.event(update.clone())
            {
                self.lost.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

impl Epoch {
    /// The time of the clients' clock, nanoseconds since the epoch.
    fn now(&self) -> i64 {
        match self {
            Epoch::Machine => {
                let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
                since.map_or(0, |since| since.as_nanos() as i64)
            }
            Epoch::Given(now) => now.load(Ordering::Relaxed),
        }
    }
}

fn digest_list(
    config: &PipelineConfig,
    list: DigestList,
    timestamp: i64,
) -> Option<p4::DigestList> {
    let mut digests = config.schema.digests.list().iter();
    // Neither the program nor P4Info must have every digest of the other one.
    let digest = digests.find(|digest| digest.digest == list.digest)?;
    let samples = list.samples.iter();
    let data = samples.map(|sample| render(&digest.shape, &mut sample.iter().copied()));
    Some(p4::DigestList {
        digest_id: digest.id,
        list_id: list.list_id,
        data: data.collect(),
        timestamp,
    })
}

fn render(shape: &Shape, values: &mut impl Iterator<Item = u128>) -> p4::P4Data {
    use p4::p4_data::Data;
    // The program has as many values as the shape has cells.
    let mut next = || values.next().unwrap_or_default();
    let data = match shape {
        Shape::Cell(cell, width) => return render_cell(*cell, *width, next()),
        Shape::Struct(parts) => Data::Struct(members(parts, values)),
        Shape::Tuple(parts) => Data::Tuple(members(parts, values)),
        Shape::Header(cells) => Data::Header(p4::P4Header {
            is_valid: true,
            bitstrings: cells
                .iter()
                .map(
                    |(cell, width)| match render_cell(*cell, *width, next()).data {
                        Some(Data::Bitstring(bytes)) => bytes,
                        _ => Vec::new(),
                    },
                )
                .collect(),
        }),
    };
    p4::P4Data { data: Some(data) }
}

fn members(parts: &[Shape], values: &mut dyn Iterator<Item = u128>) -> p4::P4StructLike {
    let mut values = values;
    p4::P4StructLike {
        members: parts.iter().map(|part| render(part, &mut values)).collect(),
    }
}

fn idle_timeouts(
    config: &PipelineConfig,
    expired: &[(TableId, TableEntry)],
    timestamp: i64,
) -> Option<p4::IdleTimeoutNotification> {
    let tables = config.schema.tables.list();
    let entries = expired.iter().filter_map(|(id, entry)| {
        let table = tables.iter().find(|table| table.table == *id)?;
        Some(render_expired(table, entry))
    });
    let table_entry: Vec<_> = entries.collect();
    (!table_entry.is_empty()).then_some(p4::IdleTimeoutNotification {
        table_entry,
        timestamp,
    })
}
