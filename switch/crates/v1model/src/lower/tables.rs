// SPDX-License-Identifier: Apache-2.0
//! Tables: keys, actions, entries that P4 gives.

use super::control::{next_of, next_without_action};
use super::emit::Label;
use super::{Lowering, limits};
use crate::code::{DirectMeter, ProfileUse};
use crate::error::LoadError;
use crate::expr::{Element, Expr};
use crate::json::{self, InitialEntry, Key, Operand, Table};
use crate::op::mask_wide;
use crate::schema::{ActionCall, ActionId, EntryKey, KeySchema, Match, MatchKind, TableSchema};
use crate::table::KeySource;
use serde_json::Value;

/// A table whose places in the code are not known yet.
pub(super) struct LoweredTable {
    pub schema: TableSchema,
    pub keys: Vec<KeySource>,
    /// For each action: its code, and where to go on after a hit and a miss.
    /// Empty when the table's action was put in place.
    pub actions: Vec<(Label, Label, Label)>,
    pub default: Option<ActionCall>,
    pub entries: Vec<(EntryKey, ActionCall)>,
    pub meter: Option<DirectMeter>,
    pub profile: Option<ProfileUse>,
}

impl Lowering<'_> {
    /// Index of an action by the JSON's id.
    pub fn action_index(&self, id: u64) -> Result<usize, LoadError> {
        self.action_ids.get(&id).copied().ok_or_else(|| {
            LoadError::new(format!(
                "the BMv2 JSON is malformed: there is no action with id {id}"
            ))
        })
    }

    /// For a table that always does the same: which action, with what arguments.
    pub fn constant_call(&self, table: &Table) -> Result<Option<(usize, Vec<Expr>)>, LoadError> {
        match &table.default_entry {
            Some(default)
                if table.key.is_empty()
                    && table.kind == "simple"
                    && table.direct_meters.is_none()
                    && default.action_const
                    && default.action_entry_const
                    && !table.with_counters =>
            {
                let args = default.action_data.iter().map(|a| json::unsigned(a));
                let args = args
                    .map(|a| a.map(Expr::constant))
                    .collect::<Result<_, _>>()?;
                Ok(Some((self.action_index(default.action_id)?, args)))
            }
            _ => Ok(None),
        }
    }

    /// Keeps the schema of a table whose action was put in place.
    pub fn note_constant_table(&mut self, table: &Table) -> Result<(), LoadError> {
        let schema = self.schema(table)?;
        let default = self.default(table)?;
        self.tables.push(LoweredTable {
            schema,
            keys: Vec::new(),
            actions: Vec::new(),
            default,
            entries: Vec::new(),
            meter: None,
            profile: None,
        });
        Ok(())
    }

    /// Lowers a table that is looked up; gives its index.
    pub fn table(
        &mut self,
        table: &Table,
        label: &dyn Fn(Option<&str>) -> Result<Label, LoadError>,
    ) -> Result<u16, LoadError> {
        let profile = self.profile_use(table)?;
        let meter = self.direct_meter(table)?;
        if profile.is_some() && table.entries.is_some() {
            return Err(LoadError::new(format!(
                "table {} with an action profile and entries in P4 is not supported",
                table.name
            )));
        }
        let schema = self.schema(table)?;
        limits::check_key(&schema)?;
        let mut keys = Vec::new();
        for key in &table.key {
            let mut source = self.key_source(key)?;
            // The element is put where the lookup, which comes next, finds it.
            if let Some(element) = self.key_element(key)? {
                source.slot = self.emitter.load_element(&element)?;
                source.valid = self.emitter.constant(1)?;
            }
            keys.push(source);
        }
        for (key, source) in schema.keys.iter().zip(&keys) {
            if source.width > 128 {
                return Err(LoadError::new(format!(
                    "table {}: key field {} of {} bits is not supported; the limit is 128",
                    table.name, key.name, source.width
                )));
            }
        }
        if !schema.needs_priority()
            && schema
                .keys
                .iter()
                .filter(|k| k.kind == MatchKind::Lpm)
                .count()
                > 1
        {
            return Err(LoadError::new(format!(
                "table {} with more than one lpm key field is not supported",
                table.name
            )));
        }
        let mut actions = Vec::new();
        for id in &table.action_ids {
            let index = self.action_index(*id)?;
            let name = &self.document.actions[index].name;
            actions.push((
                self.action_labels[index],
                label(next_of(table, name, true))?,
                label(next_of(table, name, false))?,
            ));
        }
        // For an empty group, and for a miss where there is no default action.
        actions.push((
            self.no_action,
            label(next_without_action(table, true))?,
            label(next_without_action(table, false))?,
        ));
        let default = self.default(table)?;
        let mut entries = Vec::new();
        let given = || table.entries.iter().flatten();
        // In the JSON the lowest number is the highest priority. P4Runtime has it the other way
        // round, and gives the last entry 1.
        let lowest = given().map(|entry| entry.priority).max().unwrap_or(0);
        for entry in given() {
            let read = self.initial_entry(&schema, entry, lowest);
            entries.push(read.map_err(|e| e.at(json::position(&entry.source_info)))?);
        }
        self.tables.push(LoweredTable {
            schema,
            keys,
            actions,
            default,
            entries,
            meter,
            profile,
        });
        u16::try_from(self.tables.len() - 1)
            .map_err(|_| LoadError::new("the program has more tables than are supported"))
    }

    fn schema(&self, table: &Table) -> Result<TableSchema, LoadError> {
        if table.action_ids.len() != table.actions.len() {
            return Err(LoadError::new(format!(
                "the BMv2 JSON is malformed: table {} has {} actions with {} ids",
                table.name,
                table.actions.len(),
                table.action_ids.len()
            )));
        }
        let actions = table.action_ids.iter().map(|id| self.action_index(*id));
        let actions = actions
            .map(|i| i.map(|i| ActionId(i as u32)))
            .collect::<Result<_, _>>()?;
        let const_default = table
            .default_entry
            .as_ref()
            .is_some_and(|d| d.action_const || d.action_entry_const);
        Ok(TableSchema {
            name: table.name.clone(),
            keys: table
                .key
                .iter()
                .map(|k| self.key_schema(k))
                .collect::<Result<_, _>>()?,
            actions,
            size: table
                .max_size
                .max(table.entries.as_ref().map_or(0, Vec::len)),
            initial_entries: table.entries.is_some(),
            const_default,
            direct_counter: table.with_counters,
            direct_meter: self.direct_meter(table)?.map(|m| m.unit),
            profile: self.profile_id(table)?,
            idle_timeout: table.support_timeout,
            hidden: self.constant_call(table)?.is_some(),
        })
    }

    fn key_schema(&self, key: &Key) -> Result<KeySchema, LoadError> {
        let kind = match key.match_type.as_str() {
            "exact" | "valid" => MatchKind::Exact,
            "lpm" => MatchKind::Lpm,
            "ternary" => MatchKind::Ternary,
            "range" => MatchKind::Range,
            "optional" => MatchKind::Optional,
            other => {
                return Err(LoadError::new(format!(
                    "the match kind {other} is not supported"
                )));
            }
        };
        let source = self.key_source(key)?;
        let name = key.name.clone().unwrap_or_else(|| match &key.target {
            Value::Array(parts) => {
                let parts: Vec<&str> = parts.iter().filter_map(Value::as_str).collect();
                parts.join(".")
            }
            other => other.as_str().unwrap_or_default().to_owned(),
        });
        Ok(KeySchema {
            name,
            kind,
            width: source.width,
        })
    }

    /// A key that is a field of a stack's element with an index that only the
    /// packet tells; p4c writes it as an expression, which BMv2 does not read.
    fn key_element(&self, key: &Key) -> Result<Option<Element>, LoadError> {
        if !key.target.is_object() {
            return Ok(None);
        }
        let operand: Operand = json::from_value("a table's key", &key.target)?;
        match Expr::parse(&self.layout, &[], &operand)? {
            Expr::Element(element) => Ok(Some(element)),
            _ => Err(LoadError::new(
                "a table's key that is an expression is not supported",
            )),
        }
    }

    fn key_source(&self, key: &Key) -> Result<KeySource, LoadError> {
        if let Some(header) = key.target.as_str() {
            let valid = self.layout.header(header)?.valid;
            return Ok(KeySource {
                slot: valid,
                valid,
                width: 1,
                mask: 1,
            });
        }
        if let Some(element) = self.key_element(key)? {
            let mask = match &key.mask {
                Some(text) => json::unsigned(text)?,
                None => mask_wide(element.width),
            };
            return Ok(KeySource {
                slot: element.base,
                valid: element.base,
                width: element.width,
                mask,
            });
        }
        let (header, field): (String, String) = json::from_value("a table's key", &key.target)?;
        let (header, field) = self.layout.field(&header, &field)?;
        if field.var {
            return Err(LoadError::new(format!(
                "a match on the varbit field {} is not supported",
                field.name
            )));
        }
        let mask = match &key.mask {
            Some(text) => json::unsigned(text)?,
            None => mask_wide(field.width),
        };
        Ok(KeySource {
            slot: field.slot,
            valid: header.valid,
            width: field.width,
            mask,
        })
    }

    /// The default entry. p4c leaves it out of tables with action profiles,
    /// where it can only be NoAction.
    fn default(&self, table: &Table) -> Result<Option<ActionCall>, LoadError> {
        if let Some(default) = &table.default_entry {
            return self.call(default.action_id, &default.action_data).map(Some);
        }
        for id in &table.action_ids {
            let action = &self.document.actions[self.action_index(*id)?];
            if action.name == "NoAction" && action.runtime_data.is_empty() {
                return self.call(*id, &[]).map(Some);
            }
        }
        Ok(None)
    }

    fn call(&self, id: u64, data: &[String]) -> Result<ActionCall, LoadError> {
        let index = self.action_index(id)?;
        let action = &self.document.actions[index];
        if action.runtime_data.len() != data.len() {
            return Err(LoadError::new(format!(
                "the BMv2 JSON is malformed: action {} is called with {} arguments",
                action.name,
                data.len()
            )));
        }
        let args = data
            .iter()
            .map(|a| json::unsigned(a))
            .collect::<Result<_, _>>()?;
        Ok(ActionCall {
            action: ActionId(index as u32),
            args,
        })
    }

    /// An entry that P4 gives; `lowest` is the greatest number that stands for a priority.
    fn initial_entry(
        &self,
        schema: &TableSchema,
        entry: &InitialEntry,
        lowest: i64,
    ) -> Result<(EntryKey, ActionCall), LoadError> {
        let malformed = || {
            LoadError::new(format!(
                "the BMv2 JSON is malformed: an entry of table {} does not fit its key",
                schema.name
            ))
        };
        if entry.match_key.len() != schema.keys.len() {
            return Err(malformed());
        }
        let mut matches = Vec::new();
        for (field, given) in schema.keys.iter().zip(&entry.match_key) {
            let number = |value: &Option<String>| -> Result<u128, LoadError> {
                json::unsigned(value.as_deref().ok_or_else(malformed)?)
            };
            let key = match &given.key {
                Some(Value::String(text)) => json::unsigned(text)?,
                Some(Value::Bool(valid)) => u128::from(*valid),
                _ => 0,
            };
            matches.push(match field.kind {
                MatchKind::Exact => Match::Exact(key),
                MatchKind::Lpm => {
                    let prefix_len = given.prefix_length.ok_or_else(malformed)?;
                    let behind = mask_wide(field.width - prefix_len.min(field.width));
                    Match::Lpm {
                        value: key & !behind,
                        prefix_len,
                    }
                }
                MatchKind::Ternary => {
                    let mask = number(&given.mask)?;
                    Match::Ternary {
                        value: key & mask,
                        mask,
                    }
                }
                MatchKind::Range => Match::Range {
                    low: number(&given.start)?,
                    high: number(&given.end)?,
                },
                // The format writes optional entries as ternary ones.
                MatchKind::Optional => {
                    let mask = match &given.mask {
                        Some(text) => json::unsigned(text)?,
                        None => u128::from(given.key.is_some()),
                    };
                    Match::Optional((mask != 0).then_some(key))
                }
            });
        }
        let priority = if schema.needs_priority() {
            let above = lowest.checked_sub(entry.priority);
            let priority = above.and_then(|above| above.checked_add(1));
            let priority = priority.and_then(|p| i32::try_from(p).ok());
            priority.ok_or_else(malformed)?
        } else {
            0
        };
        let action = self.call(
            entry.action_entry.action_id,
            &entry.action_entry.action_data,
        )?;
        Ok((EntryKey { matches, priority }, action))
    }
}
