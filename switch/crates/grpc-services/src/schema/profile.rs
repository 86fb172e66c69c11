// SPDX-License-Identifier: Apache-2.0
//! Action profiles and selectors, bound to those of the program.

use v1model::ActionProfileId;

use super::table::{Action, Context};
use super::{missing, preamble, same};
use crate::proto::p4::config::v1 as config;
use crate::proto::p4::config::v1::action_profile::SelectorSizeSemantics;

/// An action profile or selector.
#[derive(Debug)]
pub struct Profile {
    pub id: u32,
    pub name: String,
    pub profile: ActionProfileId,
    /// Whether entries may name groups.
    pub selector: bool,
    pub actions: Vec<Action>,
    /// 0 if there is no limit.
    pub max_group_size: u32,
    /// How a group's size is counted.
    pub counts: Counts,
    /// Whether every weight must be unset.
    pub weights_disallowed: bool,
}

/// How the size of a group is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counts {
    Weights,
    Members {
        /// The largest weight; 0 is no limit.
        max_weight: u32,
    },
}

impl Context<'_> {
    pub fn action_profile(&self, info: &config::ActionProfile) -> Result<Profile, String> {
        let head = preamble(&info.preamble);
        let name = &head.name;
        let profile = self.program.action_profile(name);
        let profile = profile.ok_or_else(|| missing("action profile", name))?;
        let schema = &self.program.action_profiles()[profile.0 as usize];
        let of = format!("action profile {name}");
        same(
            "having a selector",
            &of,
            info.with_selector,
            schema.selector,
        )?;
        same("the size", &of, info.size, schema.size as i64)?;
        for id in &info.table_ids {
            let mut tables = self.info.tables.iter();
            let table = tables.find(|table| preamble(&table.preamble).id == *id);
            let table = table.ok_or_else(|| {
                format!("P4Info's {of} has table_ids {id}, and there is no table with that id")
            })?;
            same(
                "the implementation_id",
                &format!("table {}", preamble(&table.preamble).name),
                table.implementation_id,
                head.id,
            )?;
        }
        let size = |what: &str, value: i32| {
            u32::try_from(value).map_err(|_| format!("{what} of {of} is {value} in P4Info"))
        };
        let counts = match info.selector_size_semantics {
            Some(SelectorSizeSemantics::SumOfMembers(members)) => Counts::Members {
                max_weight: size("max_member_weight", members.max_member_weight)?,
            },
            _ => Counts::Weights,
        };
        Ok(Profile {
            id: head.id,
            name: name.clone(),
            profile,
            selector: info.with_selector,
            actions: self.profile_actions(info, profile, &of)?,
            max_group_size: size("max_group_size", info.max_group_size)?,
            counts,
            weights_disallowed: info.weights_disallowed,
        })
    }

    /// The actions of the profile's tables, which all have the same.
    fn profile_actions(
        &self,
        info: &config::ActionProfile,
        profile: ActionProfileId,
        of: &str,
    ) -> Result<Vec<Action>, String> {
        let mut tables = self.info.tables.iter();
        let first = info.table_ids.first();
        let Some(table) = tables.find(|table| Some(&preamble(&table.preamble).id) == first) else {
            return Ok(Vec::new());
        };
        let schema = &self.program.action_profiles()[profile.0 as usize];
        let resolve = |name: &str| {
            let mut actions = schema.actions.iter().copied();
            actions.find(|id| self.program.actions()[id.0 as usize].name == name)
        };
        let mut actions = Vec::new();
        for reference in &table.action_refs {
            // Members have no default actions.
            if reference.scope() != config::action_ref::Scope::DefaultOnly {
                actions.push(self.action(reference, of, &resolve)?);
            }
        }
        Ok(actions)
    }
}
