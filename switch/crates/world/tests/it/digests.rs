// SPDX-License-Identifier: Apache-2.0
//! P4's digests: when their lists come is a matter of the world's time alone.

use crate::common::{MILLISECOND, primary, set_pipeline, write};
use bytes::Bytes;
use grpc_services::proto::p4::v1 as p4;
use grpc_services::proto::p4::v1::entity::Entity;
use grpc_services::proto::p4::v1::stream_message_request::Update as ToSwitch;
use grpc_services::proto::p4::v1::stream_message_response::Update as FromSwitch;
use prost::Message;
use world::{DeviceOptions, StreamId, World};

const LIST_WAITS: u64 = 10 * MILLISECOND;
const ACK_AWAITED: u64 = 100 * MILLISECOND;

/// A frame that makes digest.p4 tell this address, which is its last byte.
fn telling(address: u8) -> Vec<u8> {
    let mut frame = vec![0; 60];
    (frame[0], frame[6]) = (1, address);
    frame
}

/// A device that learns, and its controller's stream.
fn learning() -> (World, StreamId, u32) {
    let mut world = World::new(1).unwrap();
    let options = DeviceOptions {
        name: "one",
        device_id: 1,
        ports: vec![1],
        ..DeviceOptions::default()
    };
    world.add_device(&options).unwrap();
    let stream = primary(&mut world, "one", 1);
    let info = set_pipeline(&mut world, "one", 1, "v1model/tests/programs/digest");
    let digest_id = info.digests[0].preamble.as_ref().unwrap().id;
    let entry = p4::DigestEntry {
        digest_id,
        config: Some(p4::digest_entry::Config {
            max_timeout_ns: LIST_WAITS as i64,
            max_list_size: 0,
            ack_timeout_ns: ACK_AWAITED as i64,
        }),
    };
    let insert = p4::Update {
        r#type: p4::update::Type::Insert as i32,
        entity: Some(p4::Entity {
            entity: Some(Entity::DigestEntry(entry)),
        }),
    };
    write(&mut world, "one", 1, vec![insert]);
    (world, stream, digest_id)
}

/// The lists that are there by now: number, time, and the last byte of each address.
fn lists(world: &mut World, stream: StreamId) -> Vec<(u64, i64, Vec<u8>)> {
    let address = |data: &p4::P4Data| match &data.data {
        Some(p4::p4_data::Data::Struct(learnt)) => match &learnt.members[0].data {
            Some(p4::p4_data::Data::Bitstring(bytes)) => *bytes.last().unwrap(),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    };
    let messages = world.stream_receive(stream).unwrap().into_iter();
    let lists = messages.map(|message| {
        let message = p4::StreamMessageResponse::decode(message).unwrap();
        let Some(FromSwitch::Digest(list)) = message.update else {
            panic!("{message:?}");
        };
        let addresses = list.data.iter().map(address).collect();
        (list.list_id, list.timestamp, addresses)
    });
    lists.collect()
}

/// Nothing comes before this time, and then a list of this content; its number.
fn expect(world: &mut World, stream: StreamId, at: u64, addresses: &[u8]) -> u64 {
    world.run_until(at - 1).unwrap();
    assert_eq!(lists(world, stream), [], "before {at} ns");
    world.run_until(at).unwrap();
    let found = lists(world, stream);
    assert_eq!(found.len(), 1, "at {at} ns");
    assert_eq!((found[0].1, &*found[0].2), (at as i64, addresses));
    found[0].0
}

#[test]
fn a_list_comes_when_its_first_digest_has_waited_and_the_same_again_when_nobody_has_acknowledged() {
    let (mut world, stream, _) = learning();
    let first = 11 * MILLISECOND;
    let again = first + ACK_AWAITED;
    let frames = [
        (MILLISECOND, 5),
        (3 * MILLISECOND, 6),
        // Known: in the list, and then sent and not acknowledged.
        (4 * MILLISECOND, 5),
        (50 * MILLISECOND, 6),
        (again - 1, 5),
        // Forgotten.
        (again + 1, 6),
    ];
    let frames = frames.map(|(at, address)| (at, telling(address)));
    world.inject("one", 1, frames.to_vec()).unwrap();
    expect(&mut world, stream, first, &[5, 6]);
    expect(&mut world, stream, again + 1 + LIST_WAITS, &[6]);
}

#[test]
fn what_is_acknowledged_is_learnt_again_from_then_on() {
    let (mut world, stream, digest_id) = learning();
    world.inject("one", 1, vec![(0, telling(5))]).unwrap();
    let list_id = expect(&mut world, stream, LIST_WAITS, &[5]);
    let acknowledged = 20 * MILLISECOND;
    let frames = [acknowledged - 1, acknowledged + 1].map(|at| (at, telling(5)));
    world.inject("one", 1, frames.to_vec()).unwrap();
    world.run_until(acknowledged).unwrap();
    let ack = p4::StreamMessageRequest {
        update: Some(ToSwitch::DigestAck(p4::DigestListAck {
            digest_id,
            list_id,
        })),
    };
    let ack = Bytes::from(ack.encode_to_vec());
    world.stream_send(stream, ack).unwrap();
    expect(&mut world, stream, acknowledged + 1 + LIST_WAITS, &[5]);
}
