// SPDX-License-Identifier: Apache-2.0
//! A Read's or Write's turn on the device.

use super::Target;
use crate::connections::Client;
use crate::footprint::Footprint;
use crate::journal::{self, Pace};
use crate::order::{Entered, Wish};
use crate::turns;

/// Who asks.
#[derive(Clone, Debug, Default)]
pub struct Asking {
    /// The request is done on threads of the crew.
    pub is_apart: bool,
    /// Whose it is; `None` for one of this process.
    pub client: Option<Client>,
}

/// Units of work of a request that does not take long: about a slice.
const SHORT: usize = 128;

/// A request may use the device as long as this is there.
#[derive(Debug)]
pub struct Turn {
    /// It is done on the device's own thread only.
    pub from_afar: bool,
    /// The pace of its first closure, where one waited for it.
    pub first: Option<Pace>,
    _entered: Entered,
    _own: Option<turns::Turn>,
}

impl Target {
    /// Waits until a request may use the device: those of its own connection come one after the other,
    /// and so do those that would disturb each other.
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
        // A request that is run as it was written down waits for its turn in front of the others, so
        // that they have the order that they had.
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
            _entered: entered.await,
            _own: own,
        }
    }
}
