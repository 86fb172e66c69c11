// SPDX-License-Identifier: Apache-2.0
//! How long frames take: over a bare RF link, and with a MAC on it (mac.md, vectors A and B).

use crate::common::*;
use plant::Configuration;
use plant::mac_wire::Profile;

const FRAME: usize = 1518;

#[test]
fn a_link_without_a_channel_takes_no_time_either_way() {
    let mut world = World::new(1);
    world.give(5, MODEM, HOST, &frame(1, RF, 0, 64));
    world.give(9, CMTS, SERVER, &frame(2, CMTS_RF, 0, FRAME));
    world.run(10);
    assert_eq!(world.served(), [(5, 1)]);
    let [modem, cmts] = [0, 1].map(|node| &world.nodes[node].seen);
    assert_eq!(modem[..], [(5, true, 1), (9, false, 2)]);
    assert_eq!(cmts[..], [(5, false, 1), (9, true, 2)]);
    let [(9, HOST, bytes)] = &world.nodes[MODEM as usize].hosts.0[..] else {
        panic!("the modem's host got something else");
    };
    assert_eq!(number(bytes), 2);
}

/// Delays of frames that come one by one, at any moment of a MAP, ns.
fn lone(profile: Profile, frames: u32, apart: u64) -> Vec<u64> {
    let mut world = World::with_channel(5, profile, 1);
    let mut sent = Vec::new();
    for number in 1..=frames {
        let at = u64::from(number) * apart + random(number.into()) % (4 * MILLISECOND);
        sent.push(at);
        world.give(at, MODEM, HOST, &frame(number, RF, 1, FRAME));
    }
    world.run(sent[sent.len() - 1] + SECOND);
    let served = world.served();
    assert!(served.iter().map(|(_, number)| *number).eq(1..=frames));
    assert!(world.plant.is_empty(&world.nodes));
    let both = served.iter().zip(sent);
    both.map(|((came, _), sent)| came - sent).collect()
}

/// The mean within four standard errors, nothing outside of the range.
fn compare(delays: &[u64], mean_us: f64, [least, greatest]: [u64; 2]) {
    let us: Vec<f64> = delays.iter().map(|&ns| ns as f64 / 1000.0).collect();
    let number = us.len() as f64;
    let mean = us.iter().sum::<f64>() / number;
    let variance = us.iter().map(|us| (us - mean).powi(2)).sum::<f64>() / (number - 1.0);
    let error = (variance / number).sqrt();
    assert!(
        (mean - mean_us).abs() < 4.0 * error,
        "{mean} +- {error}, not {mean_us}"
    );
    for delay in delays {
        assert!(
            (least * 1000 - 1000..greatest * 1000 + 1000).contains(delay),
            "{delay} ns"
        );
    }
}

#[test]
fn a_lone_frame_takes_what_the_vectors_say() {
    let delays = lone(Profile::docsis_3_1(15), 2_000, 30 * MILLISECOND);
    compare(&delays, 5038.9, [1930, 8275]);
    let profile = Profile::docsis_1_1_004(2 * MILLISECOND).unwrap();
    let delays = lone(profile, 2_000, 30 * MILLISECOND);
    compare(&delays, 7512.5, [6425, 8600]);
}

/// A call's frames find a grant in each interval, whatever else is sent.
#[test]
fn unsolicited_grants_carry_a_call_beside_uploads() {
    let interval = 20 * MILLISECOND;
    let mut world = World::with_channel(3, Profile::docsis_3_1(15), 4);
    world.add_queues(0, [5]);
    let request = Configuration {
        flows: vec![unsolicited(5, interval, MILLISECOND, 242)],
        ..Configuration::default()
    };
    world.plant.configure(&mut world.nodes, 0, request).unwrap();
    let mut at = 100 * MILLISECOND;
    let (mut number, mut call) = (0, Vec::new());
    while at < 3 * SECOND {
        for upload in 1..=4 {
            number += 1;
            world.give(at, MODEM, HOST, &frame(number, RF, upload, FRAME));
        }
        if at % interval == 0 {
            number += 1;
            call.push((at, number));
            world.give(at, MODEM, HOST, &frame(number, RF, 5, 232));
        }
        at += MILLISECOND;
    }
    world.run(at + SECOND);
    let served = world.served();
    for (sent, number) in call {
        let came = served.iter().find(|(_, one)| *one == number).unwrap().0;
        // One interval and its jitter, then the frame itself and its way.
        let most = interval + MILLISECOND + 2 * 135_000 + 445_000;
        assert!(came - sent <= most, "{} ns", came - sent);
    }
    assert_eq!(served.len(), number as usize);
}

#[test]
fn what_a_tap_sees_is_when_a_burst_begins_and_when_it_has_arrived() {
    let mut world = World::with_channel(5, Profile::docsis_3_1(15), 1);
    world.give(MILLISECOND, MODEM, HOST, &frame(7, RF, 1, FRAME));
    world.run(SECOND);
    let [(left, true, 7)] = world.nodes[0].seen[..] else {
        panic!("{:?}", world.nodes[0].seen);
    };
    let [(came, false, 7)] = world.nodes[1].seen[..] else {
        panic!("{:?}", world.nodes[1].seen);
    };
    // A frame of minislots to prepare the burst, one for it, the way, and one to hear it.
    assert!(
        (445_000..=445_000 + 135_000).contains(&(came - left)),
        "{}",
        came - left
    );
}
