// SPDX-License-Identifier: Apache-2.0
//! Requests that were sent, until they are granted or lost (mac.md, "Contention requests", 4, and
//! "What a request asks for", outstanding bytes).

use std::collections::VecDeque;

use mac_wire::Minislot;

/// Most requests of a station that may be outstanding.
const MOST: usize = 64;

/// How a request was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum How {
    /// In a contention opportunity.
    Contention,
    /// In a poll.
    Poll,
    /// In the head of a burst: piggybacked.
    Burst,
}

/// A request that was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Asked {
    /// The first minislot of its opportunity, its poll or its burst.
    pub sent: Minislot,
    /// How it was sent.
    pub how: How,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    sent: Minislot,
    /// Bytes that were not granted yet.
    left: u64,
    /// It was sent in contention, and nobody knows yet what became of it.
    contends: bool,
    granted: bool,
    acknowledged: bool,
    how: How,
}

/// What a MAP says of a station's requests.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Answer {
    pub ack: Minislot,
    pub grants: u32,
    /// Bytes of frames that they carry.
    pub granted: u64,
    /// Grants come that nobody asked for, in MAPs too that were made before a request was heard.
    pub proactive: bool,
    pub pending: bool,
}

/// What became of the request that was sent in contention.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Unknown,
    Heard,
    Lost,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Outstanding {
    /// In order of their minislots.
    requests: VecDeque<Entry>,
    bytes: u64,
}

impl Outstanding {
    /// Bytes that were asked for and not granted.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    pub fn is_full(&self) -> bool {
        self.requests.len() >= MOST
    }

    /// When the first of them was sent.
    pub fn oldest(&self) -> Option<Minislot> {
        self.requests.front().map(|request| request.sent)
    }

    /// Bytes of those that are acknowledged.
    pub fn waiting(&self) -> u64 {
        let acknowledged = self.requests.iter().filter(|request| request.acknowledged);
        acknowledged.fold(0, |sum: u64, request| sum.saturating_add(request.left))
    }

    pub fn add(&mut self, asked: Asked, bytes: u64) {
        let at = self
            .requests
            .partition_point(|request| request.sent <= asked.sent);
        self.requests.insert(
            at,
            Entry {
                sent: asked.sent,
                left: bytes,
                contends: asked.how == How::Contention,
                granted: false,
                acknowledged: false,
                how: asked.how,
            },
        );
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// Takes a MAP's grants off, and puts back what Ack Time passed that is neither granted nor
    /// pending. `whole` requests are for one burst: a grant of any size answers one, unless the
    /// rest is pending. `granted` is told of each that is granted now, wholly or in part, oldest
    /// first, and whether it is for the first time.
    pub fn read(
        &mut self,
        answer: &Answer,
        whole: bool,
        mut granted: impl FnMut(Asked, bool),
    ) -> Fate {
        let mut left = answer.granted;
        let mut fate = Fate::Unknown;
        let mut place = 0;
        self.requests.retain_mut(|request| {
            // Grants are for what the scheduler knows of, oldest first. It may have heard a request
            // that Ack Time does not cover yet, and then it granted that too: in part, if something
            // is pending, or else all of it. What is over and is less than that is rounding.
            let over = left > 0 && (answer.pending || left >= request.left);
            let known = place == 0 || request.sent < answer.ack || over;
            let served = known && answer.grants > 0 && (place == 0 || left > 0);
            place += 1;
            if served {
                let taken = left.min(request.left);
                left -= taken;
                request.left -= taken;
            }
            // What proactive grants carry need not be asked for, but they answer nothing. There a
            // request was heard if Ack Time covers it and its rest is pending, or there is none.
            let heard = !answer.proactive
                || request.sent < answer.ack && (answer.pending || request.left == 0);
            if served && (heard || request.acknowledged) {
                let (sent, how) = (request.sent, request.how);
                granted(Asked { sent, how }, !request.granted);
                request.granted = true;
            }
            request.acknowledged |= known && heard && answer.pending;
            let keep = if answer.pending {
                whole || request.left > 0
            } else {
                let answered = request.left == 0 || whole && request.granted;
                !answered && request.sent >= answer.ack
            };
            if request.contends {
                if request.granted || request.acknowledged || request.left == 0 {
                    request.contends = false;
                    fate = Fate::Heard;
                } else if !keep {
                    fate = Fate::Lost;
                }
            }
            keep
        });
        self.bytes = self
            .requests
            .iter()
            .fold(0, |sum, request| sum.saturating_add(request.left));
        fate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(ack: u64, granted: u64, pending: bool) -> Answer {
        Answer {
            ack: Minislot(ack),
            grants: u32::from(granted > 0),
            granted,
            proactive: false,
            pending,
        }
    }

    fn asked(sent: u64, how: How) -> Asked {
        Asked {
            sent: Minislot(sent),
            how,
        }
    }

    fn one(sent: u64, bytes: u64) -> Outstanding {
        let mut outstanding = Outstanding::default();
        outstanding.add(asked(sent, How::Contention), bytes);
        outstanding
    }

    #[test]
    fn an_ack_time_that_is_not_later_says_nothing() {
        let mut outstanding = one(10, 100);
        let fate = outstanding.read(&answer(10, 0, false), false, |_, _| ());
        assert_eq!(fate, Fate::Unknown);
        assert_eq!(outstanding.bytes(), 100);
        let fate = outstanding.read(&answer(11, 0, false), false, |_, _| ());
        assert_eq!(fate, Fate::Lost);
        assert_eq!(outstanding.bytes(), 0);
        assert!(outstanding.is_empty());
    }

    #[test]
    fn a_grant_of_any_size_or_a_pending_mark_is_success() {
        let mut outstanding = one(10, 100);
        let mut granted = Vec::new();
        let fate = outstanding.read(&answer(5, 1, false), false, |asked, first| {
            granted.push((asked.sent, first));
        });
        assert_eq!((fate, outstanding.bytes()), (Fate::Heard, 99));
        outstanding.read(&answer(5, 1, false), false, |asked, first| {
            granted.push((asked.sent, first));
        });
        assert_eq!(granted, [(Minislot(10), true), (Minislot(10), false)]);

        let mut outstanding = one(10, 100);
        let fate = outstanding.read(&answer(11, 0, true), false, |_, _| ());
        assert_eq!((fate, outstanding.bytes()), (Fate::Heard, 100));
        assert_eq!(outstanding.waiting(), 100);
        // Acknowledged and then forgotten by the CMTS: put back, but no collision.
        let fate = outstanding.read(&answer(80, 0, false), false, |_, _| ());
        assert_eq!((fate, outstanding.bytes()), (Fate::Unknown, 0));
    }

    #[test]
    fn grants_are_for_the_oldest_and_rounding_is_for_none() {
        let mut outstanding = one(10, 1528);
        outstanding.add(asked(90, How::Burst), 500);
        outstanding.read(&answer(50, 1536, false), false, |_, _| ());
        assert_eq!(
            (outstanding.bytes(), outstanding.oldest()),
            (500, Some(Minislot(90)))
        );
        // Both known: one grant answers both.
        let mut outstanding = one(10, 100);
        outstanding.add(asked(20, How::Burst), 100);
        let mut granted = Vec::new();
        outstanding.read(&answer(50, 150, true), false, |asked, _| {
            granted.push(asked.sent.0);
        });
        assert_eq!((outstanding.bytes(), granted), (50, vec![10, 20]));
    }

    #[test]
    fn what_covers_a_later_request_is_its_grant_although_ack_time_is_before_it() {
        let both = |granted, pending| {
            let mut outstanding = one(10, 1528);
            outstanding.add(asked(60, How::Contention), 500);
            // The first is granted: what is left to say is the second's.
            outstanding.requests[0].contends = false;
            let mut noted = Vec::new();
            let fate = outstanding.read(&answer(50, granted, pending), false, |asked, _| {
                noted.push(asked.sent.0);
            });
            (fate, outstanding.bytes(), noted)
        };
        assert_eq!(both(2064, false), (Fate::Heard, 0, vec![10, 60]));
        assert_eq!(both(2027, false), (Fate::Unknown, 500, vec![10]));
        // Where something is pending, no grant was rounded up.
        assert_eq!(both(1600, true), (Fate::Heard, 428, vec![10, 60]));
        assert_eq!(both(1528, true), (Fate::Unknown, 500, vec![10]));
    }

    #[test]
    fn proactive_grants_answer_a_request_only_once_it_was_heard() {
        let read = |answers: &[(u64, u64, bool)]| {
            let mut outstanding = one(10, 1000);
            let mut noted = 0;
            let mut fates = Vec::new();
            for &(ack, granted, pending) in answers {
                let answer = Answer {
                    proactive: true,
                    ..answer(ack, granted, pending)
                };
                fates.push(outstanding.read(&answer, false, |_, first| noted += u32::from(first)));
            }
            (fates, noted, outstanding.bytes())
        };
        use Fate::{Heard, Lost, Unknown};
        // Before Ack Time covers it, a grant carries some of its bytes and says nothing.
        let before = (10, 300, false);
        assert_eq!(read(&[before]), (vec![Unknown], 0, 700));
        assert_eq!(read(&[(10, 1000, false)]), (vec![Heard], 0, 0));
        // Heard, and granted in part or at once.
        let part = read(&[before, (11, 300, true)]);
        assert_eq!(part, (vec![Unknown, Heard], 1, 400));
        let all = read(&[before, (11, 700, false)]);
        assert_eq!(all, (vec![Unknown, Heard], 1, 0));
        // It collided: what was not granted is put back.
        let lost = read(&[before, (11, 300, false)]);
        assert_eq!(lost, (vec![Unknown, Lost], 0, 0));
    }

    #[test]
    fn a_request_for_a_burst_is_answered_by_a_small_grant_unless_the_rest_is_pending() {
        let mut outstanding = one(10, 1526);
        outstanding.read(&answer(5, 700, true), true, |_, _| ());
        assert!(!outstanding.is_empty());
        outstanding.read(&answer(80, 700, false), true, |_, _| ());
        assert!(outstanding.is_empty());
    }
}
