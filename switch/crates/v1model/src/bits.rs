// SPDX-License-Identifier: Apache-2.0
//! Bit fields in network order.

/// Bytes of a word.
pub(crate) const WORD: usize = 8;

/// A word from `at` on as a big-endian number.
///
/// # Safety
/// `data` has [`WORD`] bytes from there on.
#[inline(always)]
pub(crate) unsafe fn word_at(data: &[u8], at: usize) -> u64 {
    debug_assert!(at + WORD <= data.len());
    // SAFETY: as the caller promises; bytes have no alignment.
    unsafe { u64::from_be_bytes(data.as_ptr().add(at).cast::<[u8; WORD]>().read()) }
}

/// 8 bytes from `at` on as a big-endian number, with zeros for those behind the end of `data`.
#[inline(always)]
pub(crate) fn load_word(data: &[u8], at: usize) -> u64 {
    let rest = &data[at..];
    match rest.first_chunk::<WORD>() {
        Some(bytes) => u64::from_be_bytes(*bytes),
        None => load_last(rest),
    }
}

/// Fewer than [`WORD`] bytes, and zeros behind them.
#[cold]
fn load_last(rest: &[u8]) -> u64 {
    let mut word = [0; WORD];
    word[..rest.len()].copy_from_slice(rest);
    u64::from_be_bytes(word)
}

/// `width` bits, 1 to 64, from bit `offset` on, all of which `data` has.
#[inline(always)]
pub(crate) fn load(data: &[u8], offset: usize, width: u16) -> u64 {
    let (byte, skip) = (offset / 8, (offset % 8) as u32);
    let mut word = load_word(data, byte) << skip;
    if skip + u32::from(width) > 64 {
        word |= u64::from(data[byte + 8]) >> (8 - skip);
    }
    word >> (64 - u32::from(width))
}

/// `width` bits of any number into slots, the lowest 64 bits first.
#[inline]
pub(crate) fn load_slots(data: &[u8], offset: usize, width: u16, slots: &mut [u64]) {
    let mut left = width;
    for slot in slots {
        let bits = left.min(64);
        left -= bits;
        *slot = load(data, offset + usize::from(left), bits);
    }
}

/// Ors `width` bits, 1 to 64, into zeroed bytes from bit `offset` on.
pub(crate) fn store(data: &mut [u8], offset: usize, width: u16, value: u64) {
    // Most fields are whole bytes.
    if offset % 8 == 0 && width % 8 == 0 {
        let (at, bytes) = (offset / 8, usize::from(width / 8));
        data[at..at + bytes].copy_from_slice(&value.to_be_bytes()[8 - bytes..]);
        return;
    }
    let mut left = width;
    let mut at = offset;
    while left > 0 {
        let room = 8 - (at % 8) as u16;
        let take = room.min(left);
        let part = (value >> (left - take)) & ((1 << take) - 1);
        data[at / 8] |= (part as u8) << (room - take);
        at += usize::from(take);
        left -= take;
    }
}

/// Ors `width` bits of any number from slots, the lowest 64 bits first.
pub(crate) fn store_slots(data: &mut [u8], offset: usize, width: u16, slots: &[u64]) {
    let mut left = width;
    for slot in slots {
        let bits = left.min(64);
        left -= bits;
        store(data, offset + usize::from(left), bits, *slot);
    }
}

/// Whether two varbit fields, given as their slots are (see `layout`), are
/// equally long and have the same bits. Their lengths are whole bytes.
#[inline(never)]
pub(crate) fn same_var(data: &[u8], a: u64, b: u64) -> bool {
    let bits = a & 0xffff_ffff;
    bits == b & 0xffff_ffff
        && (0..bits as usize).step_by(8).all(|at| {
            load(data, (a >> 32) as usize + at, 8) == load(data, (b >> 32) as usize + at, 8)
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_stored_is_loaded(
            offset in 0usize..40,
            width in 1u16..200,
            value in any::<[u64; 4]>(),
        ) {
            let words = usize::from(width.div_ceil(64));
            let mut slots = value[..words].to_vec();
            let top = width - 64 * (words as u16 - 1);
            slots[words - 1] &= u64::MAX >> (64 - top);
            let mut data = vec![0; (offset + usize::from(width)).div_ceil(8)];
            store_slots(&mut data, offset, width, &slots);
            // Bit by bit, as the reference.
            for bit in 0..width {
                let from_low = usize::from(width - 1 - bit);
                let wanted = slots[from_low / 64] >> (from_low % 64) & 1;
                let at = offset + usize::from(bit);
                prop_assert_eq!(u64::from(data[at / 8] >> (7 - at % 8) & 1), wanted);
            }
            let mut loaded = vec![0; words];
            load_slots(&data, offset, width, &mut loaded);
            prop_assert_eq!(loaded, slots);
        }
    }
}
