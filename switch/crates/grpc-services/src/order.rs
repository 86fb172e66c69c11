// SPDX-License-Identifier: Apache-2.0
//! Decides which Reads and Writes of a device may run at the same time, and which waiting request
//! runs next.
//!
//! A request runs as several closures on the device's thread, and closures of other requests may run
//! between them. P4Runtime demands the same outcome as if requests ran one after the other
//! (specification 1.5, "Batching and Ordering of Updates" and "Parallelism of Read and Write
//! Requests"). So two requests may only run at the same time if they use different objects, or if
//! both of them read.
//!
//! Short requests overtake long ones that wait, and only one long request runs at a time. So a
//! control loop waits for at most one long request. After [`OVERTAKEN`] short requests have
//! overtaken a long one, no further request overtakes it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use tokio::sync::oneshot;

use crate::footprint::Footprint;
use crate::pipeline_config::lock;

/// How many short requests may overtake a long one.
const OVERTAKEN: u32 = 256;

/// What a request is going to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wish {
    /// The objects that the request reads or writes.
    pub uses: Footprint,
    /// Whether the request changes these objects.
    pub writes: bool,
    /// Whether the request takes more than a slice or two of the device's thread.
    pub is_long: bool,
}

impl Wish {
    /// The wish of a request that must run alone.
    pub const ALONE: Self = Wish {
        uses: Footprint::ALL,
        writes: true,
        is_long: true,
    };

    /// Whether two requests must not run at the same time, because they use the same objects and one
    /// of them writes.
    fn disturbs(&self, other: &Wish) -> bool {
        (self.writes || other.writes) && self.uses.meets(other.uses)
    }
}

/// A request that waits.
#[derive(Debug)]
struct Waiting {
    wish: Wish,
    /// How many short requests have overtaken it.
    overtaken: u32,
    /// Gives the request its permission.
    enter: oneshot::Sender<Entered>,
}

#[derive(Debug, Default)]
struct State {
    /// The requests that run, each with its number.
    running: Vec<(u64, Wish)>,
    /// The requests that wait, the oldest first.
    waiting: VecDeque<Waiting>,
    /// The number of the request that was admitted last.
    next: u64,
}

/// The requests of one device.
#[derive(Debug, Default)]
pub struct Order {
    state: Arc<Mutex<State>>,
}

/// The permission to run. Dropping it ends the request and admits those that waited for it.
#[derive(Debug)]
pub struct Entered {
    state: Arc<Mutex<State>>,
    number: u64,
}

impl Order {
    /// Waits until a request may run.
    pub async fn enter(&self, wish: Wish) -> Entered {
        let (enter, entered) = oneshot::channel();
        lock(&self.state).waiting.push_back(Waiting {
            wish,
            overtaken: 0,
            enter,
        });
        admit(&self.state);
        match entered.await {
            Ok(entered) => entered,
            // `admit` sends on the other end before it drops it, so this cannot happen.
            Err(_) => std::future::pending().await,
        }
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        lock(&self.state)
            .running
            .retain(|(number, _)| *number != self.number);
        admit(&self.state);
    }
}

/// Admits every request that may run now.
fn admit(state: &Arc<Mutex<State>>) {
    loop {
        let next = lock(state).take_next();
        let Some((number, enter)) = next else {
            return;
        };
        let state = Arc::clone(state);
        // If the request has stopped waiting, sending fails and drops the permission, which frees
        // its place.
        let _ = enter.send(Entered { state, number });
    }
}

impl State {
    /// Removes the next request that may run from those that wait.
    fn take_next(&mut self) -> Option<(u64, oneshot::Sender<Entered>)> {
        self.waiting.retain(|waiting| !waiting.enter.is_closed());
        let at = self.next_place()?;
        let Waiting { wish, enter, .. } = self.waiting.remove(at)?;
        if !wish.is_long {
            let before = self.waiting.iter_mut().take(at);
            before
                .filter(|other| other.wish.is_long)
                .for_each(|other| other.overtaken += 1);
        }
        self.next += 1;
        self.running.push((self.next, wish));
        Some((self.next, enter))
    }

    /// The place in [`Self::waiting`] of the request that is next, if one may run now.
    fn next_place(&self) -> Option<usize> {
        // A request must not overtake those in `ahead` that use the same objects. A long request
        // that may still be overtaken is not among them.
        let mut ahead: Vec<&Wish> = Vec::new();
        for (at, waiting) in self.waiting.iter().enumerate() {
            let wish = &waiting.wish;
            if wish.is_long && waiting.overtaken < OVERTAKEN {
                continue;
            }
            if self.may_run(wish) && !ahead.iter().any(|other| wish.disturbs(other)) {
                return Some(at);
            }
            ahead.push(wish);
        }
        // No short request may run now, so the oldest long one is looked at.
        let at = self.waiting.iter().position(|one| one.wish.is_long)?;
        let wish = &self.waiting[at].wish;
        (self.may_run(wish) && !ahead.iter().any(|other| wish.disturbs(other))).then_some(at)
    }

    /// Whether a request may run beside those that run.
    fn may_run(&self, wish: &Wish) -> bool {
        let mut running = self.running.iter();
        !running.any(|(_, other)| wish.disturbs(other) || wish.is_long && other.is_long)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::pin::Pin;
    use std::task::{Context, Poll, Waker};

    const READ: Wish = Wish {
        uses: Footprint::TABLES,
        writes: false,
        is_long: false,
    };
    const WRITE: Wish = Wish {
        writes: true,
        ..READ
    };
    const LONG_READ: Wish = Wish {
        is_long: true,
        ..READ
    };
    const LONG_WRITE: Wish = Wish {
        is_long: true,
        ..WRITE
    };

    type Waits<'o> = Pin<Box<dyn Future<Output = Entered> + 'o>>;

    fn poll(waits: &mut Waits<'_>) -> Option<Entered> {
        let mut context = Context::from_waker(Waker::noop());
        match waits.as_mut().poll(&mut context) {
            Poll::Ready(entered) => Some(entered),
            Poll::Pending => None,
        }
    }

    /// Begins to wait, and returns the permission if the request may run at once.
    fn ask(order: &Order, wish: Wish) -> (Waits<'_>, Option<Entered>) {
        let mut waits: Waits<'_> = Box::pin(order.enter(wish));
        let entered = poll(&mut waits);
        (waits, entered)
    }

    #[test]
    fn reads_run_together_and_a_write_waits_for_all_that_use_its_objects() {
        let order = Order::default();
        let (_, first) = ask(&order, READ);
        let (_, second) = ask(&order, READ);
        let (mut waits, write) = ask(&order, WRITE);
        assert!(first.is_some() && second.is_some() && write.is_none());
        let elsewhere = Wish {
            uses: Footprint::COUNTERS,
            ..WRITE
        };
        assert!(ask(&order, elsewhere).1.is_some());
        // A later read does not go before a write that waits.
        let (mut later, read) = ask(&order, READ);
        assert!(read.is_none());
        drop((first, second));
        let write = poll(&mut waits);
        assert!(write.is_some() && poll(&mut later).is_none());
        drop(write);
        assert!(poll(&mut later).is_some());
    }

    #[test]
    fn a_short_request_waits_for_the_long_one_that_runs_and_not_for_those_that_wait() {
        let order = Order::default();
        let (_, first) = ask(&order, LONG_WRITE);
        let (mut second, none) = ask(&order, LONG_WRITE);
        assert!(first.is_some() && none.is_none());
        let (mut read, none) = ask(&order, READ);
        assert!(none.is_none());
        drop(first);
        let read = poll(&mut read);
        assert!(read.is_some() && poll(&mut second).is_none());
        drop(read);
        assert!(poll(&mut second).is_some());
    }

    #[test]
    fn long_requests_run_one_at_a_time_whatever_they_use() {
        let order = Order::default();
        let (_, first) = ask(&order, LONG_READ);
        let (mut second, none) = ask(&order, LONG_READ);
        assert!(first.is_some() && none.is_none());
        assert!(ask(&order, READ).1.is_some());
        drop(first);
        assert!(poll(&mut second).is_some());
    }

    #[test]
    fn a_long_request_is_not_overtaken_for_ever() {
        let order = Order::default();
        let (_, mut before) = ask(&order, READ);
        let (mut long, none) = ask(&order, LONG_WRITE);
        assert!(none.is_none());
        let mut overtaken = 0;
        while let (_, Some(read)) = ask(&order, READ) {
            before = Some(read);
            overtaken += 1;
            assert!(overtaken <= OVERTAKEN);
        }
        assert_eq!(overtaken, OVERTAKEN);
        drop(before);
        assert!(poll(&mut long).is_some());
    }

    #[test]
    fn a_request_that_stops_waiting_delays_no_other() {
        let order = Order::default();
        let (_, first) = ask(&order, READ);
        let (waits, none) = ask(&order, WRITE);
        assert!(first.is_some() && none.is_none());
        drop(waits);
        assert!(ask(&order, READ).1.is_some());
        // This request was admitted, and stopped waiting before it noticed.
        let (waits, none) = ask(&order, WRITE);
        assert!(none.is_none());
        drop(first);
        drop(waits);
        assert!(ask(&order, WRITE).1.is_some());
    }

    #[derive(Default)]
    struct Crowd<'o> {
        waiting: Vec<(Wish, Waits<'o>)>,
        running: Vec<(Wish, Entered)>,
    }

    impl Crowd<'_> {
        /// Admits the requests that may run, and checks that no two of them disturb each other.
        fn look(&mut self) {
            let mut at = 0;
            while at < self.waiting.len() {
                match poll(&mut self.waiting[at].1) {
                    Some(entered) => self.running.push((self.waiting.remove(at).0, entered)),
                    None => at += 1,
                }
            }
            for (at, (one, _)) in self.running.iter().enumerate() {
                for (other, _) in &self.running[..at] {
                    assert!(!one.disturbs(other));
                    assert!(!(one.is_long && other.is_long));
                }
            }
        }
    }

    proptest! {
        /// Requests that come and end in any order never disturb each other, and all of them run.
        #[test]
        fn no_request_disturbs_another_and_all_of_them_run(
            steps in prop::collection::vec((0u8..8, 0usize..6), 1..200),
        ) {
            let order = Order::default();
            let mut crowd = Crowd::default();
            for (kind, end) in steps {
                let uses = if kind & 4 == 0 { Footprint::TABLES } else { Footprint::METERS };
                let wish = Wish { uses, writes: kind & 1 != 0, is_long: kind & 2 != 0 };
                crowd.waiting.push((wish, Box::pin(order.enter(wish))));
                crowd.look();
                if end < crowd.running.len() {
                    crowd.running.remove(end);
                    crowd.look();
                }
            }
            while !crowd.running.is_empty() {
                crowd.running.remove(0);
                crowd.look();
            }
            prop_assert!(crowd.waiting.is_empty());
        }
    }
}
