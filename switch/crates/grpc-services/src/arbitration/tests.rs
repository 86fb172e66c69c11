// SPDX-License-Identifier: Apache-2.0
//! The specification's elections, and what is kept of clients and roles.

use super::*;

const A: ClientId = ClientId(1);
const B: ClientId = ClientId(2);
const C: ClientId = ClientId(3);

fn update(election_id: Option<u128>) -> p4::MasterArbitrationUpdate {
    p4::MasterArbitrationUpdate {
        device_id: 7,
        election_id: election_id.map(from_u128),
        ..Default::default()
    }
}

/// An update that nothing that runs delays.
fn hear(
    arbiter: &mut Arbiter,
    client: ClientId,
    current: Option<&str>,
    update: &p4::MasterArbitrationUpdate,
) -> Result<Notices, Failure> {
    Ok(match arbiter.update(client, current, update)? {
        Heard::Tell(notices) => notices,
        Heard::Change(mut notices, change) => {
            notices.extend(arbiter.settle(&change));
            notices
        }
    })
}

fn codes(notices: Notices) -> Vec<(ClientId, Code, Option<u128>)> {
    let codes = notices.into_iter().map(|(id, notice)| {
        let election_id = notice.election_id.as_ref().map(to_u128);
        (id, Code::from(notice.status.unwrap().code), election_id)
    });
    codes.collect()
}

#[test]
fn the_highest_election_id_ever_seen_is_primary() {
    let mut arbiter = Arbiter::new(7);
    let mut step = |client, id| codes(hear(&mut arbiter, client, None, &update(id)).unwrap());
    assert_eq!(step(A, Some(1)), [(A, Code::Ok, Some(1))]);
    assert_eq!(
        step(B, Some(2)),
        [(A, Code::AlreadyExists, Some(2)), (B, Code::Ok, Some(2))]
    );
    assert_eq!(step(C, Some(0)), [(C, Code::AlreadyExists, Some(2))]);

    // Nobody is promoted when the primary leaves.
    assert_eq!(
        codes(arbiter.disconnect(B, "")),
        [(A, Code::NotFound, Some(2)), (C, Code::NotFound, Some(2))]
    );
    let denied = arbiter.authorize("", Some(&from_u128(1))).unwrap_err();
    assert_eq!(denied.code, Code::PermissionDenied);
    // The same id again is enough.
    let notices = hear(&mut arbiter, A, Some(""), &update(Some(2))).unwrap();
    assert!(codes(notices).contains(&(A, Code::Ok, Some(2))));
    assert!(arbiter.is_primary(A, ""));
    assert!(arbiter.authorize("", Some(&from_u128(2))).is_ok());
}

#[test]
fn a_primary_can_step_down_and_a_repeated_update_is_answered() {
    let mut arbiter = Arbiter::new(7);
    hear(&mut arbiter, A, None, &update(Some(5))).unwrap();
    hear(&mut arbiter, B, None, &update(None)).unwrap();
    let again = hear(&mut arbiter, A, Some(""), &update(Some(5))).unwrap();
    assert_eq!(
        codes(again),
        [(A, Code::Ok, Some(5)), (B, Code::AlreadyExists, Some(5))]
    );
    let down = hear(&mut arbiter, A, Some(""), &update(Some(4))).unwrap();
    assert_eq!(
        codes(down),
        [(A, Code::NotFound, Some(5)), (B, Code::NotFound, Some(5))]
    );
    assert_eq!(arbiter.primaries().count(), 0);
}

#[test]
fn an_unset_election_id_is_never_primary_and_not_zero() {
    let mut arbiter = Arbiter::new(7);
    let notices = hear(&mut arbiter, A, None, &update(None)).unwrap();
    assert_eq!(codes(notices), [(A, Code::NotFound, None)]);
    assert!(arbiter.authorize("", None).is_err());
    let notices = hear(&mut arbiter, B, None, &update(Some(0))).unwrap();
    assert!(codes(notices).contains(&(B, Code::Ok, Some(0))));
    // Two clients may both leave it unset.
    hear(&mut arbiter, C, None, &update(None)).unwrap();
    assert!(arbiter.authorize("", Some(&from_u128(0))).is_ok());
}

#[test]
fn bad_updates_end_the_stream() {
    let mut arbiter = Arbiter::new(7);
    hear(&mut arbiter, A, None, &update(Some(1))).unwrap();
    let code = |result: Result<Notices, Failure>| result.unwrap_err().code;
    let taken = hear(&mut arbiter, B, None, &update(Some(1)));
    assert_eq!(code(taken), Code::InvalidArgument);
    let other = p4::MasterArbitrationUpdate {
        device_id: 8,
        ..update(Some(1))
    };
    assert_eq!(
        code(hear(&mut arbiter, A, Some(""), &other)),
        Code::FailedPrecondition
    );
    let role = |name: &str, config| p4::MasterArbitrationUpdate {
        role: Some(p4::Role {
            name: name.into(),
            config,
            ..Default::default()
        }),
        ..update(Some(1))
    };
    assert_eq!(
        code(hear(&mut arbiter, A, Some(""), &role("x", None))),
        Code::FailedPrecondition
    );
    assert_eq!(
        code(hear(
            &mut arbiter,
            B,
            None,
            &role("x", Some(prost_types::Any::default()))
        )),
        Code::InvalidArgument
    );
    // A role has its own election.
    hear(&mut arbiter, B, None, &role("x", None)).unwrap();
    assert!(arbiter.authorize("x", Some(&from_u128(1))).is_ok());
    assert_eq!(
        arbiter.authorize("y", None).unwrap_err().code,
        Code::NotFound
    );
    for n in 10..10 + MAX_CLIENTS as u64 - 1 {
        hear(&mut arbiter, ClientId(n), None, &update(None)).unwrap();
    }
    let full = hear(&mut arbiter, C, None, &update(None));
    assert_eq!(code(full), Code::ResourceExhausted);
}

fn named(name: &str, id: u128) -> p4::MasterArbitrationUpdate {
    p4::MasterArbitrationUpdate {
        role: Some(p4::Role {
            name: name.into(),
            ..Default::default()
        }),
        ..update(Some(id))
    }
}

/// 100 roles of 2 MiB took 210 MiB, for ever.
#[test]
fn roles_are_bounded_and_end_with_their_last_client() {
    let mut arbiter = Arbiter::new(7);
    let long = "r".repeat(2 << 20);
    let refused = hear(&mut arbiter, A, None, &named(&long, 1)).unwrap_err();
    assert_eq!(refused.code, Code::InvalidArgument);
    assert!(refused.message.len() < 200, "{}", refused.message);
    for round in 0..3 {
        for n in 1..MAX_ROLES as u64 {
            let name = format!("role {round} {n}");
            hear(&mut arbiter, ClientId(n), None, &named(&name, 1)).unwrap();
        }
        let full = hear(&mut arbiter, ClientId(1000), None, &named("more", 1)).unwrap_err();
        assert_eq!(full.code, Code::ResourceExhausted);
        for n in 1..MAX_ROLES as u64 {
            arbiter.disconnect(ClientId(n), &format!("role {round} {n}"));
        }
        assert_eq!(arbiter.roles.len(), 1);
    }
}

#[test]
fn an_update_that_is_refused_leaves_nothing_behind() {
    let mut arbiter = Arbiter::new(7);
    hear(&mut arbiter, A, None, &named("x", 1)).unwrap();
    for n in 0..100 {
        let bad = p4::MasterArbitrationUpdate {
            device_id: 8,
            ..named(&format!("role {n}"), 1)
        };
        assert!(hear(&mut arbiter, B, None, &bad).is_err());
        let mut bad = named(&format!("role {n}"), 1);
        if let Some(role) = &mut bad.role {
            role.config = Some(prost_types::Any::default());
        }
        assert!(hear(&mut arbiter, B, None, &bad).is_err());
        assert!(hear(&mut arbiter, B, Some("x"), &named(&format!("role {n}"), 2)).is_err());
    }
    assert_eq!(arbiter.roles.len(), 2);
    assert!(hear(&mut arbiter, B, None, &named("x", 1)).is_err());
    assert!(arbiter.is_primary(A, "x"));
}

/// The specification's order (5.3, rule 3): the old primary begins nothing more, all but the new one
/// are told, what runs ends, the new primary may begin, and is told.
#[test]
fn a_change_waits_for_what_runs() {
    let mut arbiter = Arbiter::new(7);
    hear(&mut arbiter, A, None, &update(Some(1))).unwrap();
    let permit = arbiter.authorize("", Some(&from_u128(1))).unwrap();
    let write = permit.running.try_read().unwrap();
    let Heard::Change(told, first) = arbiter.update(B, None, &update(Some(2))).unwrap() else {
        panic!("another client becomes primary");
    };
    assert_eq!(codes(told), [(A, Code::AlreadyExists, Some(2))]);
    let denied = |arbiter: &Arbiter, id| {
        let denied = arbiter.authorize("", Some(&from_u128(id))).unwrap_err();
        assert_eq!(denied.code, Code::PermissionDenied);
    };
    denied(&arbiter, 1);
    denied(&arbiter, 2);
    assert!(!arbiter.is_primary(A, "") && !arbiter.is_primary(B, ""));
    let told: Vec<_> = arbiter.primaries().map(|(id, _)| id).collect();
    assert_eq!(told, [A], "packet-ins are not lost meanwhile");
    // A backup is answered at once.
    let backup = arbiter.update(C, None, &update(None)).unwrap();
    assert!(matches!(&backup, Heard::Tell(notices) if notices.len() == 1));
    // Another change overtakes the first.
    let update = update(Some(3));
    let Heard::Change(told, second) = arbiter.update(C, Some(""), &update).unwrap() else {
        panic!("another client becomes primary");
    };
    let backup = |id| (id, Code::AlreadyExists, Some(3));
    assert_eq!(codes(told), [backup(A), backup(B)]);
    assert!(first.running.try_write().is_err());
    drop(write);
    assert!(first.running.try_write().is_ok());
    assert_eq!(arbiter.settle(&first), []);
    denied(&arbiter, 2);
    assert_eq!(codes(arbiter.settle(&second)), [(C, Code::Ok, Some(3))]);
    assert!(arbiter.is_primary(C, "") && arbiter.authorize("", Some(&from_u128(3))).is_ok());
}

#[test]
fn a_role_whose_write_runs_is_not_forgotten() {
    let mut arbiter = Arbiter::new(7);
    hear(&mut arbiter, A, None, &named("x", 1)).unwrap();
    let permit = arbiter.authorize("x", Some(&from_u128(1))).unwrap();
    let write = permit.running.try_read().unwrap();
    arbiter.disconnect(A, "x");
    assert_eq!(arbiter.roles.len(), 2);
    drop(write);
    hear(&mut arbiter, B, None, &named("y", 1)).unwrap();
    assert!(!arbiter.roles.contains_key("x"));
}

/// A controller that was cut off and comes back late must not find that its role has forgotten the
/// one that took its place.
#[test]
fn the_highest_election_id_of_a_role_outlives_its_clients() {
    let mut arbiter = Arbiter::new(7);
    hear(&mut arbiter, A, None, &named("x", 5)).unwrap();
    arbiter.disconnect(A, "x");
    assert_eq!(
        arbiter.authorize("x", None).unwrap_err().code,
        Code::NotFound
    );
    let late = hear(&mut arbiter, B, None, &named("x", 4)).unwrap();
    assert_eq!(codes(late), [(B, Code::NotFound, Some(5))]);
    let back = hear(&mut arbiter, C, None, &named("x", 5)).unwrap();
    assert!(codes(back).contains(&(C, Code::Ok, Some(5))));
    arbiter.disconnect(B, "x");
    arbiter.disconnect(C, "x");
    hear(&mut arbiter, A, None, &named("y", 1)).unwrap();
    arbiter.disconnect(A, "y");
    assert_eq!(arbiter.past, [("x".into(), 5), ("y".into(), 1)]);
    // Only so many are remembered, of which the last ones are.
    for n in 0..MAX_PAST_ROLES {
        let name = format!("role {n}");
        hear(&mut arbiter, A, None, &named(&name, 1)).unwrap();
        arbiter.disconnect(A, &name);
    }
    assert_eq!(arbiter.past.len(), MAX_PAST_ROLES);
    let first = hear(&mut arbiter, A, None, &named("x", 1)).unwrap();
    assert_eq!(codes(first), [(A, Code::Ok, Some(1))]);
}
