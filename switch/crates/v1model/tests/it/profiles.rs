// SPDX-License-Identifier: Apache-2.0
//! Action profiles and selectors, as packets and the control plane meet them.

use crate::common::{Reader, call, pass, pipeline, table};
use std::collections::BTreeMap;
use v1model::*;

/// What the tables wrote: host, net, chosen; `None` when dropped.
fn send(p: &mut Pipeline, host: u8, net: u8, flow: u16) -> Option<(u16, u16, u8)> {
    let mut frame = vec![host, net];
    frame.extend(flow.to_be_bytes());
    let (_, out) = pass(p, 1, &frame)?;
    let mut r = Reader(&out);
    let (host, net, _) = (r.number(2), r.number(2), r.number(2));
    Some((host as u16, net as u16, r.number(1) as u8))
}

fn exact(value: u128) -> EntryKey {
    EntryKey {
        matches: vec![Match::Exact(value)],
        priority: 0,
    }
}

fn add(
    p: &mut Pipeline,
    table: TableId,
    key: &EntryKey,
    action: EntryAction,
) -> Result<(), ControlError> {
    p.insert(0, table, key, &action, &EntryOptions::default())
}

fn code<T: std::fmt::Debug>(result: Result<T, ControlError>) -> Code {
    result.expect_err("refused").code()
}

fn share(member: u32, weight: u32) -> GroupMember {
    GroupMember {
        member,
        weight,
        watch_port: None,
    }
}

fn group(id: u32, members: &[GroupMember]) -> Group {
    Group {
        id,
        max_size: 0,
        members: members.to_vec(),
    }
}

/// How often each value is chosen over many flows.
fn shares(p: &mut Pipeline, net: u8) -> BTreeMap<Option<u16>, usize> {
    let mut found = BTreeMap::new();
    for flow in 0..4096 {
        let value = send(p, 0, net, flow).map(|(_, net, _)| net);
        *found.entry(value).or_default() += 1;
    }
    found
}

#[test]
fn entries_run_their_members_action() {
    let mut p = pipeline("profiles.json");
    let id = table(&p, "host");
    let profile = p.program().action_profile("I.host_profile").unwrap();
    let schema = &p.program().action_profiles()[profile.0 as usize];
    assert_eq!((schema.size, schema.selector), (4, false));
    assert_eq!(schema.tables, [id]);
    assert_eq!(send(&mut p, 1, 0, 0), Some((0, 0, 4)));

    let set = |p: &Pipeline, value| call(p, id, "set_host", &[value]);
    let seven = set(&p, 7);
    p.insert_member(profile, 10, &seven).unwrap();
    assert_eq!(
        code(p.insert_member(profile, 10, &seven)),
        Code::AlreadyExists
    );
    assert_eq!(
        code(add(&mut p, id, &exact(1), EntryAction::Member(11))),
        Code::NotFound
    );
    assert_eq!(
        code(add(&mut p, id, &exact(1), seven.clone().into())),
        Code::InvalidArgument
    );
    assert_eq!(
        code(add(&mut p, id, &exact(1), EntryAction::OneShot(vec![]))),
        Code::InvalidArgument
    );
    add(&mut p, id, &exact(1), EntryAction::Member(10)).unwrap();
    add(&mut p, id, &exact(2), EntryAction::Member(10)).unwrap();
    assert_eq!(send(&mut p, 1, 0, 0), Some((7, 0, 5)));
    let eight = set(&p, 8);
    p.modify_member(profile, 10, &eight).unwrap();
    assert_eq!(send(&mut p, 2, 0, 0), Some((8, 0, 5)));
    let wide = set(&p, 1 << 16);
    assert_eq!(code(p.modify_member(profile, 10, &wide)), Code::OutOfRange);
    assert_eq!(
        p.members(profile, 0).unwrap().collect::<Vec<_>>(),
        [Member {
            id: 10,
            call: eight
        }]
    );
    assert_eq!(
        p.entry(id, &exact(2)).unwrap().action,
        EntryAction::Member(10)
    );

    assert_eq!(code(p.delete_member(profile, 10)), Code::FailedPrecondition);
    p.delete(id, &exact(1)).unwrap();
    let discard = call(&p, id, "discard", &[]);
    p.insert_member(profile, 11, &discard).unwrap();
    let member = EntryAction::Member(11);
    p.modify(0, id, &exact(2), &member, &EntryOptions::default())
        .unwrap();
    assert_eq!(send(&mut p, 2, 0, 0), None);
    p.delete_member(profile, 10).unwrap();
    assert_eq!(code(p.delete_member(profile, 10)), Code::NotFound);
    assert_eq!(code(p.delete_member(profile, 11)), Code::FailedPrecondition);

    for member in 20..23 {
        p.insert_member(profile, member, &seven).unwrap();
    }
    assert_eq!(
        code(p.insert_member(profile, 23, &seven)),
        Code::ResourceExhausted
    );
    let with_group = p.insert_group(profile, &group(1, &[share(20, 1)]));
    assert_eq!(code(with_group), Code::InvalidArgument);
}

#[test]
fn the_default_entry_may_be_a_member_an_action_or_nothing() {
    let mut p = pipeline("profiles.json");
    let id = table(&p, "host");
    let profile = p.program().action_profile("I.host_profile").unwrap();
    let none: EntryAction = call(&p, id, "NoAction", &[]).into();
    assert_eq!(p.default_entry(id).unwrap(), (none.clone(), true));
    let six = call(&p, id, "set_host", &[6]);
    p.insert_member(profile, 1, &six).unwrap();
    p.set_default(id, Some(&EntryAction::Member(1))).unwrap();
    assert_eq!(send(&mut p, 1, 0, 0), Some((6, 0, 4)));
    assert_eq!(code(p.delete_member(profile, 1)), Code::FailedPrecondition);
    let five: EntryAction = call(&p, id, "set_host", &[5]).into();
    p.set_default(id, Some(&five)).unwrap();
    assert_eq!(p.default_entry(id).unwrap(), (five, false));
    assert_eq!(send(&mut p, 1, 0, 0), Some((5, 0, 4)));
    p.delete_member(profile, 1).unwrap();
    p.set_default(id, None).unwrap();
    assert_eq!(p.default_entry(id).unwrap(), (none, true));
    assert_eq!(send(&mut p, 1, 0, 0), Some((0, 0, 4)));
    assert_eq!(p.members(profile, 0).unwrap().collect::<Vec<_>>(), []);
}

#[test]
fn a_group_follows_weights_and_ports() {
    let mut p = pipeline("profiles.json");
    let id = table(&p, "net");
    let profile = p.program().action_profile("I.paths").unwrap();
    assert_eq!(p.program().action_profiles()[1].tables.len(), 2);
    for member in 1..=3 {
        let set = call(&p, id, "set_net", &[u128::from(member), 0]);
        p.insert_member(profile, member, &set).unwrap();
    }
    let mut first = group(9, &[share(1, 1), share(2, 3)]);
    p.insert_group(profile, &first).unwrap();
    add(&mut p, id, &exact(5), EntryAction::Group(9)).unwrap();
    // crc16 over all 12-bit flows is as even as can be.
    assert_eq!(
        shares(&mut p, 5),
        BTreeMap::from([(Some(1), 1024), (Some(2), 3072)])
    );
    assert_eq!(send(&mut p, 0, 5, 1), send(&mut p, 0, 5, 1));

    // The member that watches a port which is down is left out, wherever it is.
    first.members[1].watch_port = Some(3);
    p.modify_group(profile, &first).unwrap();
    assert_eq!(
        p.groups(profile, 0).unwrap().collect::<Vec<_>>(),
        [first.clone()]
    );
    p.set_port_up(3, false);
    assert_eq!(shares(&mut p, 5), BTreeMap::from([(Some(1), 4096)]));
    p.set_port_up(3, true);
    assert_eq!(shares(&mut p, 5)[&Some(2)], 3072);

    // An empty group: the entry is hit, and it is as if NoAction ran.
    p.modify_group(profile, &group(9, &[])).unwrap();
    assert_eq!(send(&mut p, 0, 5, 1), Some((0, 0, 4)));

    assert_eq!(code(p.delete_group(profile, 9)), Code::FailedPrecondition);
    p.delete_member(profile, 2).unwrap();
    let with_deleted = group(9, &[share(2, 1)]);
    assert_eq!(code(p.modify_group(profile, &with_deleted)), Code::NotFound);
    p.modify_group(profile, &group(9, &[share(3, 1)])).unwrap();
    assert_eq!(code(p.delete_member(profile, 3)), Code::FailedPrecondition);
    p.delete(id, &exact(5)).unwrap();
    p.delete_group(profile, 9).unwrap();
    p.delete_member(profile, 3).unwrap();
    assert_eq!(code(p.delete_group(profile, 9)), Code::NotFound);
}

#[test]
fn groups_that_make_no_sense_are_refused() {
    let mut p = pipeline("profiles.json");
    let id = table(&p, "net");
    let profile = p.program().action_profile("I.paths").unwrap();
    let set = call(&p, id, "set_net", &[1, 1]);
    p.insert_member(profile, 1, &set).unwrap();
    for (members, wanted) in [
        (vec![share(1, 0)], Code::InvalidArgument),
        (vec![share(1, 1), share(1, 1)], Code::InvalidArgument),
        (vec![share(2, 1)], Code::NotFound),
    ] {
        assert_eq!(code(p.insert_group(profile, &group(4, &members))), wanted);
    }
    let limited = |weight| Group {
        max_size: 3,
        ..group(4, &[share(1, weight)])
    };
    // A hash of 32 bits reaches every member.
    p.insert_member(profile, 3, &set).unwrap();
    let heavy = group(4, &[share(1, u32::MAX), share(3, 1)]);
    let too_heavy = p.insert_group(profile, &heavy);
    assert_eq!(code(too_heavy), Code::ResourceExhausted);
    // What max_size counts is in P4Info.
    p.insert_group(profile, &limited(4)).unwrap();
    assert_eq!(
        code(p.insert_group(profile, &limited(3))),
        Code::AlreadyExists
    );
    for max_size in [0, 4] {
        let resized = Group {
            max_size,
            ..limited(1)
        };
        assert_eq!(
            code(p.modify_group(profile, &resized)),
            Code::InvalidArgument
        );
    }
    assert_eq!(
        code(p.modify_group(profile, &group(5, &[]))),
        Code::NotFound
    );
    assert_eq!(
        p.groups(profile, 0).unwrap().collect::<Vec<_>>(),
        [limited(4)]
    );
}

#[test]
fn one_shots_are_read_back_and_leave_nothing_behind() {
    let mut p = pipeline("profiles.json");
    let id = table(&p, "net");
    let profile = p.program().action_profile("I.paths").unwrap();
    let weighted = |p: &Pipeline, table, value, weight, port| WeightedCall {
        call: call(p, table, "set_net", &[value, 0]),
        weight,
        watch_port: port,
    };
    let shot = EntryAction::OneShot(vec![
        weighted(&p, id, 1, 1, Some(3)),
        weighted(&p, id, 2, 1, None),
        weighted(&p, id, 2, 2, None),
    ]);
    add(&mut p, id, &exact(5), shot.clone()).unwrap();
    assert_eq!(p.entry(id, &exact(5)).unwrap().action, shot);
    assert_eq!(shares(&mut p, 5)[&Some(1)], 1024);
    p.set_port_up(3, false);
    assert_eq!(shares(&mut p, 5), BTreeMap::from([(Some(2), 4096)]));
    assert_eq!(p.groups(profile, 0).unwrap().collect::<Vec<_>>(), []);
    assert_eq!(p.members(profile, 0).unwrap().collect::<Vec<_>>(), []);

    // The other table has actions of its own ids and the same names.
    let masked = table(&p, "net_by_mask");
    let key = EntryKey {
        matches: vec![Match::Ternary { value: 0, mask: 0 }],
        priority: 1,
    };
    let other = EntryAction::OneShot(vec![weighted(&p, masked, 77, 1, None)]);
    add(&mut p, masked, &key, other.clone()).unwrap();
    assert_eq!(p.entry(masked, &key).unwrap().action, other);
    assert_eq!(send(&mut p, 0, 6, 0), Some((0, 77, 4)));

    let set = call(&p, id, "set_net", &[1, 1]);
    p.insert_member(profile, 1, &set).unwrap();
    let mixed = add(&mut p, id, &exact(6), EntryAction::Member(1));
    assert_eq!(code(mixed), Code::InvalidArgument);
    let bad = EntryAction::OneShot(vec![weighted(&p, id, 1, 0, None)]);
    let no_weight = p.modify(0, id, &exact(5), &bad, &EntryOptions::default());
    assert_eq!(code(no_weight), Code::InvalidArgument);
    assert_eq!(p.entry(id, &exact(5)).unwrap().action, shot);
    let small = EntryAction::OneShot(vec![weighted(&p, id, 9, 1, None)]);
    p.modify(0, id, &exact(5), &small, &EntryOptions::default())
        .unwrap();
    assert_eq!(shares(&mut p, 5), BTreeMap::from([(Some(9), 4096)]));
    p.delete(id, &exact(5)).unwrap();
    p.delete(masked, &key).unwrap();
    add(&mut p, id, &exact(6), EntryAction::Member(1)).unwrap();
    assert_eq!(send(&mut p, 0, 6, 0).map(|found| found.1), Some(1));
}
