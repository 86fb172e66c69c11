// SPDX-License-Identifier: Apache-2.0
//! What MAPs gave a granted queue, as queue managers count it (paper 000, appendix A).

/// What MAPs gave a queue so far. Counters are modulo 2^32.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Granted {
    /// MAC bytes that they granted: the sum of the paper's `granted_bytes`.
    pub bytes: u32,
    /// The paper's `acked_req_bytes` after the last of them: MAC bytes that were requested and
    /// acknowledged, and not granted.
    pub acked_req_bytes: u32,
    /// MAPs after which there were none of those: each ends the paper's `pending_`.
    pub met: u32,
}

impl Granted {
    pub(crate) fn read(&mut self, granted: u64, waiting: u64) {
        // Modulo 2^32.
        self.bytes = self.bytes.wrapping_add(granted as u32);
        self.acked_req_bytes = u32::try_from(waiting).unwrap_or(u32::MAX);
        self.met = self.met.wrapping_add(u32::from(waiting == 0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_add_up_modulo_two_to_the_32nd() {
        let mut granted = Granted {
            bytes: u32::MAX - 9,
            met: u32::MAX,
            ..Granted::default()
        };
        granted.read(1526, 3052);
        assert_eq!((granted.bytes, granted.acked_req_bytes), (1516, 3052));
        assert_eq!(granted.met, u32::MAX, "requests wait");
        granted.read(0, u64::MAX);
        assert_eq!((granted.bytes, granted.acked_req_bytes), (1516, u32::MAX));
        granted.read(3052, 0);
        assert_eq!((granted.bytes, granted.acked_req_bytes), (4568, 0));
        assert_eq!(granted.met, 0);
    }
}
