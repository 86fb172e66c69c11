// SPDX-License-Identifier: Apache-2.0
//! Action profile members, groups and one-shots.

use crate::common::*;
use grpc_services::proto::p4::config::v1 as p4info;
use grpc_services::proto::p4::v1 as p4;
use p4::action_profile_group::member::WatchKind;
use p4::entity::Entity;
use p4::table_action::Type as Choice;
use p4info::action_profile::SelectorSizeSemantics;
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
    // Both spellings in one group would not.
    let mut mixed = group(selector, 4, 4, &[1, 2, 3]);
    if let Entity::ActionProfileGroup(group) = &mut mixed {
        #[allow(deprecated)]
        let watch = WatchKind::Watch(2);
        group.members[0].watch_kind = Some(watch);
        group.members[2].watch_kind = Some(WatchKind::WatchPort(vec![3]));
    }
    let (code, message) = fixture.write_fails(insert(mixed)).await;
    assert_eq!(code, Code::Unimplemented, "{message}");
    assert!(message.contains("deprecated"), "{message}");
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
    let mut mixed = one_shot(forward, &[(1, 1), (2, 1)]);
    let ports = &mut mixed.action_profile_actions;
    #[allow(deprecated)]
    let number = p4::action_profile_action::WatchKind::Watch(1);
    ports[0].watch_kind = Some(number);
    ports[1].watch_kind = Some(p4::action_profile_action::WatchKind::WatchPort(vec![2]));
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
        (mixed, Code::Unimplemented, "deprecated"),
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

/// The primary client of a device that runs the entities program, whose selector has been changed
/// in P4Info.
async fn start_with_selector(change: impl FnOnce(&mut p4info::ActionProfile)) -> (Fixture, Stream) {
    let (mut fixture, stream) = Fixture::start_program("entities").await;
    let selector = fixture.id("balancer");
    let mut config = config("entities");
    let info = config.p4info.as_mut().unwrap();
    let profiles = info.action_profiles.iter_mut();
    let mut found = profiles.filter(|profile| profile.preamble.as_ref().unwrap().id == selector);
    change(found.next().unwrap());
    let action = Action::VerifyAndCommit;
    fixture.set_pipeline(action, Some(config)).await.unwrap();
    let forward = fixture.id("forward");
    let members = (1..=3u8).map(|id| {
        let action = Some(bare_action(forward, &[&[id]]));
        insert(member(selector, u32::from(id), action))
    });
    fixture.write(members.collect()).await.unwrap();
    (fixture, stream)
}

/// A group whose members have these weights.
fn weighted(selector: u32, id: u32, max_size: i32, weights: &[i32]) -> Entity {
    let members: Vec<u32> = (1..=weights.len() as u32).collect();
    let mut entity = group(selector, id, max_size, &members);
    if let Entity::ActionProfileGroup(group) = &mut entity {
        for (member, weight) in group.members.iter_mut().zip(weights) {
            member.weight = *weight;
        }
    }
    entity
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn weights_that_are_disallowed_stay_unset() {
    let (mut fixture, _stream) =
        start_with_selector(|profile| profile.weights_disallowed = true).await;
    let selector = fixture.id("balancer");
    for weight in [1, 2, -1] {
        let wrong = weighted(selector, 1, 2, &[0, weight]);
        let (code, message) = fixture.write_fails(insert(wrong)).await;
        assert_eq!(code, Code::InvalidArgument, "{message}");
        assert!(message.contains("weights_disallowed"), "{message}");
    }
    let unset = weighted(selector, 1, 2, &[0, 0]);
    fixture.write(vec![insert(unset.clone())]).await.unwrap();
    let found = fixture.read(vec![group(selector, 1, 0, &[])]).await;
    assert_eq!(found.unwrap(), [unset]);
    // Each of the members still counts once.
    let (code, message) = fixture
        .write_fails(insert(weighted(selector, 2, 2, &[0, 0, 0])))
        .await;
    assert_eq!(code, Code::InvalidArgument, "{message}");
    fixture
        .write(vec![delete(group(selector, 1, 0, &[]))])
        .await
        .unwrap();

    let table_id = fixture.id("balanced");
    let forward = fixture.id("forward");
    let entry = |set| {
        table_entry(p4::TableEntry {
            table_id,
            r#match: vec![lpm(1, &[0x20, 0, 0, 0, 0, 0], 8)],
            action: table_action(Choice::ActionProfileActionSet(set)),
            ..Default::default()
        })
    };
    let wrong = entry(one_shot(forward, &[(1, 1)]));
    let (code, message) = fixture.write_fails(insert(wrong)).await;
    assert_eq!(code, Code::InvalidArgument, "{message}");
    let unset = entry(one_shot(forward, &[(1, 0), (2, 0)]));
    fixture.write(vec![insert(unset.clone())]).await.unwrap();
    let in_table = table_entry(p4::TableEntry {
        table_id,
        ..Default::default()
    });
    assert_eq!(fixture.read(vec![in_table]).await.unwrap(), [unset]);
    fixture.stop().await;
}

/// The weights of two members add up to more than the group's size, which counts members.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_group_that_counts_members_has_any_weights() {
    let (mut fixture, _stream) = start_with_selector(|profile| {
        let members = p4info::action_profile::SumOfMembers {
            max_member_weight: 100,
        };
        profile.selector_size_semantics = Some(SelectorSizeSemantics::SumOfMembers(members));
    })
    .await;
    let selector = fixture.id("balancer");
    let heavy = weighted(selector, 1, 2, &[100, 50]);
    fixture.write(vec![insert(heavy.clone())]).await.unwrap();
    let changed = weighted(selector, 1, 2, &[70, 80]);
    fixture.write(vec![modify(changed.clone())]).await.unwrap();
    let found = fixture.read(vec![group(selector, 1, 0, &[])]).await;
    assert_eq!(found.unwrap(), [changed]);
    for (weights, words) in [(&[101][..], "max_member_weight"), (&[1, 1, 1], "members")] {
        let wrong = weighted(selector, 2, 2, weights);
        let (code, message) = fixture.write_fails(insert(wrong)).await;
        assert_eq!(code, Code::InvalidArgument, "{message}");
        assert!(message.contains(words), "{message}");
    }
    fixture.stop().await;
}

/// Where P4Info has no max_group_size, a max_size of 0 is a value like any other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_max_size_of_a_group_never_changes() {
    let (mut fixture, _stream) = start_with_selector(|profile| profile.max_group_size = 0).await;
    let selector = fixture.id("balancer");
    for (id, size, others) in [(1, 3, [0, 2, 4]), (2, 0, [1, 3, 4])] {
        let written = group(selector, id, size, &[1, 2]);
        fixture.write(vec![insert(written.clone())]).await.unwrap();
        for other in others {
            let wrong = modify(group(selector, id, other, &[1]));
            let (code, message) = fixture.write_fails(wrong).await;
            assert_eq!(code, Code::InvalidArgument, "{message}");
            assert!(message.contains("max_size"), "{message}");
        }
        let found = fixture.read(vec![group(selector, id, 0, &[])]).await;
        assert_eq!(found.unwrap(), [written]);
        let smaller = group(selector, id, size, &[1]);
        fixture.write(vec![modify(smaller)]).await.unwrap();
    }
    fixture.stop().await;
}
