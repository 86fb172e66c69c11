// SPDX-License-Identifier: Apache-2.0
//! An action profile's members and groups, and the choice of a member.
//!
//! Entries refer to members and groups by their places here. One-shots, and
//! actions given to a default entry directly, are members and groups without
//! an id, which belong to their entry.

mod entries;

use super::ALLOCATION;
use super::calls::{BadCall, Calls};
use super::places::Places;
use crate::error::ControlError;
use crate::schema::{ActionCall, ActionProfileSchema, ActionSchema, Group, GroupMember, Member};
use std::collections::{BTreeMap, BTreeSet};

/// What an entry of a table with a profile refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// No action at all.
    Nothing,
    /// A member's place.
    Member(u32),
    /// A group's place.
    Group(u32),
}

impl Target {
    pub fn to_word(self) -> u64 {
        match self {
            Target::Nothing => 0,
            Target::Member(at) => 1 << 32 | u64::from(at),
            Target::Group(at) => 2 << 32 | u64::from(at),
        }
    }

    pub fn from_word(word: u64) -> Self {
        match word >> 32 {
            1 => Target::Member(word as u32),
            2 => Target::Group(word as u32),
            _ => Target::Nothing,
        }
    }
}

#[derive(Clone, Debug)]
struct MemberCell {
    /// `None`: of a one-shot.
    id: Option<u32>,
    /// Entries and groups that refer to it.
    users: u32,
}

#[derive(Clone, Debug)]
struct GroupCell {
    /// `None`: a one-shot.
    id: Option<u32>,
    max_size: u32,
    /// As given; for a one-shot the places of its members.
    members: Vec<GroupMember>,
    /// Entries that refer to it.
    users: u32,
}

/// The members of a group that may be chosen: each with the sum of the
/// weights up to and with its own.
type Shares = Vec<(u32, u32)>;

/// What finds a member or a group by its id takes at most so many bytes for each, with the list of
/// free places.
const ID: usize = 32;

/// The state of an action profile.
#[derive(Clone, Debug)]
pub(crate) struct Profile {
    calls: Calls,
    members: Places<MemberCell>,
    member_ids: BTreeMap<u32, u32>,
    groups: Places<GroupCell>,
    group_ids: BTreeMap<u32, u32>,
    /// By place of the group.
    shares: Vec<Shares>,
    /// Entries with one-shots, and with members or groups.
    one_shots: usize,
    references: usize,
    /// How many members the groups and one-shots list, one counted for each time.
    listed: usize,
    ports_down: BTreeSet<u16>,
}

impl Profile {
    pub fn new(schema: &ActionProfileSchema, actions: &[ActionSchema]) -> Self {
        Profile {
            calls: Calls::new(&schema.actions, actions),
            members: Places::new(),
            member_ids: BTreeMap::new(),
            groups: Places::new(),
            group_ids: BTreeMap::new(),
            shares: Vec::new(),
            one_shots: 0,
            references: 0,
            listed: 0,
            ports_down: BTreeSet::new(),
        }
    }

    /// The memory that members and groups take, bytes; see [`crate::Pipeline::kept_bytes`].
    pub fn kept_bytes(&self) -> usize {
        let member = size_of::<Option<MemberCell>>() + self.calls.row_bytes() + ID;
        let group = size_of::<Option<GroupCell>>() + size_of::<Shares>() + ID + 2 * ALLOCATION;
        let listed = size_of::<GroupMember>() + size_of::<(u32, u32)>();
        self.members.len() * member + self.groups.len() * group + self.listed * listed
    }

    /// Takes room for all members that the profile may have, and as many
    /// groups, so that packets do not wait while lists grow.
    pub fn make_room(&mut self, schema: &ActionProfileSchema) {
        self.calls.reserve(schema.size);
        self.members.reserve(schema.size);
        self.groups.reserve(schema.size);
        super::reserve(&mut self.shares, schema.size);
    }

    // --- packets -----------------------------------------------------------

    /// The action to run (an index into the profile's actions) with its
    /// arguments; `None` for an empty group. `hash` is asked for groups only.
    #[inline]
    pub fn choose(&self, target: Target, hash: impl FnOnce() -> u32) -> Option<(u16, &[u64])> {
        let member = match target {
            Target::Nothing => return None,
            Target::Member(at) => at,
            Target::Group(at) => {
                let shares = &self.shares[at as usize];
                let (total, _) = *shares.last()?;
                let wanted = hash() % total;
                shares[shares.partition_point(|(end, _)| *end <= wanted)].1
            }
        };
        Some(self.calls.get(member))
    }

    // --- members -----------------------------------------------------------

    pub fn insert_member(
        &mut self,
        schema: &ActionProfileSchema,
        actions: &[ActionSchema],
        id: u32,
        call: &ActionCall,
    ) -> Result<(), ControlError> {
        if self.member_ids.contains_key(&id) {
            return Err(ControlError::ObjectExists {
                what: format!("member {id} of {}", schema.name),
            });
        }
        let call = checked_call(schema, actions, call)?;
        if self.member_ids.len() >= schema.size {
            return Err(ControlError::Full {
                what: format!("action profile {}", schema.name),
                size: schema.size,
            });
        }
        let at = self.add_member(Some(id), call);
        self.member_ids.insert(id, at);
        Ok(())
    }

    pub fn modify_member(
        &mut self,
        schema: &ActionProfileSchema,
        actions: &[ActionSchema],
        id: u32,
        call: &ActionCall,
    ) -> Result<(), ControlError> {
        let at = self.member(schema, id)?;
        let (action, args) = checked_call(schema, actions, call)?;
        self.calls.set(at, action, args);
        Ok(())
    }

    pub fn delete_member(
        &mut self,
        schema: &ActionProfileSchema,
        id: u32,
    ) -> Result<(), ControlError> {
        let at = self.member(schema, id)?;
        let users = self.members[at].as_ref().map_or(0, |m| m.users);
        unused(schema, "member", id, users, "groups or table entries")?;
        self.members.take(at);
        self.member_ids.remove(&id);
        Ok(())
    }

    /// The members from an id on, by ascending id.
    pub fn members<'p>(
        &'p self,
        schema: &'p ActionProfileSchema,
        from: u32,
    ) -> impl Iterator<Item = Member> + use<'p> {
        self.member_ids.range(from..).map(|(id, at)| Member {
            id: *id,
            call: self.calls.read(&schema.actions, *at),
        })
    }

    fn member(&self, schema: &ActionProfileSchema, id: u32) -> Result<u32, ControlError> {
        let found = self.member_ids.get(&id).copied();
        found.ok_or_else(|| ControlError::UnknownObject {
            what: format!("member {id} in {}", schema.name),
        })
    }

    fn add_member(&mut self, id: Option<u32>, (action, args): (u16, &[u128])) -> u32 {
        let cell = MemberCell { id, users: 0 };
        let at = self.members.put(cell);
        self.calls.set(at, action, args);
        at
    }

    // --- groups ------------------------------------------------------------

    pub fn insert_group(
        &mut self,
        schema: &ActionProfileSchema,
        group: &Group,
    ) -> Result<(), ControlError> {
        if self.group_ids.contains_key(&group.id) {
            return Err(ControlError::ObjectExists {
                what: format!("group {} of {}", group.id, schema.name),
            });
        }
        self.check_group(schema, group)?;
        let cell = GroupCell {
            id: Some(group.id),
            max_size: group.max_size,
            members: group.members.clone(),
            users: 0,
        };
        let at = self.groups.put(cell);
        self.group_ids.insert(group.id, at);
        self.listed += group.members.len();
        self.count_members(&group.members, true);
        self.lay_out(at);
        Ok(())
    }

    pub fn modify_group(
        &mut self,
        schema: &ActionProfileSchema,
        group: &Group,
    ) -> Result<(), ControlError> {
        let at = self.group(schema, group.id)?;
        let max_size = self.groups[at].as_ref().map_or(0, |g| g.max_size);
        if group.max_size != max_size {
            let reason = format!("max_size is {max_size} and cannot be changed");
            return Err(invalid_group(schema, group.id, reason));
        }
        self.check_group(schema, group)?;
        self.count_members(&group.members, true);
        if let Some(cell) = &mut self.groups[at] {
            let old = std::mem::replace(&mut cell.members, group.members.clone());
            self.listed = self.listed + group.members.len() - old.len();
            self.count_members(&old, false);
        }
        self.lay_out(at);
        Ok(())
    }

    pub fn delete_group(
        &mut self,
        schema: &ActionProfileSchema,
        id: u32,
    ) -> Result<(), ControlError> {
        let at = self.group(schema, id)?;
        let users = self.groups[at].as_ref().map_or(0, |g| g.users);
        unused(schema, "group", id, users, "table entries")?;
        self.group_ids.remove(&id);
        if let Some(cell) = self.groups.take(at) {
            self.listed -= cell.members.len();
            self.count_members(&cell.members, false);
        }
        self.lay_out(at);
        Ok(())
    }

    /// The groups from an id on, by ascending id.
    pub fn groups(&self, from: u32) -> impl Iterator<Item = Group> + use<'_> {
        self.group_ids.range(from..).filter_map(|(id, at)| {
            let cell = self.groups[*at].as_ref()?;
            Some(Group {
                id: *id,
                max_size: cell.max_size,
                members: cell.members.clone(),
            })
        })
    }

    fn group(&self, schema: &ActionProfileSchema, id: u32) -> Result<u32, ControlError> {
        let found = self.group_ids.get(&id).copied();
        found.ok_or_else(|| ControlError::UnknownObject {
            what: format!("group {id} in {}", schema.name),
        })
    }

    fn check_group(&self, schema: &ActionProfileSchema, group: &Group) -> Result<(), ControlError> {
        let invalid = |reason: String| Err(invalid_group(schema, group.id, reason));
        if !schema.selector {
            return invalid("the profile has no selector, so it has no groups".to_owned());
        }
        let mut total = 0u64;
        for member in &group.members {
            self.member(schema, member.member)?;
            if member.weight == 0 {
                return invalid(format!("the weight of member {} is 0", member.member));
            }
            total += u64::from(member.weight);
        }
        let mut ids: Vec<u32> = group.members.iter().map(|m| m.member).collect();
        ids.sort_unstable();
        if let Some(twice) = ids.windows(2).find(|pair| pair[0] == pair[1]) {
            return invalid(format!("member {} is listed twice", twice[0]));
        }
        check_total(schema, &format!("group {}", group.id), total)
    }

    fn count_members(&mut self, members: &[GroupMember], more: bool) {
        for member in members {
            let at = self.member_ids.get(&member.member).copied();
            if let Some(cell) = at.and_then(|at| self.members[at].as_mut()) {
                cell.users = if more {
                    cell.users + 1
                } else {
                    cell.users.saturating_sub(1)
                };
            }
        }
    }

    /// Who may be chosen from a group, in the order of the members' places as
    /// in BMv2, whose groups are ordered by handle.
    fn lay_out(&mut self, group: u32) {
        let mut live: Vec<(u32, u32)> = Vec::new();
        if let Some(cell) = &self.groups[group] {
            for member in &cell.members {
                let place = match cell.id {
                    Some(_) => self.member_ids.get(&member.member).copied(),
                    None => Some(member.member),
                };
                let down = |port: u16| self.ports_down.contains(&port);
                if let Some(place) = place.filter(|_| !member.watch_port.is_some_and(down)) {
                    live.push((place, member.weight));
                }
            }
        }
        live.sort_unstable();
        if self.shares.len() <= group as usize {
            self.shares.resize(group as usize + 1, Shares::new());
        }
        let shares = &mut self.shares[group as usize];
        if self.groups[group].is_none() {
            *shares = Shares::new();
            return;
        }
        shares.clear();
        let mut end = 0;
        for (place, weight) in live {
            end += weight;
            shares.push((end, place));
        }
    }

    pub fn set_port_up(&mut self, port: u16, up: bool) {
        let changed = if up {
            self.ports_down.remove(&port)
        } else {
            self.ports_down.insert(port)
        };
        if !changed {
            return;
        }
        for at in 0..self.groups.len() as u32 {
            let watches = self.groups[at]
                .as_ref()
                .is_some_and(|g| g.members.iter().any(|m| m.watch_port == Some(port)));
            if watches {
                self.lay_out(at);
            }
        }
    }
}

/// Refuses what is in use.
fn unused(
    schema: &ActionProfileSchema,
    kind: &str,
    id: u32,
    users: u32,
    by: &str,
) -> Result<(), ControlError> {
    if users == 0 {
        return Ok(());
    }
    Err(ControlError::InUse {
        what: format!("{kind} {id} of {}", schema.name),
        by: format!("{users} {by}"),
    })
}

/// Refuses a group whose weights come to 2^32 or more: a hash of 32 bits would not reach all.
fn check_total(schema: &ActionProfileSchema, what: &str, total: u64) -> Result<(), ControlError> {
    if total <= u64::from(u32::MAX) {
        return Ok(());
    }
    Err(ControlError::Full {
        what: format!("{what} of {}", schema.name),
        size: u32::MAX as usize,
    })
}

/// The index of a call's action among the profile's, and its arguments. The
/// compiler copies actions for each table, so names are what counts.
fn checked_call<'c>(
    schema: &ActionProfileSchema,
    actions: &[ActionSchema],
    call: &'c ActionCall,
) -> Result<(u16, &'c [u128]), ControlError> {
    let name = |id: u32| actions.get(id as usize).map(|a| a.name.as_str());
    let wanted = name(call.action.0);
    let found = schema.actions.iter().position(|a| name(a.0) == wanted);
    let Some(at) = found.filter(|_| wanted.is_some()) else {
        let wanted = wanted.map_or_else(|| call.action.0.to_string(), str::to_owned);
        return Err(invalid(
            schema,
            &format!("it does not have the action {wanted}"),
        ));
    };
    let action = &actions[schema.actions[at].0 as usize];
    super::calls::check_args(action, &call.args).map_err(|e| match e {
        BadCall::Count(reason) => invalid(schema, &reason),
        BadCall::Wide(error) => error,
    })?;
    Ok((at as u16, &call.args))
}

fn invalid(schema: &ActionProfileSchema, reason: &str) -> ControlError {
    ControlError::InvalidObject {
        what: format!("action profile {}", schema.name),
        reason: reason.to_owned(),
    }
}

fn invalid_group(schema: &ActionProfileSchema, id: u32, reason: String) -> ControlError {
    ControlError::InvalidObject {
        what: format!("group {id} of {}", schema.name),
        reason,
    }
}
