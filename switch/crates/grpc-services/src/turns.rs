// SPDX-License-Identifier: Apache-2.0
//! The turns of a connection. A connection does one thing of each kind of work at a time, so a
//! client that asks for many things at once gets no more of the switch than one that asks for few.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The turns of one connection, one for each kind of work. A request that waits for one of them may
/// hold only those that stand above it here, so that no requests wait for each other in a circle.
#[derive(Clone, Debug)]
pub struct Turns {
    /// Loading a program.
    pub load: Kind,
    /// Everything that a request asks for whose message is long, decoding included.
    pub apart: Kind,
    /// The work on the device of a request that takes long there.
    pub long: Kind,
    /// The work on the device of a request that does not take long there.
    pub short: Kind,
    /// Encoding an answer.
    pub render: Kind,
}

/// A kind of work, of which a connection does one thing at a time.
#[derive(Clone, Debug)]
pub struct Kind(Arc<Semaphore>);

/// A turn, which ends when it is dropped.
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
            render: one(),
        }
    }
}

impl Kind {
    /// Waits for a turn. Turns are given in the order in which they were asked for.
    pub async fn next(self) -> Turn {
        Turn {
            // The semaphore is never closed, so this is always a permit.
            _permit: self.0.acquire_owned().await.ok(),
        }
    }
}
