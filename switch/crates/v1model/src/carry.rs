// SPDX-License-Identifier: Apache-2.0
//! Carries the state of a packet from ingress to egress.
//!
//! All packets of a pipeline run in one packet-header vector. While one waits in a queue,
//! others run there, so the slots that egress reads are saved and restored. The lowering
//! knows which slots those are (`lower::carry`): for cm.p4 one in seven.

use crate::op::Slot;

/// Consecutive slots: the first, and how many.
pub(crate) type Run = (Slot, Slot);

/// The fields of a header that nothing but the deparser reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fields {
    pub valid: Slot,
    pub raw: Slot,
    pub run: Run,
    /// Egress may change the header, so that it is put together from its fields even if it
    /// is as received so far.
    pub changes: bool,
}

impl Fields {
    #[inline(always)]
    fn are_needed(&self, phv: &[u64]) -> bool {
        phv[usize::from(self.valid)] != 0 && (self.changes || phv[usize::from(self.raw)] == 0)
    }
}

/// What egress reads of the standard metadata that the target sets before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Given {
    pub egress_port: bool,
    pub egress_rid: bool,
    pub instance_type: bool,
    pub packet_length: bool,
    pub egress_global_timestamp: bool,
    pub deq_qdepth: bool,
    pub qid: bool,
    pub deq_timedelta: bool,
    pub enq_timestamp: bool,
    pub enq_qdepth: bool,
}

impl Given {
    /// What a trace may show.
    pub const ALL: Self = Self {
        egress_port: true,
        egress_rid: true,
        instance_type: true,
        packet_length: true,
        egress_global_timestamp: true,
        deq_qdepth: true,
        qid: true,
        deq_timedelta: true,
        enq_timestamp: true,
        enq_qdepth: true,
    };
}

/// The slots that a packet takes with it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Carry {
    /// Always. Validity of all headers with `fields` is in it.
    pub runs: Vec<Run>,
    /// Where they are needed.
    pub fields: Vec<Fields>,
    /// Slots of `runs`.
    pub always: usize,
    /// What egress begins with as it was before the packet.
    pub resets: Vec<Run>,
    pub given: Given,
    /// Slots that are never written.
    pub constant: Vec<Run>,
}

/// Slots that are copied in one piece.
const PIECE: usize = 4;

/// Copies `n` slots. Most runs are short: to call memcpy costs more than to copy them.
///
/// # Safety
/// They may be read and written there, and do not overlap.
#[inline(always)]
unsafe fn copy(from: *const u64, to: *mut u64, n: usize) {
    // SAFETY: as the caller promises; all that is copied is among the `n`.
    unsafe {
        let piece = |at: usize| {
            let slots = from.add(at).cast::<[u64; PIECE]>().read();
            to.add(at).cast::<[u64; PIECE]>().write(slots);
        };
        if n < PIECE {
            for at in 0..n {
                // Not to become a call again.
                to.add(at).write_volatile(*from.add(at));
            }
            return;
        }
        let mut at = 0;
        while at + PIECE < n {
            piece(at);
            at += PIECE;
        }
        // The last ones, of which some may have been copied.
        piece(n - PIECE);
    }
}

/// Copies as many slots as both have, and both have as many.
#[inline(always)]
pub(crate) fn copy_slots(from: &[u64], to: &mut [u64]) {
    assert_eq!(from.len(), to.len());
    // SAFETY: both have so many, and one of them is borrowed alone.
    unsafe { copy(from.as_ptr(), to.as_mut_ptr(), from.len()) }
}

impl Carry {
    /// Whether all that it names is among so many slots, and `always` is their number.
    pub fn fits(&self, slots: usize) -> bool {
        let within = |(first, n): &Run| usize::from(*first) + usize::from(*n) <= slots;
        let in_runs = self
            .runs
            .iter()
            .map(|run| usize::from(run.1))
            .sum::<usize>();
        let fields = self
            .fields
            .iter()
            .flat_map(|f| [(f.valid, 1), (f.raw, 1), f.run]);
        let mut all = fields.chain(self.runs.iter().copied());
        all.all(|run| within(&run)) && self.resets.iter().all(within) && self.always == in_runs
    }

    /// Slots of fields that are needed of a packet.
    #[inline(always)]
    fn needed(&self, phv: &[u64]) -> usize {
        let needed = self.fields.iter().filter(|fields| fields.are_needed(phv));
        needed.map(|fields| usize::from(fields.run.1)).sum()
    }

    /// Puts a packet's slots aside. `phv` is as long as [`Carry::fits`] was asked for.
    #[inline]
    pub fn save(&self, phv: &[u64], to: &mut Vec<u64>) {
        debug_assert!(self.fits(phv.len()));
        let slots = self.always + self.needed(phv);
        to.clear();
        to.reserve_exact(slots);
        let from = phv.as_ptr();
        let mut at = to.as_mut_ptr();
        // SAFETY: the slots are in `phv`, as `fits` says, and there is room for `slots`, which
        // is what is written: the runs, and the fields that are needed.
        unsafe {
            for (first, n) in &self.runs {
                copy(from.add(usize::from(*first)), at, usize::from(*n));
                at = at.add(usize::from(*n));
            }
            for fields in self.fields.iter().filter(|fields| fields.are_needed(phv)) {
                let (first, n) = fields.run;
                copy(from.add(usize::from(first)), at, usize::from(n));
                at = at.add(usize::from(n));
            }
            to.set_len(slots);
        }
    }

    /// Brings back what [`Carry::save`] has put aside. The other slots stay what some
    /// other packet made of them, but for those that are reset to `template`'s.
    #[inline]
    pub fn restore(&self, saved: &[u64], phv: &mut [u64]) {
        assert!(
            saved.len() >= self.always,
            "a packet without what it should carry"
        );
        let to = phv.as_mut_ptr();
        let mut at = saved.as_ptr();
        // SAFETY: the slots are in `phv`, as `fits` says, and `saved` has `always` slots.
        unsafe {
            for (first, n) in &self.runs {
                copy(at, to.add(usize::from(*first)), usize::from(*n));
                at = at.add(usize::from(*n));
            }
        }
        let mut rest = &saved[self.always..];
        for fields in &self.fields {
            if fields.are_needed(phv) {
                let (first, n) = (usize::from(fields.run.0), usize::from(fields.run.1));
                let (own, others) = rest.split_at(n);
                copy_slots(own, &mut phv[first..first + n]);
                rest = others;
            }
        }
    }

    /// Resets what egress alone writes.
    #[inline]
    pub fn reset(&self, template: &[u64], phv: &mut [u64]) {
        for (first, n) in &self.resets {
            let run = usize::from(*first)..usize::from(*first) + usize::from(*n);
            copy_slots(&template[run.clone()], &mut phv[run]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_carried_of_headers_that_may_be_put_together() {
        let fields = |valid: Slot, changes| Fields {
            valid,
            raw: valid + 1,
            run: (valid + 2, 2),
            changes,
        };
        // Two headers, and a field of metadata.
        let carry = Carry {
            runs: vec![(0, 2), (4, 2), (9, 1)],
            fields: vec![fields(0, true), fields(4, false)],
            always: 5,
            ..Carry::default()
        };
        let packet = |valid: [u64; 2], raw: [u64; 2]| {
            [valid[0], raw[0], 10, 11, valid[1], raw[1], 12, 13, 99, 14]
        };
        for (valid, raw, carried) in [
            ([0, 0], [1, 0], vec![]),
            ([1, 1], [1, 15], vec![10, 11]),
            ([1, 1], [0, 0], vec![10, 11, 12, 13]),
            ([0, 1], [0, 0], vec![12, 13]),
        ] {
            let phv = packet(valid, raw);
            let mut saved = vec![5; 20];
            carry.save(&phv, &mut saved);
            let always = [valid[0], raw[0], valid[1], raw[1], 14];
            assert_eq!(saved, [&always[..], &carried].concat());
            let mut restored = [77; 10];
            carry.restore(&saved, &mut restored);
            for at in 0..10 {
                let is_carried = [0, 1, 4, 5, 9].contains(&at) || carried.contains(&phv[at]);
                assert_eq!(restored[at], if is_carried { phv[at] } else { 77 });
            }
        }
    }
}
