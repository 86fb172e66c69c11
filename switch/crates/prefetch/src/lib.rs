// SPDX-License-Identifier: Apache-2.0
//! Asks the processor for memory that will be needed soon.
//!
//! With hundreds of busy queues and connections, most of the memory that an event needs is not
//! in the cache. Code that knows what a later event will need asks for it here, and does
//! something else meanwhile.

/// Bytes that come together.
const LINE: usize = 64;

/// Asks for the memory of a value, without waiting for it. Nothing is read, and nothing but time
/// depends on it.
#[inline(always)]
pub fn fetch<T: ?Sized>(value: &T) {
    let first = std::ptr::from_ref(value).cast::<u8>();
    for at in (0..size_of_val(value)).step_by(LINE) {
        fetch_line(first.wrapping_add(at));
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn fetch_line(place: *const u8) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a hint, which never faults, whatever the address; every x86_64 has it.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(place.cast()) }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn fetch_line(_place: *const u8) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_any_size_can_be_asked_for_and_stay_as_they_are() {
        let long: Vec<u64> = (0..1000).collect();
        fetch(long.as_slice());
        fetch(&long[1000..]);
        fetch(&());
        assert!(long.iter().copied().eq(0..1000));
    }
}
