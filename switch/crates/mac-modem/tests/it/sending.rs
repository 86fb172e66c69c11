// SPDX-License-Identifier: Apache-2.0
//! What fills grants.

use mac_wire::{Amount, FlowConfig, Periodic, Policy, Profile, Service};

use crate::bench::{Bench, flow, paper_004};

#[test]
fn frames_go_behind_a_concatenation_header_as_far_as_they_fit() {
    let mut bench = Bench::new(paper_004(), flow());
    bench.come(&[1518; 3]);
    bench.grant(0, 192);
    let (filled, leaving) = bench.fill(100, 192);
    assert_eq!(filled.used, 6 + 2 * 1524);
    // The first one's last byte is the burst's 1530th: 96.25 minislots with the preamble.
    assert_eq!(leaving, [(1518, 196), (1518, 291)]);
    // A small grant carries one.
    bench.grant(0, 100);
    assert_eq!(bench.fill(300, 100).1, [(1518, 395)]);
}

/// Two at most, as in figure 4 of paper 004: what is asked for, and what a longer grant carries.
#[test]
fn a_concatenation_has_no_more_frames_than_the_channel_says() {
    for (most, asked, carried) in [(2, 10, 2), (3, 15, 3), (u8::MAX, 23, 5)] {
        let profile = Profile {
            concatenated_frames: most,
            ..paper_004()
        };
        let mut bench = Bench::new(profile, flow());
        bench.come(&[64; 5]);
        // 70 bytes each, 6 of the concatenation and 10 of the preamble, in minislots of 16.
        assert_eq!(
            bench.contend(0).map(|request| request.amount),
            Some(Amount::Minislots(asked))
        );
        bench.grant(10, 60);
        assert_eq!(bench.fill(100, 60).1.len(), carried);
    }
}

#[test]
fn a_small_grant_is_useless_without_fragments_and_carries_one_with_them() {
    let mut bench = Bench::new(paper_004(), flow());
    bench.come(&[1518]);
    bench.grant(0, 50);
    assert_eq!(bench.fill(100, 50).0.used, 0);
    assert_eq!(bench.station.statistics().grants_too_small, 1);

    let profile = Profile {
        fragmentation: true,
        piggyback: true,
        ..paper_004()
    };
    let mut bench = Bench::new(profile, flow());
    bench.come(&[1518]);
    bench.grant(0, 50);
    let (filled, leaving) = bench.fill(100, 50);
    // 50 minislots carry 790 bytes, 774 of them of the frame.
    assert_eq!((filled.used, leaving.len()), (790, 0));
    assert_eq!(bench.station.staged(), 1524 - 774);
    // The rest is asked for in its header: 750 and 16 bytes, and the preamble.
    assert_eq!(
        filled.request.map(|request| request.amount),
        Some(Amount::Minislots(49))
    );
    bench.grant(150, 49);
    let (filled, leaving) = bench.fill(200, 49);
    assert_eq!((filled.used, leaving), (766, vec![(1518, 248)]));
    assert_eq!(bench.station.statistics().fragments, 2);
}

#[test]
fn a_stream_is_cut_to_fit_with_a_segment_header_a_grant() {
    let mut bench = Bench::new(Profile::docsis_3_0(), flow());
    bench.come(&[1518; 2]);
    let mut arrived = Vec::new();
    let mut used = 0;
    for grant in 0..20 {
        bench.grant(0, 10);
        let (filled, leaving) = bench.fill(100 * grant, 10);
        used += filled.used.saturating_sub(8);
        arrived.extend(leaving.iter().map(|frame| frame.1 / 100));
    }
    assert_eq!(used, 2 * 1528);
    // Ten minislots of 48 bytes carry 406 bytes of stream: preamble, guard, two code words.
    let each = bench.station.capacity(10);
    assert_eq!(
        arrived,
        [1528_u64.div_ceil(each) - 1, 3056_u64.div_ceil(each) - 1]
    );
}

#[test]
fn a_head_that_egress_drops_is_replaced_at_once_by_one_that_fits() {
    let mut bench = Bench::new(paper_004(), flow());
    bench.come(&[64, 1518]);
    bench.queue.egress_drops = 1;
    bench.grant(0, 5);
    assert_eq!(bench.fill(100, 5).0.used, 0);
    assert_eq!(
        bench.queue.waiting,
        [1518],
        "the next does not fit, and egress has not run"
    );
    bench.come(&[64]);
    bench.queue.egress_drops = 1;
    bench.grant(0, 96);
    assert_eq!(bench.fill(200, 96).1, [(64, 204)]);
}

#[test]
fn a_frame_that_egress_makes_too_long_waits_for_a_grant_of_its_own() {
    let mut bench = Bench::new(paper_004(), flow());
    bench.queue.egress_adds = 100;
    bench.come(&[1400]);
    bench.grant(0, 90);
    assert_eq!(bench.fill(100, 90).0.used, 0);
    assert_eq!(bench.station.staged(), 1506);
    assert_eq!(
        bench.contend(0).map(|r| r.amount),
        Some(Amount::Minislots(95))
    );
    bench.grant(10, 95);
    assert_eq!(bench.fill(200, 95).1, [(1400, 294)]);
}

fn unsolicited(size: u32, policy: Policy) -> FlowConfig {
    FlowConfig {
        service: Service::Unsolicited {
            grants: Periodic {
                interval: 20_000_000,
                jitter: 1_000_000,
            },
            size,
            per_interval: 1,
        },
        policy,
        ..flow()
    }
}

#[test]
fn unsolicited_grants_carry_a_frame_each_and_say_when_the_queue_outgrows_them() {
    for profile in [paper_004(), Profile::docsis_3_0()] {
        let mut bench = Bench::new(profile, unsolicited(228, Policy::USUAL_UNSOLICITED));
        let minislots = bench.profile.phy.minislots(228 + 8);
        bench.come(&[200, 200]);
        assert_eq!(bench.station.deferring(), None);
        bench.grant(0, minislots);
        let (filled, leaving) = bench.fill(100, minislots);
        assert_eq!((leaving.len(), filled.queue_indicator), (1, true));
        assert_eq!(filled.request, None);
        bench.grant(0, minislots);
        assert!(!bench.fill(200, minislots).0.queue_indicator);
        bench.grant(0, minislots);
        assert_eq!(bench.fill(300, minislots).0.used, 0);
        assert_eq!(bench.station.statistics().grants_unused, 1);
        assert!(bench.poll(400).is_none(), "it never asks");
    }
}

#[test]
fn what_exceeds_an_unsolicited_grant_is_dropped_and_counted() {
    for policy in [Policy::USUAL_UNSOLICITED, Policy(0x7f)] {
        let mut bench = Bench::new(paper_004(), unsolicited(228, policy));
        bench.come(&[1518, 200]);
        let minislots = bench.profile.phy.minislots(228);
        bench.grant(0, minislots);
        assert_eq!(bench.fill(100, minislots).1.len(), 1);
        assert_eq!(
            (bench.queue.given_up, bench.station.statistics().too_long),
            (1, 1)
        );
    }
}

/// It may have been asked for before the flow got the service.
#[test]
fn a_grant_below_the_size_of_unsolicited_ones_drops_nothing() {
    for profile in [paper_004(), Profile::docsis_3_0()] {
        let mut bench = Bench::new(profile, unsolicited(228, Policy::USUAL_UNSOLICITED));
        let size = bench.profile.phy.minislots(228 + 8);
        bench.come(&[200, 200]);
        bench.grant(0, size - 4);
        assert_eq!(bench.fill(100, size - 4).0.used, 0);
        assert_eq!(bench.station.statistics().too_long, 0);
        for first in [200, 300] {
            bench.grant(0, size);
            assert_eq!(bench.fill(first, size).1.len(), 1);
        }
    }
}
