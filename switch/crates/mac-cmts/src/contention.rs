// SPDX-License-Identifier: Apache-2.0
//! Minislots in which everybody may ask.

use mac_wire::{ContentionPlace, Map, Profile, Sid, Usage};

use crate::draft::Draft;
use crate::random::Random;
use crate::scheduler::Scheduler;

impl Scheduler {
    /// A MAP that may stretch does so where unsolicited grants left too little for contention.
    pub(crate) fn offer_contention(&mut self) {
        let mut given = offer(&mut self.draft, &self.profile, &mut self.random);
        let wanted = self.profile.contention_opportunities();
        let most = self.draft.start() + u64::from(Map::MAX_MINISLOTS);
        while given < wanted && self.profile.stretch {
            let missing = u64::from((wanted - given) * self.profile.request_minislots);
            let (end, limit) = (self.draft.end() + missing, self.draft.limit());
            if end > most || self.draft.left() < 3 {
                break;
            }
            self.draft.stretch(end);
            self.place_periodic(limit);
            given += offer_more(&mut self.draft, &self.profile, wanted - given, 1);
        }
        self.count_opportunities(given);
    }

    pub(crate) fn count_opportunities(&mut self, given: u32) {
        self.counted.opportunities += u64::from(given);
        self.counted.minislots_contention +=
            u64::from(given) * u64::from(self.profile.request_minislots);
    }
}

/// Gives the MAP its contention opportunities where the profile has them; says how many.
fn offer(draft: &mut Draft, profile: &Profile, random: &mut Random) -> u32 {
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
