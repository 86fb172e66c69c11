// SPDX-License-Identifier: Apache-2.0
//! How much a request asks for (mac.md, "What a request asks for").

use mac_wire::{Amount, FRAGMENT_OVERHEAD, Packing};

use crate::queue::{Eligible, Queue};
use crate::rules::{CONCATENATION, Rules};
use crate::staged::Staged;

/// What a station would ask for now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wish {
    pub amount: Amount,
    /// Frames of the queue, from the head on, that it covers together with what was asked for.
    pub frames: u64,
}

/// The burst that a request of DOCSIS 1.x asks for; `None` for none.
pub(crate) fn one_burst<Q: Queue>(
    rules: &Rules,
    staged: Option<&Staged<Q::Item>>,
    eligible: Eligible,
    queue: &Q,
) -> Option<Wish> {
    let (bytes, frames) = burst(rules, staged, eligible, queue);
    let minislots = rules.phy.minislots(bytes).min(rules.most_minislots);
    (minislots > 0).then_some(Wish {
        amount: Amount::Minislots(minislots),
        frames,
    })
}

/// Its MAC bytes, and frames that are still in the queue.
fn burst<Q: Queue>(
    rules: &Rules,
    staged: Option<&Staged<Q::Item>>,
    eligible: Eligible,
    queue: &Q,
) -> (u64, u64) {
    // A stream is asked for in bytes: `Profile::check` refuses it here.
    if let Some(staged) = staged {
        let fragment = if staged.cut { FRAGMENT_OVERHEAD } else { 0 };
        return (staged.left + fragment as u64, 0);
    }
    let Some(head) = queue.length(0).filter(|_| eligible.frames > 0) else {
        return (0, 0);
    };
    let single = rules.mac_bytes(head);
    if rules.packing == Packing::Concatenated {
        concatenated(rules, eligible.frames, single, queue)
    } else {
        (single, 1)
    }
}

/// MAC bytes of as many whole frames, behind a concatenation header, as one burst may have; those
/// of the head if it stays alone.
fn concatenated<Q: Queue>(rules: &Rules, eligible: u64, head: u64, queue: &Q) -> (u64, u64) {
    let mut total = head + CONCATENATION;
    let mut frames = 1;
    while frames < eligible.min(rules.most_concatenated) {
        let Some(next) = queue.length(frames as usize) else {
            break;
        };
        let longer = total.saturating_add(rules.mac_bytes(next));
        if longer > rules.longest_concatenation
            || rules.phy.minislots(longer) > rules.most_minislots
        {
            break;
        }
        total = longer;
        frames += 1;
    }
    (if frames > 1 { total } else { head }, frames)
}
