// SPDX-License-Identifier: Apache-2.0
//! Action profile members, groups and one-shots (specification 1.5, section
//! 9.2).

use v1model::{Group, GroupMember, WeightedCall};

use super::replication::{PORT_WIDTH, are_numeric};
use super::{change, find};
use crate::action_call;
use crate::bytestring;
use crate::change::Change;
use crate::failure::Failure;
use crate::notes::{EntryNote, GroupNote};
use crate::op::Op;
use crate::proto::p4::v1 as p4;
use crate::proto::p4::v1::update::Type;
use crate::schema::{Counts, Profile, Schema};

fn find_profile(schema: &Schema, id: u32) -> Result<&Profile, Failure> {
    find(&schema.profiles, "action profile", "action_profile_id", id)
}

pub fn member(schema: &Schema, kind: Type, given: &p4::ActionProfileMember) -> Result<Op, Failure> {
    let profile = find_profile(schema, given.action_profile_id)?;
    let name = &profile.name;
    let id = given.member_id;
    if id == 0 {
        return Err(Failure::invalid(format!(
            "action profile {name}: member_id is unset"
        )));
    }
    let call = match (&given.action, kind) {
        // A deletion names only the ids.
        (_, Type::Delete) => v1model::ActionCall {
            action: v1model::ActionId(0),
            args: Vec::new(),
        },
        (None, _) => {
            return Err(Failure::invalid(format!(
                "action profile {name}: member {id} needs an action"
            )));
        }
        (Some(action), _) => {
            let of = || format!("action profile {name}, member {id}");
            action_call::call(&profile.actions, &of, action, |_| None)?
        }
    };
    Ok(Op::Member(
        change(kind),
        Box::new((profile.profile, id, call)),
    ))
}

pub fn group(
    schema: &Schema,
    ports: Option<&[u16]>,
    kind: Type,
    given: &p4::ActionProfileGroup,
) -> Result<Op, Failure> {
    let profile = find_profile(schema, given.action_profile_id)?;
    let name = &profile.name;
    if !profile.selector {
        return Err(Failure::invalid(format!(
            "action profile {name} has no selector, and so no groups"
        )));
    }
    let id = given.group_id;
    if id == 0 {
        return Err(Failure::invalid(format!(
            "action profile {name}: group_id is unset"
        )));
    }
    let of = || format!("action profile {name}, group {id}");
    let mut group = Group {
        id,
        ..Group::default()
    };
    let mut note = GroupNote::default();
    let change = change(kind);
    if change != Change::Delete {
        group.max_size = max_size(profile, given.max_size, &of)?;
        let mut forms = Vec::new();
        for (n, member) in given.members.iter().enumerate() {
            let id = member.member_id;
            if id == 0 {
                return Err(Failure::invalid(format!("{}: a member_id is unset", of())));
            }
            if given.members[..n].iter().any(|other| other.member_id == id) {
                return Err(Failure::invalid(format!(
                    "{}: member {id} is listed twice: give it a weight instead",
                    of()
                )));
            }
            use p4::action_profile_group::member::WatchKind;
            #[allow(deprecated)]
            let watched = match &member.watch_kind {
                None => Watched::Nothing,
                Some(WatchKind::WatchPort(port)) => Watched::Port(port),
                Some(WatchKind::Watch(port)) => Watched::Number(*port),
            };
            forms.extend(watched.is_numeric());
            group.members.push(GroupMember {
                member: id,
                weight: weight(profile, member.weight, &of)?,
                watch_port: watched.read(ports, &of)?,
            });
        }
        note.numeric_ports = are_numeric(forms.into_iter(), &of)?;
        let weights = group.members.iter().map(|member| member.weight);
        let limit = match group.max_size {
            0 => profile.max_group_size,
            size => size,
        };
        check_size(profile, weights, limit, &of)?;
    }
    let op = Box::new((profile.profile, group, note));
    Ok(Op::Group(change, op))
}

/// P4Runtime's rules on setting `max_size`.
fn max_size(profile: &Profile, size: i32, of: &dyn Fn() -> String) -> Result<u32, Failure> {
    let limit = profile.max_group_size;
    let invalid = |words: String| Failure::invalid(format!("{}: max_size {words}", of()));
    let size = u32::try_from(size).map_err(|_| invalid(format!("is {size}, below 0")))?;
    if limit > 0 && (size == 0 || size > limit) {
        return Err(invalid(format!(
            "is {size}, not within 1 to {limit}, which is P4Info's max_group_size"
        )));
    }
    Ok(size)
}

/// Reads a weight. Where P4Info has weights_disallowed, a weight may only be unset, and all members
/// are equally likely: each has the weight 1 in the pipeline.
fn weight(profile: &Profile, weight: i32, of: &dyn Fn() -> String) -> Result<u32, Failure> {
    let invalid = |words: &str| Failure::invalid(format!("{}: weight is {weight}, {words}", of()));
    if profile.weights_disallowed {
        return match weight {
            0 => Ok(1),
            _ => Err(invalid("and must be unset: P4Info has weights_disallowed")),
        };
    }
    let read = u32::try_from(weight).ok().filter(|weight| *weight > 0);
    let read = read.ok_or_else(|| invalid("and must be above 0"))?;
    match profile.counts {
        Counts::Members { max_weight } if max_weight > 0 && read > max_weight => {
            Err(invalid("above P4Info's max_member_weight"))
        }
        _ => Ok(read),
    }
}

/// Renders a weight as the client wrote it.
fn render_weight(profile: &Profile, weight: u32) -> i32 {
    if profile.weights_disallowed {
        0
    } else {
        weight as i32
    }
}

/// The size of a group, counted as the selector counts it.
fn check_size(
    profile: &Profile,
    weights: impl Iterator<Item = u32>,
    limit: u32,
    of: &dyn Fn() -> String,
) -> Result<(), Failure> {
    let (what, size) = match profile.counts {
        Counts::Weights => ("the sum of the weights", weights.map(u64::from).sum()),
        Counts::Members { .. } => ("the number of members", weights.count() as u64),
    };
    if limit > 0 && size > u64::from(limit) {
        return Err(Failure::invalid(format!(
            "{}: {what} is {size}, above {limit}",
            of()
        )));
    }
    Ok(())
}

/// A port that a member watches.
enum Watched<'a> {
    Nothing,
    Port(&'a [u8]),
    /// Whether the port was given in the deprecated field.
    Number(i32),
}

impl Watched<'_> {
    /// Whether the port is a number; `None` if there is none.
    fn is_numeric(&self) -> Option<bool> {
        match self {
            Watched::Nothing | Watched::Port([]) => None,
            Watched::Port(_) => Some(false),
            Watched::Number(_) => Some(true),
        }
    }

    fn read(&self, ports: Option<&[u16]>, of: &dyn Fn() -> String) -> Result<Option<u16>, Failure> {
        let port = match self {
            Watched::Nothing | Watched::Port([]) => return Ok(None),
            Watched::Port(port) => bytestring::decode(port, PORT_WIDTH).ok(),
            Watched::Number(port) => u128::try_from(*port).ok(),
        };
        let port = port.and_then(|port| u16::try_from(port).ok());
        let exists = |port: &u16| ports.is_none_or(|ports| ports.contains(port));
        match port.filter(exists) {
            Some(port) => Ok(Some(port)),
            None => Err(Failure::invalid(format!(
                "{}: watch_port is not a port of this device",
                of()
            ))),
        }
    }
}

/// Reads a one-shot, and whether its ports are numbers.
///
/// # Errors
/// INVALID_ARGUMENT, OUT_OF_RANGE.
pub fn one_shot(
    profile: &Profile,
    ports: Option<&[u16]>,
    table: &str,
    set: &p4::ActionProfileActionSet,
) -> Result<(Vec<WeightedCall>, bool), Failure> {
    use p4::action_profile_action::WatchKind;
    let of = || format!("table {table}, action_profile_action_set");
    if set.action_selection_mode != 0 || set.size_semantics != 0 {
        return Err(Failure::unimplemented(format!(
            "{}: action_selection_mode and size_semantics are not supported: leave them unset \
             for those of the action selector",
            of()
        )));
    }
    let mut forms = Vec::new();
    let mut calls = Vec::with_capacity(set.action_profile_actions.len());
    for given in &set.action_profile_actions {
        let action = given.action.as_ref();
        let action =
            action.ok_or_else(|| Failure::invalid(format!("{}: an action is unset", of())))?;
        #[allow(deprecated)]
        let watched = match &given.watch_kind {
            None => Watched::Nothing,
            Some(WatchKind::WatchPort(port)) => Watched::Port(port),
            Some(WatchKind::Watch(port)) => Watched::Number(*port),
        };
        forms.extend(watched.is_numeric());
        calls.push(WeightedCall {
            call: action_call::call(&profile.actions, &of, action, |_| None)?,
            weight: weight(profile, given.weight, &of)?,
            watch_port: watched.read(ports, &of)?,
        });
    }
    let weights = calls.iter().map(|call| call.weight);
    check_size(profile, weights, profile.max_group_size, &of)?;
    Ok((calls, are_numeric(forms.into_iter(), &of)?))
}

/// Renders a one-shot as the client wrote it.
pub fn render_one_shot(
    profile: &Profile,
    calls: &[WeightedCall],
    note: &EntryNote,
) -> p4::ActionProfileActionSet {
    use p4::action_profile_action::WatchKind;
    let actions = calls.iter().map(|call| p4::ActionProfileAction {
        action: action_call::render_call(&profile.actions, &call.call),
        weight: render_weight(profile, call.weight),
        #[allow(deprecated)]
        watch_kind: call.watch_port.map(|port| {
            if note.numeric_ports {
                WatchKind::Watch(i32::from(port))
            } else {
                WatchKind::WatchPort(bytestring::encode(u128::from(port)))
            }
        }),
    });
    p4::ActionProfileActionSet {
        action_profile_actions: actions.collect(),
        ..Default::default()
    }
}

/// Renders a group as the client wrote it.
pub fn render_group(profile: &Profile, group: &Group, note: &GroupNote) -> p4::ActionProfileGroup {
    use p4::action_profile_group::member::WatchKind;
    let members = group.members.iter();
    let members = members.map(|member| p4::action_profile_group::Member {
        member_id: member.member,
        weight: render_weight(profile, member.weight),
        #[allow(deprecated)]
        watch_kind: member.watch_port.map(|port| {
            if note.numeric_ports {
                WatchKind::Watch(i32::from(port))
            } else {
                WatchKind::WatchPort(bytestring::encode(u128::from(port)))
            }
        }),
    });
    p4::ActionProfileGroup {
        action_profile_id: profile.id,
        group_id: group.id,
        members: members.collect(),
        max_size: group.max_size as i32,
    }
}
