// SPDX-License-Identifier: Apache-2.0
//! Gives a profile's numbers to callers, by the keys that [`Profile::with_settings`] takes.

use crate::clock::Clock;
use crate::map::Backoff;
use crate::phy::Phy;
use crate::profile::{Asking, Capacity, ContentionPlace, GrantPlace, Packing, Profile, Timing};
use crate::settings::{Setting, Settings};

/// Words of where contention lies.
pub(crate) const CONTENTION_PLACES: [(&str, ContentionPlace); 2] = [
    ("head", ContentionPlace::Head),
    ("random-frame", ContentionPlace::RandomFrame),
];
/// Words of where grants lie.
pub(crate) const GRANT_PLACES: [(&str, GrantPlace); 2] = [
    ("packed", GrantPlace::Packed),
    ("random", GrantPlace::Random),
];
/// Words of how requests are made.
pub(crate) const ASKINGS: [(&str, Asking); 2] = [
    ("one-burst", Asking::OneBurst),
    ("queue-depth", Asking::QueueDepth),
];
/// Words of what fills a burst.
pub(crate) const PACKINGS: [(&str, Packing); 3] = [
    ("single", Packing::Single),
    ("concatenated", Packing::Concatenated),
    ("continuous", Packing::Continuous),
];

impl Profile {
    /// All values of a profile but its name, by their keys.
    #[must_use]
    pub fn numbers(&self) -> Settings {
        // Named one by one: a field that is added has to be told, too.
        let Profile {
            name: _,
            clock: Clock {
                per_frame,
                frame_ps,
            },
            phy,
            map_minislots,
            stretch,
            contention_minislots,
            maintenance_minislots,
            request_minislots,
            contention_place,
            extra_contention,
            collisions,
            grant_place,
            capacity,
            backoff: Backoff { start, end },
            tries,
            asking,
            packing,
            concatenated_frames,
            fragmentation,
            piggyback,
            idle_proactive_grants,
            header,
            segment_header,
            timing,
        } = self;
        let mut found = Numbers(Settings::new());
        found.number("clock.per_frame", *per_frame);
        found.number("clock.frame_ps", *frame_ps);
        found.phy(phy);
        found.number("map_minislots", *map_minislots);
        found.switch("stretch", *stretch);
        found.number("contention_minislots", *contention_minislots);
        found.number("maintenance_minislots", *maintenance_minislots);
        found.number("request_minislots", *request_minislots);
        found.word("contention_place", *contention_place, &CONTENTION_PLACES);
        found.switch("extra_contention", *extra_contention);
        found.switch("collisions", *collisions);
        found.word("grant_place", *grant_place, &GRANT_PLACES);
        found.capacity(*capacity);
        found.number("backoff.start", *start);
        found.number("backoff.end", *end);
        found.number("tries", *tries);
        found.word("asking", *asking, &ASKINGS);
        found.word("packing", *packing, &PACKINGS);
        found.number("concatenated_frames", *concatenated_frames);
        found.switch("fragmentation", *fragmentation);
        found.switch("piggyback", *piggyback);
        found.number("idle_proactive_grants", *idle_proactive_grants);
        found.number("header", *header);
        found.number("segment_header", *segment_header);
        found.timing(timing);
        found.0
    }
}

struct Numbers(Settings);

impl Numbers {
    fn set(&mut self, key: &str, setting: Setting) {
        self.0.insert(key.to_owned(), setting);
    }

    fn number(&mut self, key: &str, value: impl Into<u64>) {
        self.set(key, Setting::Number(value.into()));
    }

    fn switch(&mut self, key: &str, value: bool) {
        self.set(key, Setting::Switch(value));
    }

    fn word<T: PartialEq>(&mut self, key: &str, value: T, words: &[(&str, T)]) {
        let found = words.iter().find(|(_, known)| *known == value);
        let word = found.map_or("", |(word, _)| word);
        self.set(key, Setting::Word(word.to_owned()));
    }

    fn capacity(&mut self, capacity: Option<Capacity>) {
        let Some(Capacity {
            rate,
            variation_percent,
        }) = capacity
        else {
            return self.set("capacity", Setting::Absent);
        };
        self.number("capacity.rate", rate);
        self.number("capacity.variation_percent", variation_percent);
    }

    fn phy(&mut self, phy: &Phy) {
        match *phy {
            Phy::Flat {
                minislot_bytes,
                overhead,
            } => {
                self.number("phy.minislot_bytes", minislot_bytes);
                self.number("phy.overhead", overhead);
            }
            Phy::Ofdma { minislot_bytes } => self.number("phy.minislot_bytes", minislot_bytes),
            Phy::ScQam {
                minislot_bits,
                preamble_bits,
                guard_bits,
                codeword_data,
                codeword_parity,
            } => {
                self.number("phy.minislot_bits", minislot_bits);
                self.number("phy.preamble_bits", preamble_bits);
                self.number("phy.guard_bits", guard_bits);
                self.number("phy.codeword_data", codeword_data);
                self.number("phy.codeword_parity", codeword_parity);
            }
        }
    }

    fn timing(&mut self, timing: &Timing) {
        let Timing {
            map_ahead,
            map_to_modem,
            map_processing,
            request_heard,
            delivery,
            burst_preparation,
            ack_before_start,
            piggyback_heard,
            map_with_previous,
        } = *timing;
        self.number("timing.map_ahead", map_ahead);
        self.number("timing.map_to_modem", map_to_modem);
        self.number("timing.map_processing", map_processing);
        self.number("timing.request_heard", request_heard);
        self.number("timing.piggyback_heard", piggyback_heard);
        self.number("timing.delivery", delivery);
        self.number("timing.burst_preparation", burst_preparation);
        self.number("timing.ack_before_start", ack_before_start);
        self.switch("timing.map_with_previous", map_with_previous);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_is_what_its_numbers_say() {
        for name in Profile::NAMES {
            let profile = Profile::named(name).unwrap();
            assert_eq!(
                Profile::with_settings(name, &profile.numbers()).unwrap(),
                profile
            );
            // Every number is one: another value makes another profile.
            for (key, setting) in profile.numbers() {
                let other = match setting {
                    Setting::Number(number) => Setting::Number(number ^ 1),
                    Setting::Switch(switch) => Setting::Switch(!switch),
                    _ => continue,
                };
                let changed = Profile::with_settings(name, &Settings::from([(key.clone(), other)]));
                assert_ne!(changed.unwrap(), profile, "{key}");
            }
        }
    }
}
