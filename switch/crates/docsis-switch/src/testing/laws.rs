// SPDX-License-Identifier: Apache-2.0
//! Shows that the loop neither adds to the device nor takes from it: whatever frames come, and
//! however late the thread wakes, the same frames leave as from a device that runs exactly in time.

use super::far_end::{FarEnd, Line};
use super::stand::{Captured, Setup, Stand, device, frame};
use super::world::{Fake, World};
use device::{Configuration, Output, PortConfig};
use proptest::prelude::*;

const US: u64 = 1_000;
const MS: u64 = 1_000_000;
/// How much later a frame may leave than from a device that is run in time, ns. The thread waits
/// awake for close departures for up to 10 us, and looks at no socket meanwhile, because that takes
/// a system call. A frame that comes then arrives, by the schedule, at the last of these
/// departures.
const LOOKS: u64 = 10_100;

/// What left through each port.
#[derive(Default)]
struct Wires([Vec<Captured>; 2]);

impl Output for Wires {
    fn transmit(&mut self, now: u64, port: u16, frame: &[u8], _paced: bool) {
        self.0[usize::from(port) - 1].push((now, frame.to_vec()));
    }

    fn packet_in(&mut self, _now: u64, _frame: &[u8]) -> bool {
        false
    }
}

/// The frames of a port, ascending: time and length.
fn traffic() -> impl Strategy<Value = Vec<(u64, usize)>> {
    let burst = (
        0..3 * MS,
        prop::collection::vec((0..40u64, 22usize..1_500), 1..40),
    );
    prop::collection::vec(burst, 1..6).prop_map(|bursts| {
        let mut now = MS;
        let mut all = Vec::new();
        for (pause, frames) in bursts {
            now += pause;
            for (gap, len) in frames {
                now += gap * US;
                all.push((now, len));
            }
        }
        all
    })
}

fn configuration(rate: u64, delay: u64) -> Configuration {
    let port = |port, rate, delay| PortConfig {
        port,
        rate,
        transmit_delay_ns: delay,
        queue_limit: 64 << 20,
        ..Default::default()
    };
    Configuration {
        ports: vec![port(1, 0, delay), port(2, rate, 0)],
        ..Default::default()
    }
}

/// What leaves a device that is run at the time of each event.
fn in_time(setup: &Setup, arrivals: &[Vec<(u64, Vec<u8>)>]) -> Wires {
    let mut device = device(setup);
    let mut out = Wires::default();
    let mut all: Vec<(u64, u16, &Vec<u8>)> = Vec::new();
    for (port, arrivals) in (1..).zip(arrivals) {
        all.extend(arrivals.iter().map(|(at, bytes)| (*at, port, bytes)));
    }
    // Stable: the frames of a port stay in their order.
    all.sort_by_key(|(at, port, _)| (*at, *port));
    for (at, port, bytes) in all {
        while device.step(at, &mut out) {}
        device.receive(at, port, bytes);
    }
    while device.step(u64::MAX >> 1, &mut out) {}
    out
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(12) })]

    #[test]
    fn what_leaves_is_what_leaves_a_device_that_is_run_in_time(
        one in traffic(),
        two in traffic(),
        rate in prop::sample::select(vec![0u64, 5_000_000, 50_000_000, 900_000_000]),
        delay in prop::sample::select(vec![0u64, 700_001]),
        late in prop::collection::vec(prop_oneof![3 => Just(0), 1 => 0..8 * MS], 1..40),
    ) {
        let arrivals: Vec<Vec<(u64, Vec<u8>)>> = [one, two].into_iter().zip([0, 1 << 32])
            .map(|(frames, first)| frames.into_iter().zip(first..)
                .map(|((at, len), n)| (at, frame(n, len))).collect())
            .collect();
        let setup = Setup { configuration: configuration(rate, delay), captures: true, ..Setup::default() };
        let expected = in_time(&setup, &arrivals);
        let far_ends = arrivals.iter().map(|arrivals| {
            let traffic = Box::new(arrivals.clone().into_iter());
            FarEnd::new(traffic, usize::MAX, Line::default(), Box::new(|_, _| ()))
        });
        let world = World::new(1, far_ends.collect());
        let mut late = late.into_iter().cycle();
        world.set_oversleep(move || late.next().unwrap_or(0));
        let outcome = Stand::<Fake>::new(&world, world.ports(), &setup).run(10_000 * MS, MS);
        prop_assert_eq!(outcome.jumps(), (0, 0));
        for port in [1, 2] {
            let (left, expected) = (outcome.left(port), &expected.0[port - 1]);
            prop_assert_eq!(left.len(), expected.len());
            for ((at, bytes), (due, same)) in left.iter().zip(expected) {
                prop_assert_eq!(bytes, same);
                prop_assert!((*due..=due + LOOKS).contains(at), "{} instead of {}", at, due);
            }
        }
        outcome.assert_device_balances();
    }
}
