// SPDX-License-Identifier: Apache-2.0
//! Action profiles, and the tables that use them.

use super::Lowering;
use crate::code::ProfileUse;
use crate::error::LoadError;
use crate::json::{self, Document, Table};
use crate::places::places;
use crate::schema::{ActionId, ActionProfileId, ActionProfileSchema, TableId};

/// All action profiles, yet without the tables that use them.
pub(super) fn profiles(document: &Document) -> Vec<ActionProfileSchema> {
    let pipelines = document.pipelines.iter();
    pipelines
        .flat_map(|p| &p.action_profiles)
        .map(|profile| ActionProfileSchema {
            name: profile.name.clone(),
            size: profile.max_size,
            selector: profile.selector.is_some(),
            actions: Vec::new(),
            tables: Vec::new(),
        })
        .collect()
}

impl Lowering<'_> {
    /// The action profile of a table of type `indirect` or `indirect_ws`.
    pub fn profile_id(&self, table: &Table) -> Result<Option<ActionProfileId>, LoadError> {
        match table.kind.as_str() {
            "simple" => return Ok(None),
            "indirect" | "indirect_ws" => {}
            other => {
                return Err(LoadError::new(format!(
                    "table {} of kind {other} is not supported",
                    table.name
                )));
            }
        }
        let name = table.action_profile.as_deref().unwrap_or_default();
        match self.names.action_profiles.get(name) {
            Some(at) => Ok(Some(ActionProfileId(*at as u32))),
            None => Err(LoadError::new(format!(
                "the BMv2 JSON is malformed: table {} has no action profile {name}",
                table.name
            ))),
        }
    }

    /// How a table uses its action profile, if it has one; the profile learns
    /// of the table, which is the next to be added.
    pub fn profile_use(&mut self, table: &Table) -> Result<Option<ProfileUse>, LoadError> {
        let Some(ActionProfileId(at)) = self.profile_id(table)? else {
            return Ok(None);
        };
        let actions = table.action_ids.iter().map(|id| self.action_index(*id));
        let own = actions.collect::<Result<Vec<_>, _>>()?;
        let id = TableId(self.tables.len() as u32);
        let profile = &mut self.action_profiles[at as usize];
        if profile.tables.is_empty() {
            profile.actions = own.iter().map(|i| ActionId(*i as u32)).collect();
        }
        profile.tables.push(id);
        // p4c copies the actions for each table, so they are the same by name.
        let name = |index: usize| &self.document.actions[index].name;
        let by_name = places(own.iter().map(|i| name(*i)));
        let mut actions = Vec::new();
        for action in &profile.actions {
            match by_name.get(name(action.0 as usize)) {
                Some(index) => actions.push(*index as u16),
                None => {
                    return Err(LoadError::new(format!(
                        "table {} lacks the action {} of its action profile {}; \
                         tables that share a profile have the same actions",
                        table.name,
                        name(action.0 as usize),
                        profile.name
                    )));
                }
            }
        }
        let profile = u16::try_from(at).map_err(|_| {
            LoadError::new("the program has more action profiles than are supported")
        })?;
        let found = self.names.profiles[at as usize];
        let hash = match &found.selector {
            Some(selector) => {
                let position = json::position(&found.source_info);
                Some(self.hash(&selector.algo, &selector.input, position)?)
            }
            None => None,
        };
        Ok(Some(ProfileUse {
            profile,
            hash,
            actions,
        }))
    }
}
