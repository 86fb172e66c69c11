// SPDX-License-Identifier: Apache-2.0
//! The server's journal in a replay: requests have the numbers that they had, and wait for
//! the turns that they had.

use grpc_services::journal::{Journal, Pace, Turn, Work};
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

#[derive(Debug, Default)]
struct State {
    /// The number of the request, or of the stream, that begins next.
    next: Option<u64>,
    /// Whose turn it is, and how much it did then.
    turn: Option<(u64, Work)>,
    /// Who had the last turn, and how much it did.
    ran: Option<(u64, Work)>,
    answers: HashMap<u64, u64>,
}

/// See the module.
#[derive(Debug, Default)]
pub struct Again {
    state: Mutex<State>,
    granted: Notify,
}

impl Again {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The request or stream that begins now had this number.
    pub fn name_next(&self, number: u64) {
        self.state().next = Some(number);
    }

    /// Whether nothing has begun since, as there is no such method.
    pub fn is_unnamed(&self) -> bool {
        self.state().next.take().is_some()
    }

    /// A request has its turn.
    pub fn grant(&self, request: u64, work: Work) {
        self.state().turn = Some((request, work));
        self.granted.notify_waiters();
    }

    /// Nobody has a turn any more.
    pub fn revoke(&self) {
        self.state().turn = None;
    }

    /// What was done in the last turn, if that was this request's.
    pub fn done(&self, request: u64) -> Option<Work> {
        let ran = self.state().ran.take();
        ran.filter(|&(who, _)| who == request).map(|(_, work)| work)
    }

    /// Takes a request's answer, if it is there.
    pub fn answer(&self, request: u64) -> Option<u64> {
        self.state().answers.remove(&request)
    }

    fn begin(&self) -> u64 {
        self.state().next.take().unwrap_or(u64::MAX)
    }

    fn take_turn(&self, request: u64) -> Option<Pace> {
        let mut state = self.state();
        let (_, work) = state.turn.take_if(|(who, _)| *who == request)?;
        Some(Pace::Exactly(work))
    }
}

impl Journal for Again {
    fn asked(&self, _: &'static str, _: &[u8]) -> u64 {
        self.begin()
    }

    fn said(&self, _: u64, _: &[u8]) -> u64 {
        self.begin()
    }

    fn turn(&self, request: u64) -> Turn<'_> {
        Box::pin(async move {
            loop {
                let granted = self.granted.notified();
                if let Some(pace) = self.take_turn(request) {
                    return pace;
                }
                granted.await;
            }
        })
    }

    fn ran(&self, request: u64, _: u64, work: Work) {
        self.state().ran = Some((request, work));
    }

    fn answered(&self, request: u64, answer: u64) {
        self.state().answers.insert(request, answer);
    }

    fn left(&self, _: u64) {}

    fn stream_opened(&self) -> u64 {
        self.begin()
    }

    fn stream_ended(&self, _: u64) {}
}
