// SPDX-License-Identifier: Apache-2.0
//! Drops answers whose clients take nothing of them.

use std::sync::{Mutex, Weak};
use std::time::Duration;

use tonic::Status;

use crate::pipeline_config::lock;

/// The part of an answer that its client has not taken yet.
pub trait Untaken: Send + 'static {
    /// How often the client has taken something.
    fn taken(&self) -> u64;

    /// Replaces what is left by a status, and returns what was left so that the caller can drop it.
    fn replace(&mut self, status: Status) -> impl Send + 'static;
}

/// Drops an answer when its client has taken nothing for `patience`, or at most twice that long.
pub async fn watch(answer: Weak<Mutex<impl Untaken>>, patience: Duration) {
    let mut before = 0;
    loop {
        tokio::time::sleep(patience).await;
        let Some(answer) = answer.upgrade() else {
            return;
        };
        let mut answer = lock(&answer);
        if answer.taken() == before {
            let dropped = answer.replace(given_up(patience));
            tokio::task::spawn_blocking(move || drop(dropped));
            return;
        }
        before = answer.taken();
    }
}

fn given_up(patience: Duration) -> Status {
    let seconds = patience.as_secs_f32();
    Status::deadline_exceeded(format!(
        "the client took nothing of its answer for {seconds} s: read less at a time, and take what \
         was asked for"
    ))
}
