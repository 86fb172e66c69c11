// SPDX-License-Identifier: Apache-2.0
//! Decides whether the thread may wait awake. It may only while it has slept three times as long as
//! it was awake.
//!
//! Linux lets what runs under SCHED_RR have 95% of a processor in each second
//! (`kernel.sched_rt_runtime_us`) and then stops all of it for the rest, up to 50 ms. A port of 200
//! Mbit/s has a frame due every 60 us, so a thread that waits awake for each never sleeps: two
//! switches and their hosts reached the limit several times a minute, and time jumped. The thread
//! still does all work however long that takes, and saves time only by not waiting awake.

/// How much sleeping or being awake is remembered, ns. A short rush does not change how the thread
/// waits for departures, and a long one is forgotten as fast.
const REMEMBERED: i64 = 10_000_000;

/// A thread that has slept this many times as long as it was awake may wait awake.
const TIMES: i64 = 3;

/// The balance of sleeping and being awake.
#[derive(Debug)]
pub struct Awake {
    /// The time slept, minus [`TIMES`] the time awake, ns.
    balance: i64,
    /// The time at which the thread last fell asleep or woke, ns.
    since: u64,
}

impl Awake {
    /// A thread that starts at `now`, as one that has slept enough.
    pub fn since(now: u64) -> Self {
        Self {
            balance: REMEMBERED,
            since: now,
        }
    }

    /// Whether a departure may be waited for without sleeping.
    pub fn may_wait(&self) -> bool {
        self.balance > 0
    }

    /// Notes that the thread was awake until `now`.
    pub fn was_awake(&mut self, now: u64) {
        let passed = self.passed(now);
        self.balance = (self.balance - TIMES * passed).max(-REMEMBERED);
    }

    /// Notes that the thread slept until `now`.
    pub fn slept(&mut self, now: u64) {
        let passed = self.passed(now);
        self.balance = (self.balance + passed).min(REMEMBERED);
    }

    fn passed(&mut self, now: u64) -> i64 {
        let passed = now.saturating_sub(self.since);
        self.since = now;
        // A longer time changes nothing, and this one fits into the type.
        passed.min(2 * REMEMBERED as u64) as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_thread_that_never_sleeps_may_not_wait_and_sleep_earns_it_back() {
        let mut awake = Awake::since(5);
        assert!(awake.may_wait());
        awake.was_awake(5 + 10_000_000);
        assert!(!awake.may_wait());
        awake.was_awake(1_000_000_000);
        awake.slept(1_000_000_000 + 10_000_000);
        assert!(!awake.may_wait());
        awake.slept(1_000_000_000 + 10_000_001);
        assert!(awake.may_wait());
    }

    proptest! {
        /// Work of `work` ns for each departure, one every `every` ns, waited for awake where it
        /// may and slept for where it may not.
        #[test]
        fn waiting_never_takes_it_beyond_a_quarter_of_the_time(
            every in 5_000u64..2_000_000,
            work in 0u64..100,
        ) {
            let work = every * work / 100;
            let mut awake = Awake::since(0);
            let (mut now, mut up) = (0, 0);
            while now < 1_000_000_000 {
                awake.was_awake(now + work);
                up += work;
                let next = now + every;
                if awake.may_wait() {
                    awake.was_awake(next);
                    up += every - work;
                } else {
                    awake.slept(next);
                }
                now = next;
            }
            // What it may do from the start, and one departure more.
            let most = now / 4 + 20_000_000 + every;
            prop_assert!(up <= most.max(now / every * work + 20_000_000 + every));
        }
    }
}
