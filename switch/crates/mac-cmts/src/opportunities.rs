// SPDX-License-Identifier: Apache-2.0
//! Where a MAP has its contention opportunities.

use mac_wire::{ContentionPlace, Profile, Sid, Usage};

use crate::draft::Draft;
use crate::random::Random;

/// Gives the MAP its contention opportunities where the profile has them; says how many.
pub(crate) fn offer(draft: &mut Draft, profile: &Profile, random: &mut Random) -> u32 {
    let request = profile.request_minislots.max(1);
    let wanted = profile.contention_opportunities();
    let from = match profile.contention_place {
        ContentionPlace::Head => draft.start(),
        ContentionPlace::RandomFrame => {
            let per_frame = u64::from(profile.clock.per_frame.max(1));
            let frames = (draft.end() - draft.start()) / per_frame;
            let from = draft.start() + random.below(frames) * per_frame;
            let whole = draft.first_fit(wanted * request, from);
            if wanted > 0
                && whole.is_some_and(|first| {
                    draft.give(Sid::ALL, Usage::Request, first, wanted * request)
                })
            {
                return wanted;
            }
            from
        }
    };
    // It has a minimum, so it goes before pending marks; an element takes up to two.
    let behind = fill(draft, request, from, wanted, 1);
    behind + fill(draft, request, draft.start(), wanted - behind, 1)
}

/// Makes minislots that are left contention too, up to some opportunities; says how many.
pub(crate) fn offer_more(draft: &mut Draft, profile: &Profile, most: u32, kept: usize) -> u32 {
    fill(
        draft,
        profile.request_minislots.max(1),
        draft.start(),
        most,
        kept,
    )
}

/// Up to `wanted` opportunities in the free minislots from `from` on, while more information elements
/// than `kept` are left.
fn fill(draft: &mut Draft, request: u32, from: u64, wanted: u32, kept: usize) -> u32 {
    let (mut given, mut from) = (0, from);
    while given < wanted && draft.left() > kept {
        let Some(first) = draft.first_fit(request, from) else {
            break;
        };
        let (_, end) = draft.holes()[draft.holes().partition_point(|hole| hole.1 <= first)];
        let most = ((end - first) / u64::from(request)).min(u64::from(wanted - given)) as u32;
        if !draft.give(Sid::ALL, Usage::Request, first, most * request) {
            break;
        }
        given += most;
        from = first + u64::from(most * request);
    }
    given
}
