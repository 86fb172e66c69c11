// SPDX-License-Identifier: Apache-2.0
//! Scheduling services, end to end (mac.md, "Scheduling services"). The
//! rule for vectors is in `agreement`.

use mac_wire::{Clock, FlowConfig, Minislot, Periodic, Policy, Profile, Service, Sid};

use crate::agreement::{SEEDS, Vector, distribution};
use crate::bucket::Bucket;
use crate::plant::{Plant, Random, lone_delays, with_flows};
use crate::scenario::Record;

const MILLISECOND: u64 = 1_000_000;

fn with_proactive_grants(sid: u16, interval: u64, rate: u64) -> FlowConfig {
    FlowConfig {
        service: Service::Proactive {
            interval,
            rate,
            request_interval: 0,
            activity_detection: true,
        },
        ..FlowConfig::best_effort(Sid(sid))
    }
}

/// mac.md: a packet that fits a proactive grant has a delay that is uniform from 445 us to an interval
/// more.
fn proactive(interval: u64, greatest: f64) {
    let flow = with_proactive_grants(1, interval, 5_000_000);
    let samples: Vec<Vec<f64>> = (0..SEEDS)
        .map(|seed| {
            // 64 bytes and 10 of header: of 135 us, a grant has 89 at the least.
            let delays = lone_delays(&Profile::docsis_3_1(15), flow, 64, 200, seed);
            delays.iter().map(|&delay| delay as f64 / 1e3).collect()
        })
        .collect();
    let width = greatest - 445.0;
    let vector = Vector {
        mean: 445.0 + width / 2.0,
        sd: Some(width / 12_f64.sqrt()),
        least: 445.0,
        greatest,
        quantiles: &[],
        // mac.md's are whole, and exact.
        digit: 0.0,
        range_digit: 0.0,
        quantile_error: 0.0,
    };
    distribution(&format!("proactive, {interval} ns"), &samples, &vector);
}

#[test]
fn a_packet_that_fits_a_proactive_grant_of_each_frame() {
    proactive(135_000, 580.0);
}

#[test]
fn a_packet_that_fits_a_proactive_grant_of_each_map() {
    proactive(2_025_000, 2470.0);
}

/// A call of 50 frames a second beside modems that always send: the call's delays, nanoseconds.
fn call_beside_uploads(profile: &Profile, interval: u64, jitter: u64) -> Vec<u64> {
    const LENGTH: u32 = 218;
    let call = FlowConfig {
        service: Service::Unsolicited {
            grants: Periodic { interval, jitter },
            size: LENGTH + profile.header,
            per_interval: 1,
        },
        policy: Policy::USUAL_UNSOLICITED,
        ..FlowConfig::best_effort(Sid(1))
    };
    let uploads = (2..=6).map(|sid| FlowConfig::best_effort(Sid(sid)));
    let (mut channel, mut plant) = with_flows(profile, [call].into_iter().chain(uploads), 1);
    for sid in 2..=6 {
        let queue = plant.lengths(Sid(sid));
        queue.endless = Some(1518);
        for _ in 0..40 {
            queue.push(0, 1518);
        }
        channel.wake(0, Sid(sid), &mut plant);
    }
    let mut record = Record::default();
    // Not in step with the grants: a frame meets all phases of an interval.
    for n in 1..=200 {
        let at = n * (interval + 99_991);
        channel.step(at, &mut plant, &mut record);
        plant.lengths(Sid(1)).push(at, LENGTH);
        channel.wake(at, Sid(1), &mut plant);
    }
    channel.step(
        201 * (interval + 99_991) + interval,
        &mut plant,
        &mut record,
    );
    assert_grants_keep_their_jitter(profile, &record, interval, jitter);
    assert!(
        plant.delivered.iter().any(|(_, sid, _)| sid.0 > 1),
        "nobody else sends"
    );
    delays(&plant, Sid(1))
}

fn delays(plant: &Plant, sid: Sid) -> Vec<u64> {
    let own = plant.delivered.iter().filter(|one| one.1 == sid);
    own.map(|(now, _, packet)| now - packet.born).collect()
}

/// Each grant starts in [t0 + i * interval, + jitter] for some t0.
fn assert_grants_keep_their_jitter(profile: &Profile, record: &Record, interval: u64, jitter: u64) {
    let starts: Vec<u64> = record
        .bursts
        .iter()
        .filter(|burst| burst.1 == Sid(1))
        .map(|burst| profile.clock.start(Minislot(burst.2.first.0)))
        .collect();
    assert!(starts.len() > 100);
    let late = |n: usize| starts[n] as i128 - n as i128 * i128::from(interval);
    let (least, most) = (
        (0..starts.len()).map(late).min().unwrap(),
        (0..starts.len()).map(late).max().unwrap(),
    );
    assert!(
        most - least <= i128::from(jitter),
        "grants wander by {} ns, more than their jitter of {jitter}",
        most - least
    );
}

#[test]
fn a_call_waits_a_grant_interval_and_its_own_frame_whatever_else_is_sent() {
    for name in ["docsis-1.1-004", "docsis-3.0", "docsis-3.1"] {
        let profile = Profile::named(name).unwrap();
        let (interval, jitter) = (20 * MILLISECOND, 2 * MILLISECOND);
        let delays = call_beside_uploads(&profile, interval, jitter);
        assert_eq!(delays.len(), 200, "{name}");
        // It just misses the preparation of a grant at the start of its window; the next is at the end
        // of its.
        let clock = profile.clock;
        let taken = profile
            .phy
            .minislots(u64::from(218 + profile.header + profile.segment_header));
        let sent = clock.end(Minislot(u64::from(taken))) + clock.end(Minislot(0));
        let timing = profile.timing;
        let bound = interval + jitter + timing.burst_preparation + sent + timing.delivery;
        let worst = delays.iter().max().unwrap();
        assert!(*worst <= bound, "{name}: {worst} ns is above {bound}");
    }
}

#[test]
fn an_active_flow_resumes_its_grants_after_a_poll() {
    let (interval, polls) = (10 * MILLISECOND, 20 * MILLISECOND);
    let flow = FlowConfig {
        service: Service::UnsolicitedWithActivity {
            grants: Periodic {
                interval,
                jitter: 2 * MILLISECOND,
            },
            size: 300,
            per_interval: 1,
            polls: Periodic {
                interval: polls,
                jitter: 2 * MILLISECOND,
            },
        },
        policy: Policy::USUAL_UNSOLICITED,
        ..FlowConfig::best_effort(Sid(1))
    };
    let profile = Profile::docsis_3_0();
    let (mut channel, mut plant) = with_flows(&profile, [flow].into_iter(), 1);
    let mut record = Record::default();
    // A second of silence, then a talk of a second, twice.
    for second in [1, 3] {
        for n in 0..100 {
            let at = second * 1000 * MILLISECOND + n * interval;
            channel.step(at, &mut plant, &mut record);
            plant.lengths(Sid(1)).push(at, 218);
            channel.wake(at, Sid(1), &mut plant);
        }
    }
    channel.step(5000 * MILLISECOND, &mut plant, &mut record);
    assert_eq!(plant.delivered.len(), 200);
    let station = channel.station(Sid(1)).unwrap().statistics();
    assert!(station.polls > 50, "{station:?}");
    assert!(station.requests_polled >= 2, "{station:?}");
    // 200 frames, and few grants beyond them: silence is three seconds, 300 grants of a flow that
    // never pauses.
    assert!(station.grants < 300, "{station:?}");
    assert_eq!(station.requests_contention, 0);
}

#[test]
fn a_polled_flow_never_contends_and_waits_a_polling_interval_at_the_most() {
    let every = Periodic {
        interval: 10 * MILLISECOND,
        jitter: 2 * MILLISECOND,
    };
    let flow = FlowConfig {
        service: Service::RealTimePolling(every),
        policy: Policy::USUAL_REAL_TIME_POLLING,
        ..FlowConfig::best_effort(Sid(1))
    };
    let profile = Profile::docsis_3_0();
    let delays = lone_delays(&profile, flow, 1518, 200, 1);
    // The poll, the request's way to the next MAP but one, and that MAP.
    let timing = profile.timing;
    let answer = timing.request_heard + timing.map_ahead + 2 * profile.map_length();
    let bound = every.interval + every.jitter + answer + timing.delivery + MILLISECOND;
    let worst = *delays.iter().max().unwrap();
    assert!(worst <= bound, "{worst} ns is above {bound}");
    assert!(
        worst > every.interval,
        "polls come more often than they should"
    );
}

#[test]
fn a_shaped_upload_gets_its_rate_and_not_more() {
    const RATE: u64 = 10_000_000;
    // As much as earns in 40 ms, which no request takes: so the bucket never stays full, and a flow
    // that always sends differs from its rate by the bucket's depth at the most.
    const DEPTH: u64 = 50_000;
    for (name, pays_requests) in [
        ("docsis-3.0", false),
        ("docsis-3.0", true),
        ("docsis-3.1", false),
        ("docsis-3.1", true),
        ("cablelabs-2014", true),
    ] {
        let flow = FlowConfig {
            max_sustained_rate: RATE,
            max_burst: DEPTH,
            ..FlowConfig::best_effort(Sid(1))
        };
        let profile = Profile::named(name).unwrap();
        let (mut channel, mut plant) = with_flows(&profile, [flow].into_iter(), 1);
        let queue = plant.lengths(Sid(1));
        queue.buckets = vec![Bucket::new(RATE, DEPTH)];
        queue.pays_requests = pays_requests;
        queue.endless = Some(1518);
        for _ in 0..100 {
            queue.push(0, 1518);
        }
        channel.wake(0, Sid(1), &mut plant);
        let mut sent = |seconds: u64| {
            channel.step(seconds * 1000 * MILLISECOND, &mut plant, &mut ());
            1518 * plant.delivered.len() as u64
        };
        let first = sent(1);
        let bytes = sent(3) - first;
        let rate = 2 * RATE / 8;
        assert!(
            bytes.abs_diff(rate) <= DEPTH,
            "{name}, paying for requests {pays_requests}: {bytes} bytes, and the rate is {rate}"
        );
    }
}

/// The rate counts Ethernet frames, and the shorter they are, the more headers they have.
#[test]
fn a_shaped_flow_of_short_frames_gets_its_rate() {
    const DEPTH: u64 = 3044;
    for (name, rate) in [
        ("docsis-1.1-004", 640_000),
        ("docsis-3.0", 2_000_000),
        ("docsis-3.1", 2_000_000),
    ] {
        let profile = Profile {
            piggyback: true,
            ..Profile::named(name).unwrap()
        };
        for length in [64, 70, 118, 200, 1518] {
            let flow = FlowConfig {
                max_sustained_rate: rate,
                max_burst: DEPTH,
                peak_rate: 2 * rate,
                ..FlowConfig::best_effort(Sid(1))
            };
            let (mut channel, mut plant) = with_flows(&profile, [flow].into_iter(), 1);
            let queue = plant.lengths(Sid(1));
            queue.buckets = vec![Bucket::new(rate, DEPTH)];
            queue.endless = Some(length);
            for _ in 0..100 {
                queue.push(0, length);
            }
            channel.wake(0, Sid(1), &mut plant);
            let mut sent = |seconds: u64| {
                channel.step(seconds * 1000 * MILLISECOND, &mut plant, &mut ());
                u64::from(length) * plant.delivered.len() as u64
            };
            let first = sent(1);
            let bytes = sent(3) - first;
            let due = 2 * rate / 8;
            assert!(
                bytes * 1000 > due * 995 && bytes <= due + DEPTH,
                "{name}, frames of {length} bytes: {bytes} of {due} bytes"
            );
        }
    }
}

/// A modem alone meets nobody, so none of its requests is lost, whenever they are heard beside Ack
/// Time.
#[test]
fn a_modem_alone_takes_no_request_for_lost() {
    let named = |name| Profile {
        piggyback: true,
        ..Profile::named(name).unwrap()
    };
    let of_3_0 = named("docsis-3.0");
    let long_requests = Profile {
        request_minislots: 8,
        ..of_3_0.clone()
    };
    let long_minislots = Profile {
        map_minislots: 20,
        clock: Clock {
            frame_ps: 100_000_000,
            ..of_3_0.clock
        },
        ..of_3_0
    };
    let all = Profile::NAMES.into_iter().map(named);
    for profile in all.chain([long_requests, long_minislots]) {
        let name = &profile.name;
        let mut contended = 0;
        for gap in [1_700_000, 2_100_000, 3_000_000, 4_300_000, 9_100_000] {
            let flow = FlowConfig::best_effort(Sid(1));
            let (mut channel, mut plant) = with_flows(&profile, [flow].into_iter(), 1);
            let mut random = Random::new(gap);
            let mut at = 0;
            for _ in 0..2000 {
                at += gap / 2 + random.below(gap);
                channel.step(at, &mut plant, &mut ());
                plant.lengths(Sid(1)).push(at, 318);
                channel.wake(at, Sid(1), &mut plant);
            }
            channel.step(at + 100 * MILLISECOND, &mut plant, &mut ());
            let station = channel.station(Sid(1)).unwrap().statistics();
            assert_eq!(channel.statistics().requests_collided, 0);
            contended += station.requests_contention;
            assert_eq!(station.requests_lost, 0, "{name}, {gap} ns: {station:?}");
            assert_eq!(plant.delivered.len(), 2000, "{name}: {station:?}");
        }
        assert!(contended > 200, "{name}: {contended}");
    }
}

/// Proactive grants come whether anybody asks or not: a flow that may not ask in them contends for what
/// they do not cover.
#[test]
fn a_flow_with_proactive_grants_contends_if_it_may_not_piggyback() {
    for (profile, interval) in [
        (Profile::docsis_3_0(), MILLISECOND),
        (Profile::docsis_3_1(15), 135_000),
        (Profile::docsis_3_1(15), 500_000),
    ] {
        let flow = FlowConfig {
            policy: Policy(Policy::PIGGYBACK),
            ..with_proactive_grants(1, interval, 1_000_000)
        };
        let (mut channel, mut plant) = with_flows(&profile, [flow].into_iter(), 1);
        for n in 0..1000 {
            // 10 Mbit/s.
            let at = n * 1_214_400;
            channel.step(at, &mut plant, &mut ());
            plant.lengths(Sid(1)).push(at, 1518);
            channel.wake(at, Sid(1), &mut plant);
        }
        let station = channel.station(Sid(1)).unwrap().statistics();
        let delivered = plant.delivered.len();
        assert!(delivered > 980, "{delivered} of 1000: {station:?}");
        assert_eq!(station.requests_piggybacked, 0);
    }
}

/// A proactive grant comes in every MAP, also in one that was made before a request was heard: that
/// answers nothing.
#[test]
fn a_proactive_grant_answers_no_request_before_it_was_heard() {
    for (profile, services) in [
        (
            Profile::docsis_3_0(),
            [(1_000_000, 1_000_000), (10_000_000, 300_000)],
        ),
        (
            Profile::docsis_3_1(15),
            [(135_000, 1_000_000), (2_025_000, 5_000_000)],
        ),
    ] {
        let timing = profile.timing;
        let soonest = timing.map_ahead + timing.request_heard.min(timing.piggyback_heard);
        for (interval, rate) in services {
            for policy in [Policy::USUAL, Policy(Policy::PIGGYBACK)] {
                let flow = FlowConfig {
                    policy,
                    ..with_proactive_grants(1, interval, rate)
                };
                let (mut channel, mut plant) = with_flows(&profile, [flow].into_iter(), 1);
                let mut random = Random::new(interval);
                let mut at = 0;
                for _ in 0..1000 {
                    at += random.below(3_000_000);
                    channel.step(at, &mut plant, &mut ());
                    for _ in 0..random.below(4) {
                        let length = 64 + random.below(1455) as u32;
                        plant.lengths(Sid(1)).push(at, length);
                    }
                    channel.wake(at, Sid(1), &mut plant);
                }
                let answers = &channel.statistics().request_to_grant;
                let station = channel.station(Sid(1)).unwrap().statistics();
                assert!(answers.count() > 100, "{station:?}");
                let (least, _) = answers.range().unwrap();
                assert!(
                    least >= soonest,
                    "{}, {interval} ns, {policy:?}: {least} ns, and no MAP answers before {soonest} ns",
                    profile.name,
                );
                // A modem alone meets nobody.
                assert_eq!(station.requests_lost, 0, "{}, {station:?}", profile.name);
            }
        }
    }
}

/// Two that always ask at once: proactive grants tell neither that it was heard.
#[test]
fn requests_that_collide_are_lost_beside_proactive_grants_too() {
    let profile = Profile {
        piggyback: false,
        ..Profile::docsis_3_1(15)
    };
    let flows = (1..=2).map(|sid| with_proactive_grants(sid, 500_000, 200_000));
    let (mut channel, mut plant) = with_flows(&profile, flows, 1);
    for n in 0..200 {
        let at = n * 20 * MILLISECOND;
        channel.step(at, &mut plant, &mut ());
        for sid in [Sid(1), Sid(2)] {
            for _ in 0..8 {
                plant.lengths(sid).push(at, 1518);
            }
            channel.wake(at, sid, &mut plant);
        }
    }
    channel.step(200 * 20 * MILLISECOND, &mut plant, &mut ());
    let lost = |sid| {
        channel
            .station(Sid(sid))
            .unwrap()
            .statistics()
            .requests_lost
    };
    let collided = channel.statistics().requests_collided;
    assert!(collided >= 400, "{collided}");
    assert_eq!(lost(1) + lost(2), collided);
}
