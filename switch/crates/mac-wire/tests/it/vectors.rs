// SPDX-License-Identifier: Apache-2.0
//! mac.md's vectors A and B, and K1's delay, follow from the numbers of the profiles: here a lone
//! packet's access is counted out with nothing but a profile, every case of it, without drawing.
//! What scheduler and modems make of them is tested where they are.

use mac_wire::{Minislot, Profile};

const MILLISECOND: u64 = 1_000_000;

/// Sum and number of delays, nanoseconds.
#[derive(Default)]
struct Delays {
    sum: u128,
    count: u128,
    min: Option<u64>,
    max: u64,
}

impl Delays {
    fn add(&mut self, delay: u64) {
        self.sum += u128::from(delay);
        self.count += 1;
        self.min = Some(self.min.map_or(delay, |min| min.min(delay)));
        self.max = self.max.max(delay);
    }

    /// In tenths of a microsecond, rounded.
    fn mean_tenths(&self) -> u128 {
        (self.sum + 50 * self.count) / (100 * self.count)
    }
}

/// The first minislot of the `index`-th MAP, all of them of usual length.
fn start(profile: &Profile, index: u64) -> Minislot {
    Minislot(index * u64::from(profile.map_minislots))
}

/// The first MAP that a request is heard for whose last minislot is this.
fn map_of_grant(profile: &Profile, request: Minislot) -> u64 {
    let heard = profile.clock.end(request) + profile.timing.request_heard;
    (1..)
        .find(|index| profile.map_made(start(profile, index - 1), start(profile, *index)) >= heard)
        .unwrap()
}

/// When a frame is delivered whose burst has so many minislots from `first` on.
fn delivered(profile: &Profile, first: Minislot, minislots: u32) -> u64 {
    profile
        .clock
        .end(Minislot(first.0 + u64::from(minislots) - 1))
        + profile.timing.delivery
}

/// The delay of a packet that arrives in the third MAP, `now` after its start, and asks in the
/// `skipped + 1`-th opportunity of those at the heads of MAPs; it is granted right behind them.
fn delay_of_004(profile: &Profile, now: u64, skipped: u32, minislots: u32) -> u64 {
    let arrival = profile.clock.start(start(profile, 2)) + now;
    let opportunity = (2_u64..)
        .flat_map(|index| {
            let head = start(profile, index).0;
            (head..head + u64::from(profile.contention_opportunities())).map(Minislot)
        })
        .filter(|slot| profile.clock.start(*slot) >= arrival)
        .nth(skipped as usize)
        .unwrap();
    let index = map_of_grant(profile, opportunity);
    let first = start(profile, index).0 + u64::from(profile.contention_minislots);
    delivered(profile, Minislot(first), minislots) - arrival
}

/// Arrivals at these distances of each other, windows of that many opportunities.
fn delays_of_004(map_time: u64, window: u32, minislots: u32) -> Delays {
    let profile = Profile::docsis_1_1_004(map_time).unwrap();
    let mut delays = Delays::default();
    // The delay falls evenly with the arrival but at minislots' starts, so the middles of
    // microseconds have its mean.
    for now in (500..map_time).step_by(1000) {
        for skipped in 0..window {
            delays.add(delay_of_004(&profile, now, skipped, minislots));
        }
    }
    delays
}

#[test]
fn the_clock_of_004_gives_vector_a() {
    for (milliseconds, mean, min, max) in [
        (1, 5_012_500, 4_425_000, 5_600_000),
        (2, 7_512_500, 6_425_000, 8_600_000),
        (5, 15_012_500, 12_425_000, 17_600_000),
        (10, 27_512_500, 22_425_000, 32_600_000),
    ] {
        let map_time = milliseconds * MILLISECOND;
        let profile = Profile::docsis_1_1_004(map_time).unwrap();
        let window = 1 << profile.backoff.start;
        let minislots = profile.phy.minislots(1518 + u64::from(profile.header));
        let delays = delays_of_004(map_time, window, minislots);
        assert_eq!(delays.sum / delays.count, mean, "{milliseconds} ms");
        // Both ends are at the starts of minislots: the least there, the greatest a moment later.
        let mut ends = Delays::default();
        for slot in (0..map_time).step_by(25_000) {
            for skipped in 0..window {
                ends.add(delay_of_004(&profile, slot, skipped, minislots));
                ends.add(delay_of_004(&profile, slot + 1, skipped, minislots));
            }
        }
        assert_eq!(ends.min, Some(min), "{milliseconds} ms");
        assert_eq!(ends.max, max - 1, "{milliseconds} ms");
    }
}

#[test]
fn vector_a_with_a_window_of_1_and_with_an_acknowledgement() {
    let delays = delays_of_004(2 * MILLISECOND, 1, 96);
    assert_eq!(delays.sum / delays.count, 7_425_000);
    let delays = delays_of_004(2 * MILLISECOND, 8, 5);
    assert_eq!(delays.sum / delays.count, 5_237_500);
}

#[test]
fn a_request_of_004_is_granted_in_the_second_map_behind_it_and_acknowledged_there() {
    for milliseconds in [1, 2, 3, 5, 10] {
        let profile = Profile::docsis_1_1_004(milliseconds * MILLISECOND).unwrap();
        let opportunities = u64::from(profile.contention_opportunities());
        for slot in 0..opportunities {
            let request = Minislot(start(&profile, 5).0 + slot);
            assert_eq!(map_of_grant(&profile, request), 7);
        }
        // The MAP that grants acknowledges all of that interval, and none of the next.
        let ack = profile.ack(start(&profile, 6), start(&profile, 7));
        assert_eq!(ack, start(&profile, 6));
        // Where the interval before it is stretched, it still is made at the start of that one.
        let late = Minislot(start(&profile, 7).0 + 71);
        assert_eq!(profile.ack(start(&profile, 6), late), start(&profile, 6));
        assert_eq!(
            profile.map_made(start(&profile, 6), late),
            profile.clock.start(start(&profile, 6))
        );
    }
}

#[test]
fn a_map_with_a_full_frame_lasts_2775_us() {
    let profile = Profile::docsis_1_1_004(2 * MILLISECOND).unwrap();
    let frame = profile.phy.minislots(1518 + u64::from(profile.header));
    let minislots = profile.contention_minislots + profile.maintenance_minislots + frame;
    assert_eq!(profile.clock.start(Minislot(minislots.into())), 2_775_000);
}

/// All cases of docsis-ns3's access: arrivals, the frames with the request opportunity in that MAP
/// and the next, and the places of the grant.
fn delays_of_docsis_ns3(profile: &Profile, bytes: u64) -> (Delays, Delays) {
    let frame = profile.clock.frame_length();
    let per_frame = u64::from(profile.clock.per_frame);
    let frames = profile.map_length() / frame;
    let minislots = profile.phy.minislots(bytes);
    let opportunity = |index, of: u64| Minislot(start(profile, index).0 + of * per_frame);
    // From the arrival to the start of the MAP with the grant.
    let mut waits = Delays::default();
    for arrival_frame in 0..frames {
        for this in 0..frames {
            for next in 0..frames {
                for within in [1, frame / 2, frame] {
                    let now =
                        profile.clock.start(start(profile, 5)) + arrival_frame * frame + within;
                    let request = [opportunity(5, this), opportunity(6, next)]
                        .into_iter()
                        .find(|slot| profile.clock.start(*slot) >= now)
                        .unwrap();
                    let granted = profile
                        .clock
                        .start(start(profile, map_of_grant(profile, request)));
                    waits.add(granted - now);
                }
            }
        }
    }
    // From there to the delivery.
    let mut grants = Delays::default();
    for place in 0..=u64::from(profile.map_minislots - minislots) {
        grants.add(delivered(profile, Minislot(place), minislots));
    }
    (waits, grants)
}

#[test]
fn the_numbers_of_docsis_ns3_give_vector_b() {
    for (frames, bytes, mean, extremes) in [
        (15, 1528, 50_389, Some((1_930_000, 8_275_000))),
        (7, 1528, 33_360, Some((1_930_000, 4_900_000))),
        (15, 92, 50_308, None),
        (7, 92, 33_285, None),
    ] {
        let profile = Profile::docsis_3_1(frames);
        let (waits, grants) = delays_of_docsis_ns3(&profile, bytes);
        // The wait falls evenly within a frame, so its two ends and its middle have its mean, but for
        // a third of the nanosecond by which the first end is late.
        let mean_of_sums = waits.sum * grants.count + grants.sum * waits.count;
        let count = waits.count * grants.count;
        let tenths = (mean_of_sums + 50 * count) / (100 * count);
        assert_eq!(tenths, mean, "{frames} frames, {bytes} bytes");
        if let Some((min, max)) = extremes {
            assert_eq!(
                waits.min.unwrap() + grants.min.unwrap(),
                min,
                "{frames} frames"
            );
            assert_eq!(waits.max + grants.max, max - 1, "{frames} frames");
        }
    }
}

#[test]
fn the_times_of_docsis_ns3_are_those_of_vector_b() {
    let profile = Profile::docsis_3_1(15);
    let (previous, first) = (start(&profile, 4), start(&profile, 5));
    let at = profile.clock.start(first);
    assert_eq!(profile.map_length(), 2_025_000);
    assert_eq!(profile.map_made(previous, first), at - 1_110_000);
    let at_modem = profile.map_made(previous, first) + profile.timing.map_to_modem;
    assert_eq!(at_modem, at - 757_500);
    assert_eq!(first.0 - profile.ack(previous, first).0, 12 * 235);
    // Requests of frames 0 to 3 make the next MAP, those of 4 to 14 the one after.
    for frame in 0..15 {
        let request = Minislot(first.0 + frame * 235);
        let expected = if frame < 4 { 6 } else { 7 };
        assert_eq!(map_of_grant(&profile, request), expected, "frame {frame}");
    }
    // A packet that finds a grant waiting: preparation, frame, delivery.
    let timing = profile.timing;
    let floor = timing.burst_preparation + profile.clock.frame_length() + timing.delivery;
    assert_eq!(floor, 445_000);
}

#[test]
fn a_frame_of_1500_bytes_takes_32_ofdma_minislots() {
    let profile = Profile::docsis_3_1(15);
    assert_eq!(profile.phy.minislots(1518 + u64::from(profile.header)), 32);
    assert_eq!(profile.phy.minislots(92), 2);
}

#[test]
fn k1_gives_a_wait_for_the_next_map_two_maps_and_a_uniform_place() {
    let profile = Profile::named("cablelabs-2014").unwrap();
    let minislots = profile.phy.minislots(1518 + u64::from(profile.header));
    let map_time = profile.map_length();
    assert_eq!(map_time, 2 * MILLISECOND);
    let request = start(&profile, 5);
    assert_eq!(map_of_grant(&profile, request), 7);
    let mut grants = Delays::default();
    for place in profile.contention_minislots..=profile.map_minislots - minislots {
        grants.add(delivered(&profile, Minislot(place.into()), minislots));
    }
    // Half a MAP to the next one's start, two MAPs, and half of the rest: 3 MAPs and half a burst
    // with the minislot of contention.
    let mean = map_time / 2 + 2 * map_time + (grants.sum / grants.count) as u64;
    let burst = profile.clock.start(Minislot(minislots.into()));
    let slot = profile.clock.frame_length();
    assert_eq!(mean, 3 * map_time + (burst + slot) / 2);
    assert_eq!(grants.mean_tenths(), 10_070);
}
