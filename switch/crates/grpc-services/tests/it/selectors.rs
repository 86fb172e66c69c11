// SPDX-License-Identifier: Apache-2.0
//! Action profile members, groups and one-shots.

use crate::common::*;
use grpc_services::proto::p4::v1 as p4;
use p4::action_profile_group::member::WatchKind;
use p4::entity::Entity;
use p4::table_action::Type as Choice;
use tonic::Code;

fn member(profile: u32, id: u32, action: Option<p4::Action>) -> Entity {
    Entity::ActionProfileMember(p4::ActionProfileMember {
        action_profile_id: profile,
        member_id: id,
        action,
    })
}

/// Members with weight 1 that watch no port.
fn group(profile: u32, id: u32, max_size: i32, members: &[u32]) -> Entity {
    let members = members.iter().map(|id| p4::action_profile_group::Member {
        member_id: *id,
        weight: 1,
        watch_kind: None,
    });
    Entity::ActionProfileGroup(p4::ActionProfileGroup {
        action_profile_id: profile,
        group_id: id,
        members: members.collect(),
        max_size,
    })
}

fn change(
    entity: &Entity,
    change: impl FnOnce(&mut p4::action_profile_group::Member),
) -> p4::Update {
    let mut entity = entity.clone();
    if let Entity::ActionProfileGroup(group) = &mut entity {
        change(&mut group.members[0]);
    }
    insert(entity)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn members_are_written_referred_to_and_read() {
    let (mut fixture, _stream) = Fixture::start_program("entities").await;
    let profile = fixture.id("profile");
    let (forward, learn) = (fixture.id("forward"), fixture.id("learn"));
    let to = |port: u8| Some(bare_action(forward, &[&[port]]));
    let one = member(profile, 1, to(1));
    fixture.write(vec![insert(one.clone())]).await.unwrap();
    for (update, code, words) in [
        (
            insert(one.clone()),
            Code::AlreadyExists,
            "TestIngress.profile",
        ),
        (
            insert(member(profile, 0, to(1))),
            Code::InvalidArgument,
            "member_id",
        ),
        (
            insert(member(profile, 2, None)),
            Code::InvalidArgument,
            "action",
        ),
        (
            insert(member(profile, 2, Some(bare_action(learn, &[])))),
            Code::InvalidArgument,
            "no action",
        ),
        (
            insert(member(profile, 2, Some(bare_action(forward, &[&[2, 0]])))),
            Code::OutOfRange,
            "port",
        ),
        (
            insert(member(0, 2, to(1))),
            Code::InvalidArgument,
            "action_profile_id",
        ),
        (insert(member(77, 2, to(1))), Code::NotFound, "77"),
        (modify(member(profile, 2, to(1))), Code::NotFound, "2"),
        (delete(member(profile, 2, None)), Code::NotFound, "2"),
    ] {
        let (found, message) = fixture.write_fails(update).await;
        assert_eq!(found, code, "{message}");
        assert!(message.contains(words), "{message}");
    }

    // An entry that names a member, and keeps it from being deleted.
    let table_id = fixture.id("indirect");
    let entry = |choice| {
        table_entry(p4::TableEntry {
            table_id,
            r#match: vec![exact(1, &[8, 0])],
            action: table_action(choice),
            ..Default::default()
        })
    };
    let (named, missing) = (
        entry(Choice::ActionProfileMemberId(1)),
        entry(Choice::ActionProfileMemberId(2)),
    );
    let (direct, grouped) = (
        entry(Choice::Action(bare_action(forward, &[&[1]]))),
        entry(Choice::ActionProfileGroupId(1)),
    );
    let (code, _) = fixture.write_fails(insert(missing)).await;
    assert_eq!(code, Code::NotFound);
    for wrong in [direct, grouped] {
        let (code, message) = fixture.write_fails(insert(wrong)).await;
        assert_eq!(code, Code::InvalidArgument);
        assert!(message.contains("action_profile_member_id"), "{message}");
    }
    fixture.write(vec![insert(named.clone())]).await.unwrap();
    let all = table_entry(p4::TableEntry::default());
    let found = fixture.read(vec![all]).await.unwrap();
    assert!(found.contains(&named), "{found:?}");
    let (code, _) = fixture.write_fails(delete(member(profile, 1, None))).await;
    assert_eq!(code, Code::FailedPrecondition);

    let moved = member(profile, 1, to(2));
    fixture.write(vec![modify(moved.clone())]).await.unwrap();
    let two = member(profile, 2, to(3));
    fixture.write(vec![insert(two.clone())]).await.unwrap();
    for (wanted, expected) in [
        (member(0, 0, None), vec![moved.clone(), two.clone()]),
        (member(profile, 0, None), vec![moved.clone(), two.clone()]),
        (member(profile, 2, None), vec![two.clone()]),
        (member(profile, 9, None), vec![]),
    ] {
        assert_eq!(fixture.read(vec![wanted]).await.unwrap(), expected);
    }
    // Deleted by its ids, whatever else is given.
    fixture.write(vec![delete(named)]).await.unwrap();
    let junk = member(profile, 1, Some(bare_action(12345, &[&[]])));
    fixture.write(vec![delete(junk)]).await.unwrap();

    // The profile's size is 8.
    let more: Vec<_> = (3..=9)
        .map(|id| insert(member(profile, id, to(1))))
        .collect();
    fixture.write(more).await.unwrap();
    let (code, _) = fixture
        .write_fails(insert(member(profile, 10, to(1))))
        .await;
    assert_eq!(code, Code::ResourceExhausted);
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn groups_are_written_referred_to_and_read() {
    let (mut fixture, _stream) = Fixture::start_program("entities").await;
    let selector = fixture.id("balancer");
    let profile = fixture.id("profile");
    let forward = fixture.id("forward");
    let members = (1..=3u8).map(|id| {
        let action = Some(bare_action(forward, &[&[id]]));
        insert(member(selector, u32::from(id), action))
    });
    fixture.write(members.collect()).await.unwrap();
    let mut one = group(selector, 1, 4, &[1, 2]);
    if let Entity::ActionProfileGroup(group) = &mut one {
        group.members[0].watch_kind = Some(WatchKind::WatchPort(vec![3]));
        group.members[1].weight = 3;
    }
    fixture.write(vec![insert(one.clone())]).await.unwrap();
    let plain = group(selector, 2, 4, &[1]);
    for (update, code, words) in [
        (insert(one.clone()), Code::AlreadyExists, "group 1"),
        (
            insert(group(selector, 0, 4, &[])),
            Code::InvalidArgument,
            "group_id",
        ),
        (
            insert(group(selector, 2, 0, &[])),
            Code::InvalidArgument,
            "max_size",
        ),
        (
            insert(group(selector, 2, 7, &[])),
            Code::InvalidArgument,
            "max_size",
        ),
        (
            insert(group(selector, 2, -1, &[])),
            Code::InvalidArgument,
            "max_size",
        ),
        (insert(group(selector, 2, 4, &[9])), Code::NotFound, "9"),
        (
            insert(group(selector, 2, 4, &[1, 1])),
            Code::InvalidArgument,
            "twice",
        ),
        (
            insert(group(selector, 2, 1, &[1, 2])),
            Code::InvalidArgument,
            "weights",
        ),
        (
            insert(group(profile, 2, 4, &[])),
            Code::InvalidArgument,
            "selector",
        ),
        (
            modify(group(selector, 2, 4, &[1])),
            Code::NotFound,
            "group 2",
        ),
        (
            modify(group(selector, 1, 5, &[1])),
            Code::InvalidArgument,
            "max_size",
        ),
        (
            delete(group(selector, 2, 0, &[])),
            Code::NotFound,
            "group 2",
        ),
        (
            change(&plain, |m| m.weight = 0),
            Code::InvalidArgument,
            "weight",
        ),
        (
            change(&plain, |m| m.weight = -3),
            Code::InvalidArgument,
            "weight",
        ),
        (
            change(&plain, |m| m.weight = 5),
            Code::InvalidArgument,
            "weights",
        ),
        (
            change(&plain, |m| {
                m.watch_kind = Some(WatchKind::WatchPort(vec![9]))
            }),
            Code::InvalidArgument,
            "watch_port",
        ),
    ] {
        let (found, message) = fixture.write_fails(update).await;
        assert_eq!(found, code, "{message}");
        assert!(message.contains(words), "{message}");
    }
    // A member of a group is not deleted.
    let (code, _) = fixture.write_fails(delete(member(selector, 1, None))).await;
    assert_eq!(code, Code::FailedPrecondition);

    let table_id = fixture.id("balanced");
    let entry = |choice| {
        table_entry(p4::TableEntry {
            table_id,
            r#match: vec![lpm(1, &[0x10, 0, 0, 0, 0, 0], 8)],
            action: table_action(choice),
            ..Default::default()
        })
    };
    let named = entry(Choice::ActionProfileGroupId(1));
    let missing = entry(Choice::ActionProfileGroupId(2));
    let (code, _) = fixture.write_fails(insert(missing)).await;
    assert_eq!(code, Code::NotFound);
    fixture.write(vec![insert(named.clone())]).await.unwrap();
    let (code, _) = fixture
        .write_fails(delete(group(selector, 1, 0, &[])))
        .await;
    assert_eq!(code, Code::FailedPrecondition);

    let found = fixture.read(vec![group(0, 0, 0, &[])]).await.unwrap();
    assert_eq!(found, std::slice::from_ref(&one));
    let emptied = group(selector, 1, 4, &[]);
    fixture.write(vec![modify(emptied.clone())]).await.unwrap();
    let found = fixture.read(vec![group(selector, 1, 0, &[])]).await;
    assert_eq!(found.unwrap(), [emptied]);
    let status = fixture.read(vec![group(profile, 0, 0, &[])]).await;
    let failed = errors(&status.unwrap_err());
    assert_eq!(failed[0].0, Code::InvalidArgument);

    // The deprecated spelling of a watched port comes back as it was.
    let mut old = group(selector, 3, 4, &[2]);
    if let Entity::ActionProfileGroup(group) = &mut old {
        #[allow(deprecated)]
        let watch = WatchKind::Watch(2);
        group.members[0].watch_kind = Some(watch);
    }
    fixture.write(vec![insert(old.clone())]).await.unwrap();
    let found = fixture.read(vec![group(selector, 3, 0, &[])]).await;
    assert_eq!(found.unwrap(), [old]);
    fixture.stop().await;
}

fn one_shot(forward: u32, shares: &[(u8, i32)]) -> p4::ActionProfileActionSet {
    let actions = shares
        .iter()
        .map(|&(port, weight)| p4::ActionProfileAction {
            action: Some(bare_action(forward, &[&[port]])),
            weight,
            watch_kind: None,
        });
    p4::ActionProfileActionSet {
        action_profile_actions: actions.collect(),
        ..Default::default()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_shots_come_back_as_they_were_written() {
    let (mut fixture, _stream) = Fixture::start_program("entities").await;
    let forward = fixture.id("forward");
    let table_id = fixture.id("balanced");
    let entry = |prefix: u8, set| {
        table_entry(p4::TableEntry {
            table_id,
            r#match: vec![lpm(1, &[prefix, 0, 0, 0, 0, 0], 8)],
            action: table_action(Choice::ActionProfileActionSet(set)),
            ..Default::default()
        })
    };
    // Twice the same action is not once with twice the weight.
    let mut set = one_shot(forward, &[(1, 1), (2, 2), (1, 1)]);
    set.action_profile_actions[0].watch_kind =
        Some(p4::action_profile_action::WatchKind::WatchPort(vec![1]));
    let written = entry(0x20, set);
    fixture.write(vec![insert(written.clone())]).await.unwrap();
    let in_table = || {
        vec![table_entry(p4::TableEntry {
            table_id,
            ..Default::default()
        })]
    };
    let found = fixture.read(in_table()).await.unwrap();
    assert_eq!(found, std::slice::from_ref(&written));
    // Neither members nor groups show of it.
    let members = member(0, 0, None);
    assert_eq!(fixture.read(vec![members]).await.unwrap(), []);
    let groups = group(0, 0, 0, &[]);
    assert_eq!(fixture.read(vec![groups]).await.unwrap(), []);

    let mut random = one_shot(forward, &[(1, 1)]);
    random.action_selection_mode = 2;
    let unset = p4::ActionProfileActionSet {
        action_profile_actions: vec![p4::ActionProfileAction {
            weight: 1,
            ..Default::default()
        }],
        ..Default::default()
    };
    for (set, code, words) in [
        (
            one_shot(forward, &[(1, 0)]),
            Code::InvalidArgument,
            "weight",
        ),
        (
            one_shot(forward, &[(1, 4), (2, 3)]),
            Code::InvalidArgument,
            "the sum of the weights is 7",
        ),
        (one_shot(77, &[(1, 1)]), Code::InvalidArgument, "77"),
        (random, Code::Unimplemented, "action_selection_mode"),
        (unset, Code::InvalidArgument, "action is unset"),
    ] {
        let (found, message) = fixture.write_fails(insert(entry(0x30, set))).await;
        assert_eq!(found, code, "{message}");
        assert!(message.contains(words), "{message}");
    }
    let changed = entry(0x20, one_shot(forward, &[(3, 6)]));
    fixture.write(vec![modify(changed.clone())]).await.unwrap();
    assert_eq!(
        fixture.read(in_table()).await.unwrap(),
        std::slice::from_ref(&changed)
    );
    fixture.write(vec![delete(changed)]).await.unwrap();
    assert_eq!(fixture.read(in_table()).await.unwrap(), []);
    fixture.stop().await;
}
