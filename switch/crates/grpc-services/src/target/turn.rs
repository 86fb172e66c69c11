// SPDX-License-Identifier: Apache-2.0
//! A Read's or Write's turn on the device.

use super::Target;
use crate::connections::Client;
use crate::footprint::Footprint;
use crate::journal::{self, Pace};
use crate::order::{Entered, Wish};
use crate::turns;

/// The origin of a request.
#[derive(Clone, Debug, Default)]
pub struct Asking {
    /// Whether the crew does the request.
    pub is_apart: bool,
    /// The client that asks; `None` for a request of this process.
    pub client: Option<Client>,
}

/// The most units of work of a short request, about as many as one slice has.
const SHORT: usize = 128;

/// A request's permission to use the device, which ends when it is dropped.
#[derive(Debug)]
pub struct Turn {
    /// Whether the closures of the request run on the device's own thread only.
    pub from_afar: bool,
    /// The pace of the first closure, if the request waited for the journal.
    pub first: Option<Pace>,
    _entered: Option<Entered>,
    _own: Option<turns::Turn>,
}

impl Turn {
    /// The turn of a change of the pipeline. It waits for nobody, because no request runs beside the
    /// change, and those that have their turns may wait for it.
    pub fn of_a_change() -> Self {
        Self::at_once(false)
    }

    /// The turn of a request that looks at the device in a single closure, which no other request
    /// disturbs.
    pub fn of_a_look() -> Self {
        Self::at_once(true)
    }

    fn at_once(from_afar: bool) -> Self {
        Turn {
            from_afar,
            first: None,
            _entered: None,
            _own: None,
        }
    }
}

impl Target {
    /// Waits until a request may use the device. The requests of one connection come one after the
    /// other, and so do requests that would disturb each other.
    pub(super) async fn turn(
        &self,
        asking: &Asking,
        (uses, writes): (Footprint, bool),
        work: usize,
    ) -> Turn {
        let is_long = work > SHORT;
        let own = match &asking.client {
            Some(client) if !asking.is_apart => {
                let turns = &client.turns;
                let kind = if is_long { &turns.long } else { &turns.short };
                Some(kind.clone().next().await)
            }
            _ => None,
        };
        // A request that is replayed waits for the journal first, so that requests enter in the
        // order in which they did when they were written down.
        let first = match journal::current() {
            Some(call) if work > 0 => Some(call.turn().await),
            _ => None,
        };
        let entered = self.order.enter(Wish {
            uses,
            writes,
            is_long,
        });
        Turn {
            from_afar: is_long || asking.is_apart,
            first,
            _entered: Some(entered.await),
            _own: own,
        }
    }
}
