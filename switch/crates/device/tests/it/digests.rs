// SPDX-License-Identifier: Apache-2.0
//! Digests: lists, timeouts, acknowledgements.

use crate::common::{Recorder, Way, device};
use device::events::Event;
use device::{Device, DeviceConfig, DigestConfig, DigestList};
use v1model::DigestId;

const LEARN: DigestId = DigestId(0);
const MS: u64 = 1_000_000;

fn learning(config: DigestConfig) -> (Device, Recorder) {
    let mut device = device(DeviceConfig::default());
    device.configure_digest(LEARN, Some(config));
    assert_eq!(device.digest_config(LEARN), Some(config));
    (device, Recorder::default())
}

/// A packet whose digest is (session, group).
fn learn(device: &mut Device, out: &mut Recorder, now: u64, session: u8, group: u8) {
    let way = Way {
        ingress: 2,
        session,
        group,
        port: 2,
        ..Way::default()
    };
    device.receive(now, 1, &way.frame(0));
    device.poll(now, out);
}

/// The lists that came, with their time and values.
fn lists(out: &mut Recorder) -> Vec<DigestList> {
    let taken = out.events.drain(..).map(|(now, event)| match event {
        Event::Digests(list) => {
            assert_eq!(list.timestamp_ns, now);
            list
        }
        other => panic!("{other:?}"),
    });
    taken.collect()
}

fn samples(out: &mut Recorder) -> Vec<Vec<Vec<u128>>> {
    lists(out).into_iter().map(|list| list.samples).collect()
}

#[test]
fn a_digest_that_is_off_costs_nothing() {
    let (mut device, mut out) = (device(DeviceConfig::default()), Recorder::default());
    learn(&mut device, &mut out, 0, 1, 2);
    assert!(out.events.is_empty());
    assert_eq!(device.next_deadline(), None);
    assert_eq!(device.digest_config(LEARN), None);
    assert_eq!(device.digest_config(DigestId(9)), None);
    device.configure_digest(DigestId(9), Some(DigestConfig::default()));
    assert!(!device.ack_digest(0, DigestId(9), 1));
}

#[test]
fn without_timeouts_each_is_sent_at_once() {
    let (mut device, mut out) = learning(DigestConfig::default());
    learn(&mut device, &mut out, 0, 1, 2);
    learn(&mut device, &mut out, 5, 1, 2);
    let lists = lists(&mut out);
    assert_eq!(lists.len(), 2);
    assert_eq!(lists[0].samples, [[1, 2]]);
    assert!(lists[0].list_id < lists[1].list_id);
    assert_eq!(lists[0].digest, LEARN);
}

#[test]
fn a_list_is_sent_when_it_is_full_or_old() {
    let (mut device, mut out) = learning(DigestConfig {
        max_timeout_ns: 10 * MS,
        max_list_size: 3,
        ack_timeout_ns: 0,
    });
    for n in 1..=4 {
        learn(&mut device, &mut out, u64::from(n) * MS, n, 0);
    }
    assert_eq!(samples(&mut out), [[[1, 0], [2, 0], [3, 0]]]);
    assert_eq!(device.next_deadline(), Some(14 * MS));
    device.poll(14 * MS - 1, &mut out);
    assert!(out.events.is_empty());
    device.poll(14 * MS, &mut out);
    assert_eq!(samples(&mut out), [[[4, 0]]]);
    assert_eq!(device.next_deadline(), None);
}

#[test]
fn what_is_not_acknowledged_is_not_sent_again_for_a_while() {
    let (mut device, mut out) = learning(DigestConfig {
        max_timeout_ns: 0,
        max_list_size: 1,
        ack_timeout_ns: 100 * MS,
    });
    learn(&mut device, &mut out, 0, 1, 1);
    learn(&mut device, &mut out, 1, 1, 1);
    learn(&mut device, &mut out, 2, 2, 2);
    let sent = lists(&mut out);
    assert_eq!(sent.len(), 2);
    assert!(device.ack_digest(3, LEARN, sent[0].list_id));
    assert!(!device.ack_digest(3, LEARN, sent[0].list_id), "only once");
    // The acknowledged one is learnt again, the other one is not ...
    learn(&mut device, &mut out, 4, 1, 1);
    learn(&mut device, &mut out, 5, 2, 2);
    assert_eq!(samples(&mut out), [[[1, 1]]]);
    // ... before its time is over.
    assert_eq!(device.next_deadline(), Some(100 * MS + 2));
    device.poll(100 * MS + 2, &mut out);
    learn(&mut device, &mut out, 100 * MS + 3, 2, 2);
    assert_eq!(samples(&mut out), [[[2, 2]]]);
}

#[test]
fn the_same_is_in_a_list_once() {
    let (mut device, mut out) = learning(DigestConfig {
        max_timeout_ns: 10 * MS,
        max_list_size: 0,
        ack_timeout_ns: MS,
    });
    for _ in 0..3 {
        learn(&mut device, &mut out, 0, 7, 7);
    }
    device.poll(10 * MS, &mut out);
    assert_eq!(samples(&mut out), [[[7, 7]]]);
}

#[test]
fn a_list_has_no_duplicates_without_acknowledgements_either() {
    let config = DigestConfig {
        max_timeout_ns: 10 * MS,
        max_list_size: 2,
        ack_timeout_ns: 0,
    };
    let (mut device, mut out) = learning(config);
    for session in [7, 7, 7, 8, 7, 7] {
        learn(&mut device, &mut out, 0, session, 7);
    }
    assert_eq!(samples(&mut out), [[[7, 7], [8, 7]]]);
    // What has been sent is not looked for, and what waits still is after a change.
    device.configure_digest(
        LEARN,
        Some(DigestConfig {
            ack_timeout_ns: MS,
            ..config
        }),
    );
    device.configure_digest(LEARN, Some(config));
    learn(&mut device, &mut out, MS, 7, 7);
    device.poll(10 * MS, &mut out);
    assert_eq!(samples(&mut out), [[[7, 7]]]);
}

#[test]
fn a_list_that_a_change_makes_full_is_sent() {
    let config = DigestConfig {
        max_timeout_ns: 10 * MS,
        max_list_size: 4,
        ack_timeout_ns: 0,
    };
    let (mut device, mut out) = learning(config);
    for session in [1, 2, 3] {
        learn(&mut device, &mut out, 0, session, 0);
    }
    device.configure_digest(
        LEARN,
        Some(DigestConfig {
            max_list_size: 2,
            ..config
        }),
    );
    device.poll(MS, &mut out);
    assert_eq!(samples(&mut out), [[[1, 0], [2, 0], [3, 0]]]);
}

#[test]
fn what_a_deaf_controller_misses_is_counted_and_learnt_again() {
    let (mut device, mut out) = learning(DigestConfig {
        max_timeout_ns: 0,
        max_list_size: 1,
        ack_timeout_ns: 1000 * MS,
    });
    out.deaf = true;
    learn(&mut device, &mut out, 0, 1, 1);
    assert_eq!(device.counters().digest_dropped.frames, 1);
    out.deaf = false;
    learn(&mut device, &mut out, 1, 1, 1);
    assert_eq!(samples(&mut out), [[[1, 1]]]);
}

#[test]
fn a_digest_is_switched_off_with_what_waits_and_by_a_new_program() {
    let config = DigestConfig {
        max_timeout_ns: 10 * MS,
        ..DigestConfig::default()
    };
    let (mut device, mut out) = learning(config);
    learn(&mut device, &mut out, 0, 1, 1);
    device.configure_digest(LEARN, None);
    assert_eq!(device.next_deadline(), None);
    device.configure_digest(LEARN, Some(config));
    learn(&mut device, &mut out, 1, 1, 1);
    device.load(2, crate::common::program("paths.json"));
    assert_eq!(device.next_deadline(), None);
    assert_eq!(device.digest_config(LEARN), None);
    device.poll(20 * MS, &mut out);
    assert!(out.events.is_empty());
}

#[test]
fn no_list_has_the_number_of_one_of_an_earlier_program() {
    let config = DigestConfig {
        ack_timeout_ns: 100 * MS,
        ..DigestConfig::default()
    };
    let (mut device, mut out) = learning(config);
    learn(&mut device, &mut out, 0, 1, 1);
    let old = lists(&mut out)[0].list_id;
    device.load(1, crate::common::program("paths.json"));
    device.configure_digest(LEARN, Some(config));
    learn(&mut device, &mut out, 2, 1, 1);
    let new = lists(&mut out)[0].list_id;
    // The acknowledgement of the old program's list comes late.
    assert!(!device.ack_digest(3, LEARN, old));
    assert!(device.ack_digest(3, LEARN, new));
}

/// Frames are received without a step in between: lists wait, but not without end.
#[test]
fn memory_is_bounded() {
    let (mut device, mut out) = learning(DigestConfig::default());
    let frame = Way {
        ingress: 2,
        ..Way::default()
    };
    for _ in 0..1000 {
        device.receive(0, 1, &frame.frame(0));
    }
    device.poll(0, &mut out);
    let sent = out.events.len() as u64;
    assert_eq!(device.counters().digest_dropped.frames + sent, 1000);
    assert!((64..128).contains(&sent), "{sent}");
    // No acknowledgements for long.
    device.configure_digest(
        LEARN,
        Some(DigestConfig {
            ack_timeout_ns: u64::MAX,
            ..DigestConfig::default()
        }),
    );
    for n in 0..40_000u32 {
        let [_, _, session, group] = n.to_be_bytes();
        learn(&mut device, &mut out, 1, session, group);
    }
    out.events.clear();
    learn(&mut device, &mut out, 2, 0x9c, 0x3f);
    assert!(out.events.is_empty(), "the latest is remembered");
    learn(&mut device, &mut out, 2, 0, 0);
    assert_eq!(samples(&mut out), [[[0, 0]]], "the oldest is not");
}

/// Two kinds share the room for what is remembered: neither has all of it for itself.
#[test]
fn the_memory_of_all_kinds_together_is_bounded() {
    let mut device = device(DeviceConfig::default());
    let mut out = Recorder::default();
    device.load(0, crate::common::program("digest.json"));
    let config = DigestConfig {
        ack_timeout_ns: u64::MAX,
        ..DigestConfig::default()
    };
    for id in [0, 1] {
        device.configure_digest(DigestId(id), Some(config));
    }
    // Whether a digest of this kind is new.
    let mut learn = |kind: u8, number: u16| {
        let [high, low] = number.to_be_bytes();
        let mut frame = vec![0; 16];
        frame[0] = kind + 1;
        frame[5..7].copy_from_slice(&[high, low]);
        frame[14..16].copy_from_slice(&[high, low]);
        device.receive(1, 3, &frame);
        device.poll(1, &mut out);
        let learnt = lists(&mut out);
        assert!(learnt.iter().all(|list| list.digest.0 == u32::from(kind)));
        learnt.len() == 1
    };
    for kind in [0, 1] {
        assert!((0..10_000).all(|number| learn(kind, number)));
    }
    assert!((0..10_000).all(|number| !learn(1, number)), "the latest");
    assert!((4_000..10_000).all(|number| !learn(0, number)));
    // Each of these drives out the oldest one.
    assert!((0..3_000).all(|number| learn(0, number)), "the oldest");
}

#[test]
fn values_are_those_of_the_end_of_ingress_and_of_any_width() {
    let mut device = device(DeviceConfig::default());
    let mut out = Recorder::default();
    device.load(0, crate::common::program("digest.json"));
    for id in [0, 1] {
        device.configure_digest(DigestId(id), Some(DigestConfig::default()));
    }
    let mut frame = vec![1, 0, 1, 2, 3, 4, 5];
    frame.extend([0xff, 0, 0, 0, 0, 0, 0, 0, 0xee]);
    for op in [1, 2, 3] {
        frame[0] = op;
        device.receive(0, 3, &frame);
        device.poll(0, &mut out);
    }
    let all = lists(&mut out);
    assert_eq!(all[0].samples, [[0x1_0203_0405, 3]]);
    assert_eq!(all[1].samples, [[0xff << 64 | 0xee, 2]]);
    assert_eq!(all[2].digest, DigestId(1), "the last call wins");
    assert_eq!(all.len(), 3);
}
