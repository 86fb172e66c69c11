// SPDX-License-Identifier: Apache-2.0
//! What table entries refer to: members and groups, one-shots, actions of
//! default entries.

use super::{GroupCell, Profile, Target, check_total, checked_call, invalid};
use crate::error::ControlError;
use crate::schema::{ActionProfileSchema, ActionSchema, EntryAction, GroupMember, WeightedCall};

impl Profile {
    /// What an entry with this action refers to; it is in use from now on.
    /// `direct` actions are for default entries only.
    pub fn acquire(
        &mut self,
        schema: &ActionProfileSchema,
        actions: &[ActionSchema],
        action: &EntryAction,
        direct: bool,
    ) -> Result<Target, ControlError> {
        let mixed = || {
            invalid(
                schema,
                "entries with one-shots and entries with members or groups exclude each other",
            )
        };
        let target = match action {
            EntryAction::Call(_) if !direct => {
                return Err(invalid(
                    schema,
                    "an entry of its table names a member or a group, or has a one-shot",
                ));
            }
            EntryAction::Call(call) => {
                let call = checked_call(schema, actions, call)?;
                return Ok(Target::Member(self.add_member(None, call)));
            }
            EntryAction::Member(_) | EntryAction::Group(_) if self.one_shots > 0 => {
                return Err(mixed());
            }
            EntryAction::Member(id) => {
                let at = self.member(schema, *id)?;
                if let Some(cell) = &mut self.members[at] {
                    cell.users += 1;
                }
                Target::Member(at)
            }
            EntryAction::Group(id) => {
                let at = self.group(schema, *id)?;
                if let Some(cell) = &mut self.groups[at] {
                    cell.users += 1;
                }
                Target::Group(at)
            }
            EntryAction::OneShot(_) if self.references > 0 => return Err(mixed()),
            EntryAction::OneShot(calls) => {
                let at = self.one_shot(schema, actions, calls)?;
                self.one_shots += 1;
                return Ok(Target::Group(at));
            }
        };
        self.references += 1;
        Ok(target)
    }

    fn one_shot(
        &mut self,
        schema: &ActionProfileSchema,
        actions: &[ActionSchema],
        calls: &[WeightedCall],
    ) -> Result<u32, ControlError> {
        if !schema.selector {
            return Err(invalid(schema, "it has no selector, so no one-shots"));
        }
        let mut checked = Vec::with_capacity(calls.len());
        let mut total = 0u64;
        for weighted in calls {
            if weighted.weight == 0 {
                return Err(invalid(schema, "a weight of a one-shot is 0"));
            }
            total += u64::from(weighted.weight);
            checked.push(checked_call(schema, actions, &weighted.call)?);
        }
        check_total(schema, "a one-shot", total)?;
        let members = checked
            .into_iter()
            .zip(calls)
            .map(|(call, weighted)| GroupMember {
                member: self.add_member(None, call),
                weight: weighted.weight,
                watch_port: weighted.watch_port,
            });
        let cell = GroupCell {
            id: None,
            max_size: 0,
            members: members.collect(),
            users: 1,
        };
        self.listed += cell.members.len();
        let at = self.groups.put(cell);
        self.lay_out(at);
        Ok(at)
    }

    /// An entry refers to it no more.
    pub fn release(&mut self, target: Target) {
        match target {
            Target::Nothing => {}
            Target::Member(at) => match &mut self.members[at] {
                Some(cell) if cell.id.is_some() => {
                    cell.users = cell.users.saturating_sub(1);
                    self.references -= 1;
                }
                _ => drop(self.members.take(at)),
            },
            Target::Group(at) => match &mut self.groups[at] {
                Some(cell) if cell.id.is_some() => {
                    cell.users = cell.users.saturating_sub(1);
                    self.references -= 1;
                }
                _ => {
                    let members = self
                        .groups
                        .take(at)
                        .map_or_else(Vec::new, |cell| cell.members);
                    self.listed -= members.len();
                    for member in members {
                        self.members.take(member.member);
                    }
                    self.one_shots -= 1;
                    self.lay_out(at);
                }
            },
        }
    }

    /// What an entry was written with.
    pub fn read(&self, schema: &ActionProfileSchema, target: Target) -> EntryAction {
        let call = |at: u32| self.calls.read(&schema.actions, at);
        match target {
            Target::Nothing => EntryAction::OneShot(Vec::new()),
            Target::Member(at) => match self.members[at].as_ref().and_then(|m| m.id) {
                Some(id) => EntryAction::Member(id),
                None => EntryAction::Call(call(at)),
            },
            Target::Group(at) => match &self.groups[at] {
                Some(GroupCell { id: Some(id), .. }) => EntryAction::Group(*id),
                Some(cell) => {
                    let calls = cell.members.iter().map(|m| WeightedCall {
                        call: call(m.member),
                        weight: m.weight,
                        watch_port: m.watch_port,
                    });
                    EntryAction::OneShot(calls.collect())
                }
                None => EntryAction::OneShot(Vec::new()),
            },
        }
    }
}
