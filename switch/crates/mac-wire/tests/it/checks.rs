// SPDX-License-Identifier: Apache-2.0
//! What profiles refuse, by key.

use mac_wire::{
    Asking, Backoff, Capacity, ContentionPlace, FlowConfig, Packing, Phy, Profile, Sid,
};
use proptest::prelude::*;

const MILLISECOND: u64 = 1_000_000;

fn of_004() -> Profile {
    Profile::docsis_1_1_004(2 * MILLISECOND).unwrap()
}

fn refused(profile: Profile, change: impl FnOnce(&mut Profile)) -> String {
    let mut profile = profile;
    change(&mut profile);
    profile.check().unwrap_err().to_string()
}

fn refused_key(profile: Profile, change: impl FnOnce(&mut Profile)) -> &'static str {
    let mut profile = profile;
    change(&mut profile);
    profile.check().unwrap_err().key
}

#[test]
fn profiles_are_found_by_name_and_hold() {
    for name in Profile::NAMES {
        let profile = Profile::named(name).unwrap();
        assert_eq!(profile.name, name);
        assert_eq!(profile.check(), Ok(()), "{name}");
        assert_eq!(
            FlowConfig::best_effort(Sid(1)).check(&profile),
            Ok(()),
            "{name}"
        );
    }
    assert_eq!(Profile::named("docsis-2.0"), None);
}

#[test]
fn the_map_times_of_004_and_the_lengths_of_docsis_ns3_hold() {
    for milliseconds in [1, 2, 3, 5, 10] {
        let profile = Profile::docsis_1_1_004(milliseconds * MILLISECOND).unwrap();
        assert_eq!(profile.check(), Ok(()), "{milliseconds} ms");
        assert_eq!(profile.map_length(), milliseconds * MILLISECOND);
    }
    for frames in 1..=17 {
        assert_eq!(
            Profile::docsis_3_1(frames).check(),
            Ok(()),
            "{frames} frames"
        );
    }
    for frames in [0, 18, u32::MAX] {
        let key = Profile::docsis_3_1(frames).check().unwrap_err().key;
        assert_eq!(key, "map_minislots");
    }
    for map_time in [2 * MILLISECOND + 1, 200 * MILLISECOND, u64::MAX] {
        assert_eq!(
            Profile::docsis_1_1_004(map_time).unwrap_err().key,
            "map_time"
        );
    }
    assert_eq!(
        Profile::docsis_1_1_004(0).unwrap().check().unwrap_err().key,
        "map_minislots"
    );
}

#[test]
fn the_lines_of_k1_divide_into_minislots_of_whole_bytes() {
    // F11's line, its capacities, those of section 10, and the paper's rates.
    for megabits in [
        10, 12, 18, 20, 60, 100, 120, 165, 180, 185, 190, 200, 225, 250, 1000,
    ] {
        let rate = megabits * 1_000_000;
        let profile = Profile::cablelabs_2014(rate).unwrap();
        assert_eq!(profile.check(), Ok(()), "{megabits} Mbit/s");
        assert_eq!(profile.map_length(), 2 * MILLISECOND);
        let bytes = profile.phy.bytes(profile.map_minislots);
        assert_eq!(bytes, rate / 4000, "{megabits} Mbit/s");
    }
    assert!(Profile::cablelabs_2014(400_000).is_ok());
    for rate in [0, 3999, 4001, 1_000_001, u64::MAX] {
        assert_eq!(Profile::cablelabs_2014(rate).unwrap_err().key, "line_rate");
    }
}

#[test]
fn contention_that_fills_the_map_is_refused() {
    assert_eq!(
        refused(of_004(), |profile| profile.contention_minislots = 77),
        "contention_minislots is 77, which with 3 for maintenance fills a MAP of 80; leave minislots \
         for data."
    );
    assert_eq!(
        refused_key(of_004(), |profile| profile.maintenance_minislots = u32::MAX),
        "contention_minislots"
    );
    assert_eq!(
        refused_key(of_004(), |profile| profile.request_minislots = 13),
        "contention_minislots"
    );
    assert_eq!(
        refused_key(of_004(), |profile| profile.request_minislots = 0),
        "request_minislots"
    );
    assert_eq!(
        refused_key(of_004(), |profile| {
            profile.contention_place = ContentionPlace::RandomFrame;
        }),
        "contention_minislots"
    );
}

#[test]
fn a_backoff_that_goes_down_or_is_too_long_is_refused() {
    assert_eq!(
        refused(of_004(), |profile| profile.backoff =
            Backoff { start: 8, end: 7 }),
        "backoff.start is 8, above backoff.end, 7; the first window is the least."
    );
    assert_eq!(
        refused_key(of_004(), |profile| profile.backoff =
            Backoff { start: 3, end: 16 }),
        "backoff.end"
    );
    assert_eq!(refused_key(of_004(), |profile| profile.tries = 0), "tries");
}

#[test]
fn a_map_that_is_shorter_than_its_lead_time_is_refused() {
    // Made when the MAP before begins: the MAP's own length is all the lead there is.
    assert_eq!(
        refused(of_004(), |profile| {
            profile.timing.map_to_modem = 1_400_000;
            profile.timing.map_processing = 650_000;
        }),
        "map_minislots makes MAPs that are made 2000000 ns before their start, and modems need 2050000 \
         ns (timing.map_to_modem, and map_processing or burst_preparation); make it longer."
    );
    for profile in [Profile::docsis_3_0(), Profile::docsis_3_1(15)] {
        let key = refused_key(profile, |profile| {
            profile.timing.map_ahead = profile.timing.map_to_modem;
        });
        assert_eq!(key, "timing.map_ahead");
    }
    assert_eq!(
        refused_key(of_004(), |profile| profile.map_minislots = 120),
        "timing.map_ahead"
    );
    // A MAP may well be shorter than its lead: several are then on their way.
    assert_eq!(Profile::docsis_3_1(7).check(), Ok(()));
    let key = refused_key(Profile::docsis_3_1(1), |profile| {
        profile.timing.map_ahead = 9 * MILLISECOND;
    });
    assert_eq!(key, "timing.map_ahead");
}

#[test]
fn a_map_that_nobody_could_keep_up_with_is_refused() {
    assert_eq!(
        refused(Profile::docsis_3_1(15), |profile| {
            profile.clock.per_frame = 1;
            profile.clock.frame_ps = 1000;
            profile.map_minislots = 1;
            profile.contention_minislots = 0;
            profile.maintenance_minislots = 0;
        }),
        "map_minislots makes MAPs of 1 ns; a MAP has to take at least 100000 ns; make it longer."
    );
    let map = |minislots| {
        let mut profile = Profile::docsis_3_0();
        profile.map_minislots = minislots;
        profile.contention_minislots = 0;
        profile.check().err().map(|refused| refused.key)
    };
    // Minislots of 12.5 us.
    assert_eq!(map(7), Some("map_minislots"));
    assert_eq!(map(8), None);
}

#[test]
fn ack_time_does_not_cover_what_nobody_has_heard() {
    for name in Profile::NAMES {
        let key = refused_key(Profile::named(name).unwrap(), |profile| {
            let timing = &mut profile.timing;
            let heard = timing.request_heard.max(timing.piggyback_heard);
            timing.ack_before_start = timing.map_ahead + heard - 1;
        });
        assert_eq!(key, "timing.ack_before_start", "{name}");
    }
}

#[test]
fn sizes_are_not_0_and_within_bounds() {
    let no_bytes = Phy::Flat {
        minislot_bytes: 0,
        overhead: 10,
    };
    let no_bits = Phy::ScQam {
        minislot_bits: 0,
        preamble_bits: 0,
        guard_bits: 0,
        codeword_data: 220,
        codeword_parity: 16,
    };
    let too_long = Phy::ScQam {
        minislot_bits: 128,
        preamble_bits: 0,
        guard_bits: 0,
        codeword_data: 240,
        codeword_parity: 16,
    };
    let too_short = Phy::ScQam {
        minislot_bits: 128,
        preamble_bits: 0,
        guard_bits: 0,
        codeword_data: 15,
        codeword_parity: 16,
    };
    for (phy, key) in [
        (no_bytes, "phy.minislot_bytes"),
        (Phy::Ofdma { minislot_bytes: 0 }, "phy.minislot_bytes"),
        (no_bits, "phy.minislot_bits"),
        (too_long, "phy.codeword_parity"),
        (too_short, "phy.codeword_data"),
    ] {
        assert_eq!(refused_key(of_004(), |profile| profile.phy = phy), key);
    }
    let key = |change: fn(&mut Profile)| refused_key(of_004(), change);
    assert_eq!(
        key(|profile| profile.clock.per_frame = 0),
        "clock.per_frame"
    );
    assert_eq!(key(|profile| profile.clock.frame_ps = 0), "clock.frame_ps");
    assert_eq!(key(|profile| profile.map_minislots = 0), "map_minislots");
    assert_eq!(key(|profile| profile.map_minislots = 4097), "map_minislots");
    assert_eq!(key(|profile| profile.header = 5), "header");
    assert_eq!(key(|profile| profile.header = 247), "header");
    let frames = refused_key(Profile::docsis_3_1(15), |profile| {
        profile.map_minislots = 3524
    });
    assert_eq!(frames, "map_minislots");
}

#[test]
fn a_full_frame_has_to_fit_into_what_is_granted() {
    assert_eq!(
        refused(of_004(), |profile| profile.stretch = false),
        "map_minislots leaves 65 minislots for data, and a frame of 1524 bytes takes 96; let MAPs \
         stretch, or frames be cut."
    );
    let mut cut = of_004();
    cut.stretch = false;
    cut.fragmentation = true;
    assert_eq!(cut.check(), Ok(()));
    // 4 bytes a minislot: 384 of them, and a request counts to 255.
    let narrow = Phy::Flat {
        minislot_bytes: 4,
        overhead: 10,
    };
    assert_eq!(
        refused_key(of_004(), |profile| profile.phy = narrow),
        "asking"
    );
}

#[test]
fn asking_and_packing_go_together() {
    assert_eq!(
        refused_key(Profile::docsis_3_0(), |profile| profile.asking =
            Asking::OneBurst),
        "packing"
    );
    assert_eq!(
        refused(of_004(), |profile| profile.asking = Asking::QueueDepth),
        "packing is not continuous, and asking is in bytes (queue depth), which say nothing of frames; \
         make packing continuous, or ask for one burst of minislots."
    );
    assert_eq!(
        refused_key(of_004(), |profile| profile.segment_header = 8),
        "segment_header"
    );
    assert_eq!(
        refused_key(Profile::docsis_3_0(), |profile| profile.segment_header = 4),
        "segment_header"
    );
    assert_eq!(
        refused_key(of_004(), |profile| profile.concatenated_frames = 1),
        "concatenated_frames"
    );
    let single = Profile {
        packing: Packing::Single,
        ..of_004()
    };
    assert_eq!(single.check(), Ok(()));
}

#[test]
fn capacity_is_a_rate_and_a_share_of_it() {
    for (rate, variation_percent, key) in [
        (0, 1, "capacity.rate"),
        (u64::MAX, 1, "capacity.rate"),
        (1_000_000, 101, "capacity.variation_percent"),
    ] {
        let found = refused_key(of_004(), |profile| {
            profile.capacity = Some(Capacity {
                rate,
                variation_percent,
            });
        });
        assert_eq!(found, key);
    }
}

proptest! {
    #[test]
    fn no_numbers_make_a_check_panic(
        numbers in prop::collection::vec(prop_oneof![0..300_u64, any::<u64>()], 12),
    ) {
        let mut profile = Profile::docsis_3_1(numbers[0] as u32);
        profile.clock.frame_ps = numbers[1];
        profile.clock.per_frame = numbers[2] as u32;
        profile.map_minislots = numbers[3] as u32;
        profile.contention_minislots = numbers[4] as u32;
        profile.maintenance_minislots = numbers[5] as u32;
        profile.request_minislots = numbers[6] as u32;
        profile.timing.map_ahead = numbers[7];
        profile.timing.map_to_modem = numbers[8];
        profile.timing.ack_before_start = numbers[9];
        profile.header = numbers[10] as u32;
        profile.phy = Phy::Ofdma { minislot_bytes: numbers[11] as u32 };
        let _ = profile.check();
        let _ = FlowConfig::best_effort(Sid(1)).check(&profile);
        let _ = Profile::docsis_1_1_004(numbers[1]);
        let _ = Profile::cablelabs_2014(numbers[1]);
        let _ = (profile.map_length(), profile.longest_grant(), profile.data_minislots());
    }
}
