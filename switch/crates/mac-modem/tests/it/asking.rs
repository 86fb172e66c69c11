// SPDX-License-Identifier: Apache-2.0
//! mac.md, "What a request asks for".

use mac_modem::News;
use mac_wire::{Amount, FlowConfig, Policy, Profile};

use crate::bench::{Bench, flow, paper_004};

fn asked(bench: &mut Bench, minislot: u64) -> Option<Amount> {
    bench.contend(minislot).map(|request| request.amount)
}

fn of_one_burst(flow: FlowConfig, lengths: &[u32]) -> Option<Amount> {
    let mut bench = Bench::new(paper_004(), flow);
    bench.come(lengths);
    asked(&mut bench, 0)
}

#[test]
fn one_burst_has_as_many_whole_frames_as_8_bits_of_minislots() {
    assert_eq!(of_one_burst(flow(), &[1518]), Some(Amount::Minislots(96)));
    assert_eq!(of_one_burst(flow(), &[64]), Some(Amount::Minislots(5)));
    // Two of 1524 behind 6 bytes: 192. A third would make 287.
    assert_eq!(
        of_one_burst(flow(), &[1518; 3]),
        Some(Amount::Minislots(192))
    );
    assert_eq!(
        of_one_burst(flow(), &[1518, 1518, 900]),
        Some(Amount::Minislots(249))
    );
}

#[test]
fn one_burst_keeps_to_the_policy_and_to_the_longest_concatenated_burst() {
    let alone = FlowConfig {
        policy: Policy(Policy::CONCATENATION),
        ..flow()
    };
    assert_eq!(of_one_burst(alone, &[64; 3]), Some(Amount::Minislots(5)));
    let short = FlowConfig {
        max_concatenated_burst: 6 + 2 * 70,
        ..flow()
    };
    // 146 bytes and a preamble of 10.
    assert_eq!(of_one_burst(short, &[64; 3]), Some(Amount::Minislots(10)));
}

#[test]
fn one_burst_is_no_longer_than_a_map_that_does_not_stretch_can_grant() {
    let profile = Profile {
        stretch: false,
        ..Profile::docsis_1_1_004(5_000_000).unwrap()
    };
    // 185 minislots for data; two frames take 192.
    let mut bench = Bench::new(profile, flow());
    bench.come(&[1518; 3]);
    assert_eq!(asked(&mut bench, 0), Some(Amount::Minislots(96)));
}

#[test]
fn a_frame_that_no_request_can_ask_for_is_dropped_where_frames_go_whole() {
    let mut bench = Bench::new(paper_004(), flow());
    bench.come(&[5000, 64]);
    assert_eq!(asked(&mut bench, 0), Some(Amount::Minislots(5)));
    assert_eq!(
        (bench.queue.given_up, bench.station.statistics().too_long),
        (1, 1)
    );
}

fn in_bytes() -> Bench {
    Bench::new(Profile::docsis_3_0(), flow())
}

#[test]
fn queue_depth_requests_cover_what_none_before_covered_in_units() {
    let mut bench = in_bytes();
    bench.come(&[1518]);
    // 1528 bytes are 382 units of 4.
    assert_eq!(asked(&mut bench, 0), Some(Amount::Bytes(1528)));
    bench.read(News {
        pending: true,
        ..bench.nothing(10)
    });
    // The first is acknowledged, so the next may be asked for beside it: 111 bytes, 28 units.
    bench.come(&[101]);
    assert_eq!(asked(&mut bench, 20), Some(Amount::Bytes(112)));
    assert_eq!(bench.station.oldest().map(|sent| sent.0), Some(0));
}

#[test]
fn all_scheduled_grants_count_and_lost_bytes_are_asked_for_again() {
    let mut bench = in_bytes();
    bench.come(&[1518; 4]);
    assert_eq!(asked(&mut bench, 0), Some(Amount::Bytes(4 * 1528)));
    let minislots = bench.profile.phy.minislots(1528 + 8);
    let capacity = bench.station.capacity(minislots);
    // Two grants, nothing pending: the rest was forgotten.
    bench.read(News {
        grants: 2,
        granted: 2 * capacity,
        ..bench.nothing(10)
    });
    let (filled, leaving) = bench.fill(100, minislots);
    assert_eq!(leaving.len(), 1);
    // What is queued and cut, less the grant to come.
    let waits = 4 * 1528 - capacity;
    let ask = (waits - capacity).div_ceil(4) * 4;
    assert_eq!(
        filled.request.map(|request| request.amount),
        Some(Amount::Bytes(ask))
    );
    assert_eq!(bench.station.oldest().map(|sent| sent.0), Some(100));
    let (filled, _) = bench.fill(200, minislots);
    assert_eq!(filled.request, None, "all is asked for");
}

#[test]
fn a_policy_without_piggyback_contends_behind_its_grant() {
    let mut bench = Bench::new(
        Profile::docsis_3_0(),
        FlowConfig {
            policy: Policy(Policy::PIGGYBACK),
            ..flow()
        },
    );
    bench.come(&[1518; 2]);
    asked(&mut bench, 0);
    bench.grant(10, 20);
    assert_eq!(bench.station.deferring(), None);
    let (filled, _) = bench.fill(100, 20);
    assert_eq!(filled.request, None);
    assert!(bench.station.deferring().is_some());
}

#[test]
fn no_more_than_64_requests_are_outstanding() {
    let mut bench = in_bytes();
    for sent in 0..100 {
        bench.come(&[64]);
        bench.contend(sent);
        bench.read(News {
            pending: true,
            ..bench.nothing(sent + 1)
        });
    }
    assert_eq!(bench.station.statistics().requests_contention, 64);
}

#[test]
fn a_queue_is_told_of_what_a_map_granted_and_of_what_waits_behind_it() {
    let mut bench = in_bytes();
    bench.come(&[1518; 4]);
    asked(&mut bench, 0);
    let minislots = bench.profile.phy.minislots(1528 + 8);
    let capacity = bench.station.capacity(minislots);
    bench.read(News {
        grants: 2,
        granted: 2 * capacity,
        pending: true,
        ..bench.nothing(10)
    });
    bench.grant(20, bench.profile.phy.minislots(2 * 1528 + 8));
    let rest = bench
        .station
        .capacity(bench.profile.phy.minislots(2 * 1528 + 8));
    let maps = [(2 * capacity, 4 * 1528 - 2 * capacity), (rest, 0)];
    assert_eq!(bench.queue.maps, maps);
}
