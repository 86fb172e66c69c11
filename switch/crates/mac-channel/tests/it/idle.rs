// SPDX-License-Identifier: Apache-2.0
//! Idle modems cost nothing.

use mac_wire::{FlowConfig, Profile, Sid};

use crate::plant::{Plant, Random, with_flows};
use crate::scenario::Record;

/// Ten modems that send, and so many that do not.
fn run(profile: &Profile, idle: u16) -> (Plant, Record) {
    let flows = (1..=10 + idle).map(|sid| FlowConfig::best_effort(Sid(sid)));
    let (mut channel, mut plant) = with_flows(profile, flows, 3);
    let mut record = Record::default();
    let mut random = Random::new(3);
    let mut at = 0;
    for _ in 0..400 {
        at += random.below(2_000_000);
        let sid = Sid(1 + random.below(10) as u16);
        channel.step(at, &mut plant, &mut record);
        plant.lengths(sid).push(at, 300);
        channel.wake(at, sid, &mut plant);
    }
    channel.step(at + 100_000_000, &mut plant, &mut record);
    (plant, record)
}

#[test]
fn thousands_of_idle_modems_are_never_looked_at_and_change_nothing() {
    for name in Profile::NAMES {
        let profile = Profile::named(name).unwrap();
        let (alone, among) = (run(&profile, 0), run(&profile, 4000));
        assert!(alone.0.looks > 400, "{name}");
        assert_eq!(alone.0.looks, among.0.looks, "{name}");
        assert_eq!(alone.0.delivered, among.0.delivered, "{name}");
        assert_eq!(alone.1, among.1, "{name}");
    }
}
