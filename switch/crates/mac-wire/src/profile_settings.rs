// SPDX-License-Identifier: Apache-2.0
//! Makes a profile from its name and the settings that are different.
//!
//! A key is a field of [`Profile`], with a dot before a part's: `map_minislots`, `timing.delivery`.
//! Times are nanoseconds but for `clock.frame_ps`, which says it. Three keys change several fields
//! at a time and come before all others: `line_rate` (bit/s, of cablelabs-2014), `map_time` (of
//! docsis-1.1-004) and `map_frames` (of docsis-3.1). What the numbers are together is for
//! [`Profile::check`] to say.

use crate::phy::Phy;
use crate::profile::{Capacity, Profile};
use crate::profile_numbers::{ASKINGS, CONTENTION_PLACES, GRANT_PLACES, PACKINGS};
use crate::settings::{Reader, Setting, Settings};

impl Profile {
    /// The profile of a name, with what is different.
    ///
    /// # Errors
    /// There is no such profile, it has no such key, or a value is not possible for the key; the
    /// sentence names the profile or begins with the key.
    pub fn with_settings(name: &str, settings: &Settings) -> Result<Self, String> {
        let Some(mut profile) = Profile::named(name) else {
            return Err(format!(
                "there is no channel profile \"{name}\"; there are {}",
                Profile::NAMES.join(", ")
            ));
        };
        let several = |key: &str| matches!(key, "line_rate" | "map_time" | "map_frames");
        for (key, setting) in settings.iter().filter(|(key, _)| several(key)) {
            let number = Reader { key, setting }.number()?;
            profile = match (key.as_str(), name) {
                ("line_rate", "cablelabs-2014") => Profile::cablelabs_2014(number),
                ("map_time", "docsis-1.1-004") => Profile::docsis_1_1_004(number),
                ("map_frames", "docsis-3.1") => Ok(Profile::docsis_3_1(
                    u32::try_from(number).unwrap_or(u32::MAX),
                )),
                _ => return Err(unknown(name, key)),
            }
            .map_err(|refused| refused.to_string())?;
        }
        for (key, setting) in settings.iter().filter(|(key, _)| !several(key)) {
            if !change(&mut profile, &Reader { key, setting })? {
                return Err(unknown(name, key));
            }
        }
        Ok(profile)
    }
}

fn unknown(name: &str, key: &str) -> String {
    format!("{key} is no key of the channel profile \"{name}\"")
}

/// Whether the profile has the key.
fn change(profile: &mut Profile, value: &Reader<'_>) -> Result<bool, String> {
    match value.key {
        "map_minislots" => profile.map_minislots = value.number()?,
        "stretch" => profile.stretch = value.switch()?,
        "contention_minislots" => profile.contention_minislots = value.number()?,
        "maintenance_minislots" => profile.maintenance_minislots = value.number()?,
        "request_minislots" => profile.request_minislots = value.number()?,
        "contention_place" => profile.contention_place = value.word(&CONTENTION_PLACES)?,
        "extra_contention" => profile.extra_contention = value.switch()?,
        "collisions" => profile.collisions = value.switch()?,
        "grant_place" => profile.grant_place = value.word(&GRANT_PLACES)?,
        "tries" => profile.tries = value.number()?,
        "asking" => profile.asking = value.word(&ASKINGS)?,
        "packing" => profile.packing = value.word(&PACKINGS)?,
        "concatenated_frames" => profile.concatenated_frames = value.number()?,
        "fragmentation" => profile.fragmentation = value.switch()?,
        "piggyback" => profile.piggyback = value.switch()?,
        "idle_proactive_grants" => profile.idle_proactive_grants = value.number()?,
        "header" => profile.header = value.number()?,
        "segment_header" => profile.segment_header = value.number()?,
        "backoff.start" => profile.backoff.start = value.number()?,
        "backoff.end" => profile.backoff.end = value.number()?,
        "capacity" if *value.setting == Setting::Absent => profile.capacity = None,
        "clock.per_frame" => profile.clock.per_frame = value.number()?,
        "clock.frame_ps" => profile.clock.frame_ps = value.number()?,
        key if key.starts_with("capacity.") => return change_capacity(profile, value),
        key if key.starts_with("timing.") => return change_timing(profile, value),
        key if key.starts_with("phy.") => return change_phy(&mut profile.phy, value),
        _ => return Ok(false),
    }
    Ok(true)
}

fn change_capacity(profile: &mut Profile, value: &Reader<'_>) -> Result<bool, String> {
    // Whoever says how much varies without how much it is has 0, which the check refuses.
    let none = Capacity {
        rate: 0,
        variation_percent: 0,
    };
    let mut capacity = profile.capacity.unwrap_or(none);
    match value.key {
        "capacity.rate" => capacity.rate = value.number()?,
        "capacity.variation_percent" => capacity.variation_percent = value.number()?,
        _ => return Ok(false),
    }
    profile.capacity = Some(capacity);
    Ok(true)
}

fn change_timing(profile: &mut Profile, value: &Reader<'_>) -> Result<bool, String> {
    let timing = &mut profile.timing;
    let time = match value.key {
        "timing.map_ahead" => &mut timing.map_ahead,
        "timing.map_to_modem" => &mut timing.map_to_modem,
        "timing.map_processing" => &mut timing.map_processing,
        "timing.request_heard" => &mut timing.request_heard,
        "timing.piggyback_heard" => &mut timing.piggyback_heard,
        "timing.delivery" => &mut timing.delivery,
        "timing.burst_preparation" => &mut timing.burst_preparation,
        "timing.ack_before_start" => &mut timing.ack_before_start,
        "timing.map_with_previous" => {
            timing.map_with_previous = value.switch()?;
            return Ok(true);
        }
        _ => return Ok(false),
    };
    *time = value.number()?;
    Ok(true)
}

fn change_phy(phy: &mut Phy, value: &Reader<'_>) -> Result<bool, String> {
    let field = match (phy, value.key) {
        (
            Phy::Flat { minislot_bytes, .. } | Phy::Ofdma { minislot_bytes },
            "phy.minislot_bytes",
        ) => minislot_bytes,
        (Phy::Flat { overhead, .. }, "phy.overhead") => overhead,
        (Phy::ScQam { minislot_bits, .. }, "phy.minislot_bits") => minislot_bits,
        (Phy::ScQam { preamble_bits, .. }, "phy.preamble_bits") => preamble_bits,
        (Phy::ScQam { guard_bits, .. }, "phy.guard_bits") => guard_bits,
        (Phy::ScQam { codeword_data, .. }, "phy.codeword_data") => codeword_data,
        (
            Phy::ScQam {
                codeword_parity, ..
            },
            "phy.codeword_parity",
        ) => codeword_parity,
        _ => return Ok(false),
    };
    *field = value.number()?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Packing;

    fn with(name: &str, settings: &[(&str, Setting)]) -> Result<Profile, String> {
        let settings = settings
            .iter()
            .map(|(key, setting)| ((*key).to_owned(), setting.clone()))
            .collect();
        Profile::with_settings(name, &settings)
    }

    #[test]
    fn every_profile_has_its_name() {
        for name in Profile::NAMES {
            assert_eq!(with(name, &[]), Ok(Profile::named(name).unwrap()));
        }
        let words = with("docsis-9", &[]).unwrap_err();
        assert!(words.starts_with("there is no channel profile \"docsis-9\"; there are cablelabs"));
    }

    #[test]
    fn what_is_different_is_and_nothing_else() {
        use Setting::{Number, Switch, Word};
        let usual = Profile::named("docsis-1.1-004").unwrap();
        let mut expected = Profile::docsis_1_1_004(5_000_000).unwrap();
        expected.contention_minislots = 20;
        expected.piggyback = true;
        expected.packing = Packing::Single;
        expected.backoff.end = 9;
        expected.timing.delivery = 7;
        expected.phy = Phy::Flat {
            minislot_bytes: 16,
            overhead: 30,
        };
        expected.capacity = Some(Capacity {
            rate: 1_000_000,
            variation_percent: 0,
        });
        let settings = [
            ("map_time", Number(5_000_000)),
            ("contention_minislots", Number(20)),
            ("piggyback", Switch(true)),
            ("packing", Word("single".into())),
            ("backoff.end", Number(9)),
            ("timing.delivery", Number(7)),
            ("phy.overhead", Number(30)),
            ("capacity.rate", Number(1_000_000)),
        ];
        assert_eq!(with("docsis-1.1-004", &settings), Ok(expected));
        assert_ne!(with("docsis-1.1-004", &settings), Ok(usual));
        let frames = with("docsis-3.1", &[("map_frames", Number(7))]);
        assert_eq!(frames, Ok(Profile::docsis_3_1(7)));
        // What a plan has of flags and of what is not there.
        let settings = [("capacity", Setting::Absent), ("stretch", Number(1))];
        let plain = with("cablelabs-2014", &settings).unwrap();
        assert!(plain.capacity.is_none() && plain.stretch);
        let rate = with("cablelabs-2014", &[("line_rate", Number(100_000_000))]);
        assert_eq!(rate, Ok(Profile::cablelabs_2014(100_000_000).unwrap()));
    }

    #[test]
    fn a_value_that_cannot_be_is_refused_by_its_key() {
        use Setting::{Number, Switch, Word};
        let refused = |key, setting| with("docsis-3.1", &[(key, setting)]).unwrap_err();
        assert_eq!(
            refused("map_time", Number(1)),
            "map_time is no key of the channel profile \"docsis-3.1\""
        );
        assert_eq!(
            refused("phy.overhead", Number(1)),
            "phy.overhead is no key of the channel profile \"docsis-3.1\""
        );
        assert_eq!(
            refused("tries", Switch(true)),
            "tries has to be a whole number, not true"
        );
        assert_eq!(
            refused("tries", Number(256)),
            "tries is 256, which is too much"
        );
        assert_eq!(
            refused("stretch", Number(2)),
            "stretch has to be true or false, not 2"
        );
        assert_eq!(
            refused("tries", Setting::Absent),
            "tries has to be a whole number, not nothing"
        );
        assert_eq!(
            refused("packing", Word("loose".into())),
            "packing has to be one of single, concatenated, continuous, not \"loose\""
        );
        let words = with("docsis-1.1-004", &[("map_time", Number(1))]).unwrap_err();
        assert!(words.starts_with("map_time is 1 ns"), "{words}");
    }
}
