// SPDX-License-Identifier: Apache-2.0
//! Every operator against the same operation in Rust.

use crate::common::{Reader, pass, pipeline};
use proptest::prelude::*;

#[derive(Clone, Debug)]
struct Operands {
    a: u32,
    b: u32,
    n: u8,
    s: i16,
    t: i16,
    x: u128,
    y: u128,
}

fn edge<T: Copy + std::fmt::Debug + 'static>(
    edges: &'static [T],
    any: impl Strategy<Value = T> + 'static,
) -> impl Strategy<Value = T> {
    prop_oneof![proptest::sample::select(edges), any]
}

fn operands() -> impl Strategy<Value = Operands> {
    (
        edge(&[0, 1, u32::MAX, 1 << 31], any::<u32>()),
        edge(&[0, 1, u32::MAX, 1 << 31], any::<u32>()),
        edge(&[0, 1, 31, 32, 63, 64, 127, 128, 255], any::<u8>()),
        edge(&[0, -1, i16::MIN, i16::MAX], any::<i16>()),
        edge(&[0, -1, i16::MIN, i16::MAX], any::<i16>()),
        edge(
            &[0, 1, u128::MAX, 1 << 127, 1 << 64, u64::MAX as u128],
            any::<u128>(),
        ),
        edge(
            &[0, 1, u128::MAX, 1 << 127, 1 << 64, u64::MAX as u128],
            any::<u128>(),
        ),
    )
        .prop_map(|(a, b, n, s, t, x, y)| Operands {
            a,
            b,
            n,
            s,
            t,
            x,
            y,
        })
}

fn frame(o: &Operands) -> Vec<u8> {
    let mut f = Vec::new();
    f.extend(o.a.to_be_bytes());
    f.extend(o.b.to_be_bytes());
    f.push(o.n);
    f.extend(o.s.to_be_bytes());
    f.extend(o.t.to_be_bytes());
    f.extend(o.x.to_be_bytes());
    f.extend(o.y.to_be_bytes());
    f
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn operators_have_the_widths_of_p4(o in operands()) {
        let mut p = pipeline_cached();
        let (_, out) = pass(&mut p, 1, &frame(&o)).expect("forwarded");
        let Operands { a, b, n, s, t, x, y } = o.clone();
        let n = u32::from(n);
        let mut r = Reader(&out);
        prop_assert_eq!(r.number(4), u128::from(a.wrapping_add(b)), "add");
        prop_assert_eq!(r.number(4), u128::from(a.wrapping_sub(b)), "sub");
        prop_assert_eq!(r.number(4), u128::from(a.wrapping_mul(b)), "mul");
        prop_assert_eq!(r.number(4), u128::from((a & b) ^ (a | 0xf0f0_f0f0)), "and or xor");
        prop_assert_eq!(r.number(4), u128::from(!a), "not");
        prop_assert_eq!(r.number(4), u128::from(a.checked_shl(n).unwrap_or(0)), "shl");
        prop_assert_eq!(r.number(4), u128::from(a.checked_shr(n).unwrap_or(0)), "shr");
        prop_assert_eq!(r.number(4), u128::from(a.saturating_add(b)), "add saturated");
        prop_assert_eq!(r.number(4), u128::from(a.saturating_sub(b)), "sub saturated");
        prop_assert_eq!(r.number(8), u128::from(u64::from(a) * u64::from(b)), "product");
        let comparisons =
            [a < b, a <= b, a == b, s < t, s <= t, x < y, x == y, a > b && s > t];
        let comparisons = comparisons.iter().fold(0, |n, c| n << 1 | u128::from(*c));
        prop_assert_eq!(r.number(1), comparisons, "comparisons");
        prop_assert_eq!(r.number(2) as i16, s.wrapping_add(t), "signed add");
        prop_assert_eq!(r.number(2) as i16, s >> n.min(15), "signed shift");
        prop_assert_eq!(r.number(2) as i16, s.saturating_add(t), "signed saturated");
        prop_assert_eq!(r.number(4) as i32, i32::from(s), "widened");
        prop_assert_eq!(r.number(4), u128::from(a << 16 | b >> 16), "slices");
        prop_assert_eq!(r.number(4), u128::from(if a < b || s >= t { a } else { b }), "chosen");
        prop_assert_eq!(r.number(16), x.wrapping_add(y), "wide add");
        prop_assert_eq!(r.number(16), x.wrapping_sub(y), "wide sub");
        prop_assert_eq!(r.number(16), x.checked_shl(n).unwrap_or(0) >> 3, "wide shift");
        prop_assert_eq!(r.number(16), (x & !y) | u128::from(a), "wide mixed");
        prop_assert_eq!(r.number(8), x >> 32 & u128::from(u64::MAX), "wide slice");
    }
}

/// Loading the program for each of thousands of cases would be slow.
fn pipeline_cached() -> v1model::Pipeline {
    use std::sync::{Arc, OnceLock};
    static PROGRAM: OnceLock<Arc<v1model::Program>> = OnceLock::new();
    let program = PROGRAM.get_or_init(|| pipeline("expressions.json").program().clone());
    v1model::Pipeline::new(program.clone(), 1)
}
