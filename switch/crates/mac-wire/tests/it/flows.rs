// SPDX-License-Identifier: Apache-2.0
//! What service flows refuse, by key.

use mac_wire::{FlowConfig, Periodic, Policy, Profile, Service, Sid};

const MILLISECOND: u64 = 1_000_000;

fn channel() -> Profile {
    Profile::docsis_1_1_004(2 * MILLISECOND).unwrap()
}

fn flow(service: Service) -> FlowConfig {
    FlowConfig {
        service,
        ..FlowConfig::best_effort(Sid(1))
    }
}

fn every(interval: u64) -> Periodic {
    Periodic {
        interval,
        jitter: MILLISECOND,
    }
}

fn calls(grants: Periodic, size: u32, per_interval: u8) -> FlowConfig {
    FlowConfig {
        policy: Policy::USUAL_UNSOLICITED,
        ..flow(Service::Unsolicited {
            grants,
            size,
            per_interval,
        })
    }
}

fn refused_key(flow: &FlowConfig) -> &'static str {
    flow.check(&channel()).unwrap_err().key
}

#[test]
fn usual_flows_are_accepted() {
    let polls = Periodic {
        interval: 20 * MILLISECOND,
        jitter: MILLISECOND,
    };
    let polled = FlowConfig {
        policy: Policy::USUAL_REAL_TIME_POLLING,
        ..flow(Service::RealTimePolling(polls))
    };
    let active = FlowConfig {
        policy: Policy::USUAL_UNSOLICITED,
        ..flow(Service::UnsolicitedWithActivity {
            grants: polls,
            size: 232,
            per_interval: 1,
            polls,
        })
    };
    for flow in [
        flow(Service::BestEffort),
        flow(Service::NonRealTimePolling(every(1000 * MILLISECOND))),
        polled,
        calls(every(20 * MILLISECOND), 232, 1),
        active,
    ] {
        assert_eq!(flow.check(&channel()), Ok(()), "{flow:?}");
    }
}

#[test]
fn best_effort_needs_broadcast_requests_and_a_channel_that_has_them() {
    let silent = FlowConfig {
        policy: Policy(Policy::BROADCAST_REQUESTS),
        ..flow(Service::BestEffort)
    };
    assert_eq!(
        silent.check(&channel()).unwrap_err().to_string(),
        "policy is 0x1, which forbids broadcast requests (bit 0): a best-effort flow then has no \
         way to ask; clear the bit, or have the flow polled."
    );
    let deaf = Profile {
        contention_minislots: 0,
        ..channel()
    };
    let asking = flow(Service::BestEffort);
    assert_eq!(asking.check(&deaf).unwrap_err().key, "service");
    let with_the_rest = Profile {
        extra_contention: true,
        ..deaf
    };
    assert_eq!(asking.check(&with_the_rest), Ok(()));
}

#[test]
fn a_flow_that_forbids_fragments_needs_bursts_as_long_as_a_frame() {
    let rigid = FlowConfig {
        policy: Policy(Policy::FRAGMENTATION),
        ..flow(Service::BestEffort)
    };
    // 80 minislots less 12 and 3 are 65, and a frame takes 96.
    let cut = Profile {
        fragmentation: true,
        stretch: false,
        ..channel()
    };
    assert_eq!(
        rigid.check(&cut).unwrap_err().to_string(),
        "policy is 0x40, which forbids fragments (bit 6): a frame of 1524 bytes takes 96 minislots, and \
         a burst has at most 65; clear the bit, or let MAPs be longer."
    );
    let polled = FlowConfig {
        policy: Policy(Policy::FRAGMENTATION),
        ..flow(Service::NonRealTimePolling(every(20 * MILLISECOND)))
    };
    assert_eq!(polled.check(&cut).unwrap_err().key, "policy");
    // Where MAPs stretch, where nobody's frames are cut, and where all are.
    let stretching = Profile {
        stretch: true,
        ..cut
    };
    for profile in [stretching, channel(), Profile::docsis_3_0()] {
        assert_eq!(rigid.check(&profile), Ok(()), "{}", profile.name);
    }
}

#[test]
fn a_jitter_holds_the_start_of_a_minislot() {
    // 20.01 ms are no whole number of minislots of 25 us.
    let odd = |jitter| {
        let interval = 20 * MILLISECOND + 10_000;
        calls(Periodic { interval, jitter }, 232, 1)
    };
    assert_eq!(
        odd(24_999).check(&channel()).unwrap_err().to_string(),
        "grants have a jitter of 24999 ns, in which no minislot may begin; with an interval of 20010000 \
         ns, which is not a whole number of frames of minislots, it has to be at least 25000 ns."
    );
    assert_eq!(odd(25_000).check(&channel()), Ok(()));
    assert_eq!(
        calls(every(20 * MILLISECOND), 232, 1).check(&channel()),
        Ok(())
    );
}

#[test]
fn intervals_are_not_0_and_not_below_a_map() {
    assert_eq!(refused_key(&calls(every(0), 232, 1)), "grants");
    assert_eq!(refused_key(&calls(every(1_999_999), 232, 1)), "grants");
    assert_eq!(calls(every(2_000_000), 232, 1).check(&channel()), Ok(()));
    assert_eq!(
        refused_key(&flow(Service::RealTimePolling(every(0)))),
        "polls"
    );
    let endless = Periodic {
        interval: u64::MAX,
        jitter: 0,
    };
    assert_eq!(refused_key(&calls(endless, 232, 1)), "grants");
}

#[test]
fn an_unsolicited_grant_has_bytes_and_fits_into_a_map() {
    let interval = every(20 * MILLISECOND);
    assert_eq!(refused_key(&calls(interval, 0, 1)), "size");
    assert_eq!(refused_key(&calls(interval, 1 << 16, 1)), "size");
    assert_eq!(refused_key(&calls(interval, 232, 0)), "per_interval");
    let rigid = Profile {
        stretch: false,
        ..channel()
    };
    // 80 minislots less 12 and 3 are 65, of 16 bytes, less 10 for the preamble.
    assert_eq!(calls(interval, 1030, 1).check(&rigid), Ok(()));
    assert_eq!(
        calls(interval, 1031, 1).check(&rigid).unwrap_err().key,
        "size"
    );
}

#[test]
fn proactive_grants_may_come_in_each_frame_and_have_a_rate() {
    let channel = Profile::docsis_3_1(15);
    let proactive = |interval, rate| {
        flow(Service::Proactive {
            interval,
            rate,
            request_interval: 0,
            activity_detection: true,
        })
    };
    assert_eq!(proactive(0, 5_000_000).check(&channel), Ok(()));
    assert_eq!(proactive(135_000, 5_000_000).check(&channel), Ok(()));
    for (interval, rate, key) in [
        (134_999, 5_000_000, "interval"),
        (u64::MAX, 5_000_000, "interval"),
        (0, 0, "rate"),
        (0, u64::MAX, "rate"),
        // A MAP of 2.025 ms has 3524 minislots of 48 bytes for data.
        (0, 668_260_000, "rate"),
    ] {
        let refused = proactive(interval, rate).check(&channel).unwrap_err();
        assert_eq!(refused.key, key);
    }
    assert_eq!(proactive(0, 668_248_000).check(&channel), Ok(()));
    let paper = Profile::docsis_1_1_004(2 * MILLISECOND).unwrap();
    assert_eq!(
        proactive(0, 100_000).check(&paper).unwrap_err().to_string(),
        "service has proactive grants, and the channel's requests are for one burst, which a grant of \
         another size would answer; use a channel whose requests are in bytes (queue depth)."
    );
}

#[test]
fn numbers_are_within_their_bounds() {
    let usual = flow(Service::BestEffort);
    let changed = |change: fn(&mut FlowConfig)| {
        let mut flow = usual;
        change(&mut flow);
        refused_key(&flow)
    };
    assert_eq!(changed(|flow| flow.sid = Sid(0)), "sid");
    assert_eq!(changed(|flow| flow.sid = Sid(0x3e00)), "sid");
    assert_eq!(changed(|flow| flow.sid = Sid::ALL), "sid");
    assert_eq!(changed(|flow| flow.priority = 8), "priority");
    assert_eq!(changed(|flow| flow.request_unit = 0), "request_unit");
    assert_eq!(changed(|flow| flow.request_unit = 17), "request_unit");
    assert_eq!(changed(|flow| flow.backoff_eighths = 0), "backoff_eighths");
    assert_eq!(changed(|flow| flow.peak_rate = u64::MAX), "peak_rate");
    assert_eq!(
        changed(|flow| {
            flow.max_sustained_rate = 1000;
            flow.min_reserved_rate = 1001;
        }),
        "min_reserved_rate"
    );
}
