// SPDX-License-Identifier: Apache-2.0
//! The turns of a connection: each connection has one turn for each kind of work, and its requests
//! take it one after the other. So a client that sends many requests at once gets no more of the
//! switch than one that sends a single request.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The turns of one connection. A request that needs several of them takes them in the order of
/// these fields. If requests took them in different orders, two requests could each hold the turn
/// that the other one waits for.
#[derive(Clone, Debug)]
pub struct Turns {
    /// Loading a program.
    pub load: Kind,
    /// Handling a request whose message is long, from decoding it to its answer.
    pub apart: Kind,
    /// Work on the device that takes long.
    pub long: Kind,
    /// Work on the device that does not take long.
    pub short: Kind,
    /// Making an answer that tells all that there is of something.
    pub whole: Kind,
    /// Encoding an answer.
    pub render: Kind,
}

/// The turn for one kind of work, which one request of the connection has at a time.
#[derive(Clone, Debug)]
pub struct Kind(Arc<Semaphore>);

/// A turn that a request has. Dropping it gives the next request its turn.
#[derive(Debug)]
pub struct Turn {
    _permit: Option<OwnedSemaphorePermit>,
}

impl Default for Turns {
    fn default() -> Self {
        let one = || Kind(Arc::new(Semaphore::new(1)));
        Self {
            load: one(),
            apart: one(),
            long: one(),
            short: one(),
            whole: one(),
            render: one(),
        }
    }
}

impl Kind {
    /// Waits for the turn. Requests get it in the order in which they asked for it.
    pub async fn next(self) -> Turn {
        Turn {
            // The semaphore is never closed, so this is always a permit.
            _permit: self.0.acquire_owned().await.ok(),
        }
    }
}
