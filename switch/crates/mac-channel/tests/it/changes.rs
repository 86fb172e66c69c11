// SPDX-License-Identifier: Apache-2.0
//! Service flows that change, come and go while they send.

use mac_channel::Channel;
use mac_wire::{Capacity, FlowConfig, Policy, Profile, Sid};

use crate::plant::{Packet, Plant, with_flows};

const MILLISECOND: u64 = 1_000_000;

/// Changes one flow's configuration.
fn change(channel: &mut Channel<Packet>, plant: &mut Plant, now: u64, flow: FlowConfig) {
    let prepared = channel.prepare(now, Vec::new(), vec![flow], None).unwrap();
    channel.commit(now, prepared, plant);
    channel.wake(now, flow.sid, plant);
}

/// Another policy, and the modem begins anew: it asks again for all that waits. The CMTS has
/// forgotten what was asked for, and hears no request that was on its way.
#[test]
fn what_waits_is_granted_once_when_a_policy_changes() {
    const FRAMES: u64 = 200;
    let flow = FlowConfig::best_effort(Sid(1));
    let other = FlowConfig {
        policy: Policy(Policy::PRIORITY_REQUESTS),
        ..flow
    };
    let profile = Profile::docsis_3_0();
    // In steps that meet requests in contention, in bursts, and bytes that wait at the CMTS.
    for step in 0..60 {
        let (mut channel, mut plant) = with_flows(&profile, [flow].into_iter(), 1);
        let came = 20 * MILLISECOND;
        channel.step(came, &mut plant, &mut ());
        for _ in 0..FRAMES {
            plant.lengths(flow.sid).push(came, 1000);
        }
        channel.wake(came, flow.sid, &mut plant);
        let now = came + step * 250_000;
        channel.step(now, &mut plant, &mut ());
        change(&mut channel, &mut plant, now, other);
        channel.step(now + 500 * MILLISECOND, &mut plant, &mut ());
        assert_eq!(plant.delivered.len() as u64 + plant.abandoned(), FRAMES);
        let statistics = channel.scheduler().statistics();
        // Beside headers, what MAPs had granted that nobody fills now: two of 2 ms are 12,650 bytes.
        let most = FRAMES * 1016 * 102 / 100 + 12_650;
        assert!(
            statistics.bytes_granted < most,
            "{} at {step}",
            statistics.bytes_granted
        );
    }
}

/// A frame that was sent in part never arrives when its flow is removed, and its queue is told.
#[test]
fn a_frame_that_was_sent_in_part_is_abandoned_with_its_flow() {
    const FRAMES: u64 = 60;
    let flow = FlowConfig::best_effort(Sid(1));
    let mut cut = 0;
    for step in 0..40 {
        let (mut channel, mut plant) = with_flows(&Profile::docsis_3_0(), [flow].into_iter(), 1);
        for _ in 0..FRAMES {
            plant.lengths(flow.sid).push(0, 1518);
        }
        channel.wake(0, flow.sid, &mut plant);
        let now = 5 * MILLISECOND + step * 500_000;
        channel.step(now, &mut plant, &mut ());
        let under_way = channel.frames_under_way();
        assert!(channel.remove(now, flow.sid, &mut plant));
        assert!(!channel.remove(now, flow.sid, &mut plant));
        assert_eq!(channel.frames_under_way() + plant.abandoned(), under_way);
        channel.step(now + 500 * MILLISECOND, &mut plant, &mut ());
        let waits = plant.lengths(flow.sid).frames.len() as u64;
        let arrived = plant.delivered.len() as u64;
        assert_eq!(arrived + plant.abandoned() + waits, FRAMES, "{step}");
        cut += plant.abandoned();
    }
    assert!(cut > 10, "{cut}");
}

/// Flows of one change and the capacity that it brings are tested against each other.
#[test]
fn one_change_may_move_a_capacity_and_what_is_promised_of_it() {
    let capacity = |rate| {
        Some(Capacity {
            rate,
            variation_percent: 0,
        })
    };
    let reserved = |sid, min_reserved_rate| FlowConfig {
        min_reserved_rate,
        ..FlowConfig::best_effort(Sid(sid))
    };
    let mut channel = Channel::<Packet>::new(Profile::docsis_3_0(), 1, 1).unwrap();
    channel.set_capacity(0, capacity(2_000_000)).unwrap();
    channel.add(0, reserved(1, 1_000_000)).unwrap();
    let mut plant = Plant::default();
    let mut change = |set: Vec<FlowConfig>, rate| {
        let prepared = channel.prepare(0, Vec::new(), set, Some(capacity(rate)));
        prepared.map(|prepared| channel.commit(0, prepared, &mut plant))
    };
    // More of both, and less of both, in one change.
    let high = || vec![reserved(1, 5_000_000), reserved(2, 5_000_000)];
    let low = || vec![reserved(1, 1_000_000), reserved(2, 1_000_000)];
    change(high(), 13_000_000).unwrap();
    change(low(), 3_000_000).unwrap();
    // What does not fit in the end is refused as a whole, with the last that is promised something.
    let more = vec![reserved(3, 5_000_000), FlowConfig::best_effort(Sid(4))];
    let (sid, refusal) = change(more, 5_000_000).unwrap_err();
    assert_eq!(sid, Some(Sid(3)));
    assert!(
        refusal.to_string().contains("SID 3, and 16% may be"),
        "{refusal}"
    );
    assert!(channel.flow(Sid(3)).is_none() && channel.flow(Sid(4)).is_none());
    // A lower capacity alone misses reserved rates, and is possible.
    let prepared = channel.prepare(0, Vec::new(), Vec::new(), Some(capacity(1_000_000)));
    assert!(prepared.is_ok());
}
