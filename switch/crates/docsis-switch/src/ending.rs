// SPDX-License-Identifier: Apache-2.0
//! Lets signals end the process: the first one in order, a second one at once. A thread of its own
//! waits for them until the process has ended, because the main thread may come to wait for
//! something that never happens: a pipe that nobody reads, or a disk that hangs.

use crate::last_words;
use crate::logging;
use crate::privileges;
use crate::wait::{PollSet, Signals};
use crate::waker::Waker;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Builder;
use tracing::error;

/// Whether a signal has asked for the end.
#[derive(Debug)]
pub struct Ending {
    asked: Arc<AtomicBool>,
}

impl Ending {
    /// Starts the thread. The first signal wakes `waker`.
    ///
    /// # Errors
    /// One sentence: there is no thread for it.
    pub fn watch(signals: Signals, waker: Waker) -> Result<Self, String> {
        let asked = Arc::new(AtomicBool::new(false));
        let there = Arc::clone(&asked);
        let run = move || {
            privileges::none();
            next(&signals);
            there.store(true, Ordering::Release);
            waker.wake();
            at_once(next(&signals));
        };
        Builder::new()
            .name("signals".into())
            .spawn(run)
            .map_err(|error| format!("no thread for signals: {error}"))?;
        Ok(Self { asked })
    }

    /// True from the first signal on.
    pub fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Acquire)
    }
}

/// Waits for a signal.
fn next(signals: &Signals) -> i32 {
    let mut poll = PollSet::of([signals.as_raw_fd()]);
    loop {
        if let Some(signal) = signals.take() {
            return signal;
        }
        poll.wait(None);
    }
}

/// Ends the process, and says so where that can be said.
fn at_once(signal: i32) -> ! {
    last_words::say(|| {
        error!("a second signal: ending at once, without what is queued or not yet written");
        logging::finish();
    });
    std::process::exit(128 + signal);
}
