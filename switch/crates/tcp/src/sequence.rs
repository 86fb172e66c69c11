// SPDX-License-Identifier: Apache-2.0
//! Sequence numbers: 32 bits on the wire that wrap around (RFC 9293 3.4), and
//! 64 bits inside, which never do.
//!
//! Inside, the SYN has number 0 and the first byte of data number 1.

/// The number inside that is nearest to `near` of those which stand for
/// `wire`, where the SYN had `origin`. None if that would be before the SYN.
pub(crate) fn absolute(near: u64, origin: u32, wire: u32) -> Option<u64> {
    let offset = wire.wrapping_sub(origin);
    let distance = offset.wrapping_sub(near as u32) as i32;
    near.checked_add_signed(i64::from(distance))
}

/// The number on the wire of a number inside.
pub(crate) fn on_wire(absolute: u64, origin: u32) -> u32 {
    origin.wrapping_add(absolute as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9293 3.4: sequence numbers are compared modulo 2^32.
    #[test]
    fn numbers_wrap_around() {
        let origin = u32::MAX - 10;
        for near in [0, 5, 1 << 20, (1 << 32) - 3, (1 << 32) + 7, 1 << 40] {
            for distance in [-1000i64, -1, 0, 1, 1000, (1 << 31) - 1] {
                let Some(number) = u64::checked_add_signed(near, distance) else {
                    continue;
                };
                let wire = on_wire(number, origin);
                assert_eq!(absolute(near, origin, wire), Some(number));
            }
        }
    }

    #[test]
    fn nothing_is_before_the_syn() {
        assert_eq!(absolute(0, 100, 99), None);
    }
}
