// SPDX-License-Identifier: Apache-2.0
//! Parser value sets, on value_sets.p4.

use crate::common::{pass, pipeline};
use v1model::*;

/// The path that the parser took.
fn path(p: &mut Pipeline, kind: u16, address: u128, tunnel: u8) -> u8 {
    let mut frame = kind.to_be_bytes().to_vec();
    frame.extend(&address.to_be_bytes()[7..]);
    frame.push(tunnel);
    pass(p, 1, &frame).expect("a packet").1[0]
}

fn set(p: &Pipeline, name: &str) -> ValueSetId {
    let sets = p.program().value_sets();
    let at = sets.iter().position(|s| s.name.ends_with(name));
    ValueSetId(at.expect("a value set") as u32)
}

#[test]
fn a_select_matches_what_is_in_the_set() {
    let mut p = pipeline("value_sets.json");
    let types = set(&p, "types");
    assert_eq!(path(&mut p, 0x0800, 0, 0), 1);
    assert_eq!(path(&mut p, 0x1234, 0, 0), 0, "the set is empty");
    let two = [vec![Match::Exact(0x1234)], vec![Match::Exact(0x86dd)]];
    p.set_value_set(types, &two).unwrap();
    assert_eq!(path(&mut p, 0x1234, 0, 0), 2);
    assert_eq!(path(&mut p, 0x86dd, 0, 0), 2);
    assert_eq!(path(&mut p, 0x0800, 0, 0), 1, "the constant is first");
    assert_eq!(path(&mut p, 0x1235, 0, 0), 0);
    assert_eq!(p.value_set(types).unwrap(), two);
    p.set_value_set(types, &[vec![Match::Exact(7)]]).unwrap();
    assert_eq!(path(&mut p, 0x1234, 0, 0), 0, "replaced");
    assert_eq!(path(&mut p, 7, 0, 0), 2);
    let three = [1, 2, 3].map(|v| vec![Match::Exact(v)]);
    let full = p.set_value_set(types, &three).unwrap_err();
    assert_eq!(full.code(), Code::ResourceExhausted);
    assert_eq!(path(&mut p, 7, 0, 0), 2, "nothing was changed");
}

#[test]
fn a_set_of_several_wide_fields() {
    let mut p = pipeline("value_sets.json");
    let (types, tunnels) = (set(&p, "types"), set(&p, "tunnels"));
    let fields = &p.program().value_sets()[tunnels.0 as usize].fields;
    assert_eq!(fields.iter().map(|f| f.width).collect::<Vec<_>>(), [72, 8]);
    p.set_value_set(types, &[vec![Match::Exact(1)]]).unwrap();
    let masked = Match::Ternary {
        value: 0x12 << 64,
        mask: 0xff << 64,
    };
    let members = [
        vec![masked, Match::Exact(5)],
        vec![Match::Exact(0x99_0000_0000_0000_0001), Match::Exact(6)],
    ];
    p.set_value_set(tunnels, &members).unwrap();
    assert_eq!(path(&mut p, 1, 0x12_3456_789a_bcde_f012, 5), 3);
    assert_eq!(path(&mut p, 1, 0x12_3456_789a_bcde_f012, 6), 2);
    assert_eq!(path(&mut p, 1, 0x13_3456_789a_bcde_f012, 5), 2);
    assert_eq!(path(&mut p, 1, 0x99_0000_0000_0000_0001, 6), 3);
    assert_eq!(path(&mut p, 1, 0x99_0000_0000_0000_0002, 6), 2);
}
