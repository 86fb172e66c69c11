// SPDX-License-Identifier: Apache-2.0
//! How much a request asks for (mac.md, "What a request asks for").

use mac_wire::{Amount, FRAGMENT_OVERHEAD, Packing};

use crate::queue::{Eligible, Queue};
use crate::rules::{CONCATENATION, MOST_CONCATENATED, Rules};
use crate::staged::Staged;

/// MAC bytes of the burst that a request of DOCSIS 1.x asks for; 0 for none.
pub(crate) fn one_burst<Q: Queue>(
    rules: &Rules,
    staged: Option<&Staged<Q::Item>>,
    eligible: Eligible,
    queue: &Q,
) -> u64 {
    if rules.packing == Packing::Continuous {
        let staged = staged.map_or(0, |staged| staged.left);
        return match staged.saturating_add(eligible.mac_bytes(rules.header)) {
            0 => 0,
            bytes => bytes.saturating_add(rules.segment_header),
        };
    }
    if let Some(staged) = staged {
        let fragment = if staged.cut { FRAGMENT_OVERHEAD } else { 0 };
        return staged.left + fragment as u64;
    }
    let Some(head) = queue.length(0).filter(|_| eligible.frames > 0) else {
        return 0;
    };
    let single = rules.mac_bytes(head);
    if rules.packing == Packing::Single {
        return single;
    }
    concatenated(rules, eligible.frames, single, queue)
}

/// MAC bytes of as many whole frames, behind a concatenation header, as one burst may have; those
/// of the head if it stays alone.
fn concatenated<Q: Queue>(rules: &Rules, eligible: u64, head: u64, queue: &Q) -> u64 {
    let mut total = head + CONCATENATION;
    let mut frames = 1;
    while frames < eligible.min(MOST_CONCATENATED) {
        let Some(next) = queue.length(frames as usize) else {
            break;
        };
        let longer = total.saturating_add(rules.mac_bytes(next));
        if longer > rules.longest_concatenation
            || rules.phy.minislots(longer) > Amount::MOST_MINISLOTS
        {
            break;
        }
        total = longer;
        frames += 1;
    }
    if frames > 1 { total } else { head }
}
