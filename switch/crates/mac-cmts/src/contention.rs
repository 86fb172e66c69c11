// SPDX-License-Identifier: Apache-2.0
//! Places the minislots in which every modem may request.

use mac_wire::Map;

use crate::opportunities::{offer, offer_more};
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
