// SPDX-License-Identifier: Apache-2.0
//! Fields, constants, selects and lookaheads of 200 bits, on wide.p4.

use crate::common::{pass, pipeline};
use num_bigint::BigUint;
use v1model::Pipeline;

const BYTES: usize = 25;

/// Results in the order of wide.p4, as numbers of so many bytes.
struct Results(Vec<u8>);

impl Results {
    fn next(&mut self, bytes: usize) -> BigUint {
        let rest = self.0.split_off(bytes);
        BigUint::from_bytes_be(&std::mem::replace(&mut self.0, rest))
    }
}

fn ones(bits: u32) -> BigUint {
    (BigUint::from(1u8) << bits) - 1u8
}

fn run(p: &mut Pipeline, a: &BigUint, b: &BigUint, by: u8, tail: &[u8]) -> (Vec<u8>, Results) {
    let mut frame = vec![0; 2 * BYTES];
    for (at, number) in [a, b].into_iter().enumerate() {
        let bytes = number.to_bytes_be();
        let end = (at + 1) * BYTES;
        frame[end - bytes.len()..end].copy_from_slice(&bytes);
    }
    frame.push(by);
    frame.extend(tail);
    let (_, out) = pass(p, 1, &frame).expect("a packet");
    (frame, Results(out))
}

#[test]
fn every_operator_on_200_bits() {
    let mut p = pipeline("wide.json");
    let all = ones(200);
    let top: BigUint = BigUint::from(1u8) << 199u8;
    let some =
        BigUint::parse_bytes(b"123456789abcdef0fedcba98765432100f1e2d3c4b5a697887", 16).unwrap();
    let numbers = [
        BigUint::ZERO,
        BigUint::from(1u8),
        all.clone(),
        top.clone(),
        some,
        ones(128),
    ];
    let signed = |n: &BigUint| n >= &top;
    for a in &numbers {
        for b in &numbers {
            for by in [0u8, 1, 63, 64, 130, 199, 200, 255] {
                let (_, mut r) = run(&mut p, a, b, by, &[0]);
                let mut next = || r.next(BYTES);
                let modulus = &all + 1u8;
                assert_eq!(next(), (a + b) & &all);
                assert_eq!(next(), (a + &modulus - b) & &all);
                assert_eq!(next(), (a * b) & &all);
                assert_eq!(next(), a & b);
                assert_eq!(next(), a | b);
                assert_eq!(next(), a ^ b);
                assert_eq!(next(), &all - a);
                assert_eq!(next(), (a << by) & &all);
                assert_eq!(next(), a >> by);
                assert_eq!(next(), (a + b).min(all.clone()));
                assert_eq!(next(), if a > b { a - b } else { BigUint::ZERO });
                assert_eq!(next(), (&modulus - a) & &all);
                let filled = if signed(a) {
                    // The bits that come in are ones.
                    &all - ((&all - a) >> by)
                } else {
                    a >> by
                };
                assert_eq!(next(), filled);
                let sum = (a + b) & &all;
                let saturated = match (signed(a), signed(b), signed(&sum)) {
                    (false, false, true) => &top - 1u8,
                    (true, true, false) => top.clone(),
                    _ => sum,
                };
                assert_eq!(next(), saturated);
                let constant = b"123456789abcdef0123456789abcdef0123456789abcdef012";
                assert_eq!(next(), BigUint::parse_bytes(constant, 16).unwrap());
                assert_eq!(next(), a.min(b).clone());
                assert_eq!(next(), (a & ones(100)) << 100u8 | b >> 100u8);
                assert_eq!(r.next(8), (a >> 104u8) & ones(64));
                let low = a & ones(72);
                let widened = if low.bit(71) {
                    low | (&all - ones(72))
                } else {
                    low
                };
                assert_eq!(r.next(BYTES), widened);
                let ahead = r.next(BYTES);
                assert_eq!(
                    ahead,
                    if *a == all {
                        BigUint::from(1u8)
                    } else {
                        a.clone()
                    }
                );
                let less = match (signed(a), signed(b)) {
                    (false, true) => false,
                    (true, false) => true,
                    _ => a < b,
                };
                let flags = u8::from(a == b)
                    + 2 * u8::from(a < b)
                    + 4 * u8::from(less)
                    + 8 * u8::from(a >= b)
                    + 16
                    + 32;
                assert_eq!(r.next(1), BigUint::from(flags), "{a} {b}");
            }
        }
    }
}

#[test]
fn a_select_on_200_bits_with_a_mask() {
    let mut p = pipeline("wide.json");
    let value = (BigUint::from(0x12u8) << 150u8) | BigUint::from(0x80ffu16);
    let (_, mut r) = run(&mut p, &value, &BigUint::ZERO, 0, &[]);
    r.next(17 * BYTES + 8 + BYTES);
    assert_eq!(r.next(BYTES), BigUint::from(2u8));
}

#[test]
fn varbits_are_equal_with_the_same_length_and_bits() {
    let mut p = pipeline("wide.json");
    let zero = BigUint::ZERO;
    for (tail, equal) in [
        (&[0x22, 1, 2, 1, 2][..], true),
        (&[0x22, 1, 2, 1, 3], false),
        (&[0x21, 0, 2, 2], false),
        (&[0x00], true),
    ] {
        let (_, mut r) = run(&mut p, &zero, &zero, 0, tail);
        r.next(19 * BYTES + 8);
        // The lower bits: 0 == 0, and not less.
        let wanted = 1 + 8 + if equal { 16 + 32 } else { 0u8 };
        assert_eq!(r.next(1), BigUint::from(wanted), "{tail:?}");
    }
}
