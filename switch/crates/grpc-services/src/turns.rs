// SPDX-License-Identifier: Apache-2.0
//! A connection's turns: of each kind of work it does one thing at a time, so that who asks for much at
//! once gets no more of the switch than who asks for little.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The kinds of work of one connection. Who waits for a turn of one kind may have one of a kind above
/// it, and no other, so that nobody waits in a circle.
#[derive(Clone, Debug)]
pub struct Turns {
    /// To load a program.
    pub load: Kind,
    /// All of a request that is long on the wire.
    pub apart: Kind,
    /// On the device, of a request that takes long there,
    pub long: Kind,
    /// and of one that does not.
    pub short: Kind,
    /// To put an answer into messages.
    pub render: Kind,
}

/// One thing at a time.
#[derive(Clone, Debug)]
pub struct Kind(Arc<Semaphore>);

/// As long as it is there, it is its holder's turn.
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
    /// Waits for a turn, after those who waited before.
    pub async fn next(self) -> Turn {
        Turn {
            // Nobody closes it.
            _permit: self.0.acquire_owned().await.ok(),
        }
    }
}
