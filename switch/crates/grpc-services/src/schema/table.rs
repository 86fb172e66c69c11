// SPDX-License-Identifier: Apache-2.0
//! Tables and their actions, bound to those of the program.

use std::collections::HashMap;

use v1model::{ActionId, MatchKind, Program, TableId, TableSchema};

use super::types::Types;
use super::{ONE_RUN, differs, missing, preamble, same};
use crate::proto::p4::config::v1 as config;

/// The largest size that P4Info may give a table, as in a program's own JSON. It is limited because
/// address space for all entries is reserved before there is any.
const MOST_ENTRIES: usize = 1 << 31;

/// A table.
#[derive(Debug)]
pub struct Table {
    pub id: u32,
    pub name: String,
    pub table: TableId,
    /// In the order of the program's key.
    pub fields: Vec<Field>,
    pub actions: Vec<Action>,
    pub needs_priority: bool,
    /// Whether the entries cannot change.
    pub is_const: bool,
    /// The most entries of the table, if P4 gives it entries that can change.
    pub preinitialized: Option<usize>,
    /// Whether the default entry cannot change.
    pub const_default: bool,
    pub direct_counter: bool,
    pub direct_meter: bool,
    pub idle_timeout: bool,
    /// P4Info's id of the action profile; 0 without one.
    pub profile: u32,
}

/// A match field of a table or of a value set.
#[derive(Debug)]
pub struct Field {
    pub id: u32,
    pub name: String,
    pub kind: MatchKind,
    /// The width in the data plane, bits.
    pub width: u16,
    /// Bits that a client may use, not more than the data plane has.
    pub limit: u16,
}

/// An action of a table or of an action profile.
#[derive(Clone, Debug)]
pub struct Action {
    pub id: u32,
    pub name: String,
    pub action: ActionId,
    /// In the order of the program's parameters.
    pub params: Vec<Param>,
    pub scope: Scope,
}

/// Where a table may use an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    Both,
    TableOnly,
    DefaultOnly,
}

/// A parameter of an action.
#[derive(Clone, Debug)]
pub struct Param {
    pub id: u32,
    pub name: String,
    /// Bits that a client may use, not more than the data plane has.
    pub limit: u16,
}

/// The part of P4Info that tables need.
pub struct Context<'a> {
    pub info: &'a config::P4Info,
    pub actions: HashMap<u32, &'a config::Action>,
    pub types: Types<'a>,
    pub program: &'a Program,
}

/// The size of a table, which only P4Info tells.
fn most_entries(info: &config::Table, of: &str) -> Result<usize, String> {
    let size = usize::try_from(info.size).ok();
    size.filter(|&size| size <= MOST_ENTRIES).ok_or_else(|| {
        format!(
            "P4Info's {of} has the size {}, and 0 to {MOST_ENTRIES} entries are supported",
            info.size
        )
    })
}

impl Context<'_> {
    /// Binds one table.
    ///
    /// # Errors
    /// P4Info and the program disagree, or P4Info does with itself.
    pub fn table(&self, info: &config::Table) -> Result<Table, String> {
        let head = preamble(&info.preamble);
        let name = &head.name;
        let found = self.program.table(name);
        let table = found.ok_or_else(|| missing("table", name))?;
        let schema = &self.program.tables()[table.0 as usize];
        let of = format!("table {name}");
        let fields = self.key(info, schema, &of)?;
        let mut actions: Vec<Action> = Vec::with_capacity(info.action_refs.len());
        for reference in &info.action_refs {
            if actions.iter().any(|known| known.id == reference.id) {
                return Err(format!(
                    "P4Info's {of} refers to action {} twice",
                    reference.id
                ));
            }
            let resolve = |name: &str| self.program.table_action(table, name);
            actions.push(self.action(reference, &of, &resolve)?);
        }
        let const_default = info.const_default_action_id;
        if const_default != 0 && !actions.iter().any(|action| action.id == const_default) {
            return Err(format!(
                "P4Info's {of} has const_default_action_id {const_default}, which is none of its \
                 actions"
            ));
        }
        let counters = self.info.direct_counters.iter();
        let direct_counter = counters.clone().any(|c| c.direct_table_id == head.id);
        same(
            "having a direct counter",
            &of,
            direct_counter,
            schema.direct_counter,
        )?;
        let preinitialized = schema.initial_entries && info.has_initial_entries;
        let preinitialized = preinitialized && !info.is_const_table;
        Ok(Table {
            id: head.id,
            name: name.clone(),
            table,
            needs_priority: fields.iter().any(|field| needs_priority(field.kind)),
            // A P4Info made before P4 had entries that are not const has none of them.
            is_const: info.is_const_table || schema.initial_entries && !info.has_initial_entries,
            preinitialized: preinitialized
                .then(|| most_entries(info, &of))
                .transpose()?,
            const_default: const_default != 0 || schema.const_default,
            direct_counter,
            direct_meter: self.direct_meter(head.id, schema, &of)?,
            idle_timeout: self.idle_timeout(info, schema, &of)?,
            profile: self.profile(info, schema, &of)?,
            fields,
            actions,
        })
    }

    fn key(
        &self,
        info: &config::Table,
        schema: &TableSchema,
        of: &str,
    ) -> Result<Vec<Field>, String> {
        let given = &info.match_fields;
        same(
            "the number of match fields",
            of,
            given.len(),
            schema.keys.len(),
        )?;
        let mut fields: Vec<Field> = Vec::with_capacity(schema.keys.len());
        for key in &schema.keys {
            let field = given.iter().find(|field| field.name == key.name);
            let field = field.ok_or_else(|| {
                format!(
                    "the JSON has the match field {} in {of} and P4Info does not: {ONE_RUN}",
                    key.name
                )
            })?;
            let field = self.field(field, key.kind, key.width, of)?;
            if fields.iter().any(|known| known.id == field.id) {
                return Err(format!(
                    "P4Info's {of} has two match fields with id {}",
                    field.id
                ));
            }
            fields.push(field);
        }
        Ok(fields)
    }

    /// Binds a match field that the program knows as `kind`.
    ///
    /// # Errors
    /// They disagree.
    pub fn field(
        &self,
        field: &config::MatchField,
        kind: MatchKind,
        width: u16,
        of: &str,
    ) -> Result<Field, String> {
        let of = format!("match field {} (id {}) of {of}", field.name, field.id);
        let limit = self
            .types
            .wire_width(field.type_name.as_ref(), field.bitwidth, width, &of)?;
        let given = match_kind(field).ok_or_else(|| format!("{of} has no known match type"))?;
        // p4c writes optional fields as ternary ones into the JSON.
        let fits = given == kind || (given, kind) == (MatchKind::Optional, MatchKind::Ternary);
        if !fits {
            return Err(differs(
                "the match type",
                &of,
                format!("{given:?}"),
                format!("{kind:?}"),
            ));
        }
        let whole = matches!(given, MatchKind::Exact | MatchKind::Optional);
        if limit != width && !whole {
            return Err(format!(
                "{of} is translated to {limit} bits, and is neither exact nor optional: this \
                 target does not support that"
            ));
        }
        Ok(Field {
            id: field.id,
            name: field.name.clone(),
            kind: given,
            width,
            limit: limit.min(width),
        })
    }

    /// Binds an action; `resolve` gives the program's by its name.
    ///
    /// # Errors
    /// They disagree.
    pub fn action(
        &self,
        reference: &config::ActionRef,
        of: &str,
        resolve: &dyn Fn(&str) -> Option<ActionId>,
    ) -> Result<Action, String> {
        let info = self.actions.get(&reference.id).ok_or_else(|| {
            format!(
                "P4Info's {of} refers to action {}, which P4Info does not describe",
                reference.id
            )
        })?;
        let head = preamble(&info.preamble);
        let name = &head.name;
        let of = format!("action {name} of {of}");
        let action = resolve(name).ok_or_else(|| missing("action", &of["action ".len()..]))?;
        let schema = &self.program.actions()[action.0 as usize];
        same(
            "the number of parameters",
            &of,
            info.params.len(),
            schema.params.len(),
        )?;
        let mut params: Vec<Param> = Vec::with_capacity(info.params.len());
        for (param, json) in info.params.iter().zip(&schema.params) {
            let of = format!("parameter {} of {of}", param.name);
            if param.name != json.name {
                return Err(differs("the name", &of, &param.name, &json.name));
            }
            if params.iter().any(|known| known.id == param.id) {
                return Err(format!("P4Info gives {of} an id that another one has"));
            }
            let named = param.type_name.as_ref();
            let limit = self
                .types
                .wire_width(named, param.bitwidth, json.width, &of)?;
            params.push(Param {
                id: param.id,
                name: param.name.clone(),
                limit: limit.min(json.width),
            });
        }
        let scope = match reference.scope() {
            config::action_ref::Scope::TableAndDefault => Scope::Both,
            config::action_ref::Scope::TableOnly => Scope::TableOnly,
            config::action_ref::Scope::DefaultOnly => Scope::DefaultOnly,
        };
        Ok(Action {
            id: head.id,
            name: name.clone(),
            action,
            params,
            scope,
        })
    }

    fn direct_meter(&self, id: u32, schema: &TableSchema, of: &str) -> Result<bool, String> {
        let mut meters = self.info.direct_meters.iter();
        let meter = meters.find(|meter| meter.direct_table_id == id);
        same(
            "having a direct meter",
            of,
            meter.is_some(),
            schema.direct_meter.is_some(),
        )?;
        if let (Some(meter), Some(unit)) = (meter, schema.direct_meter) {
            super::meter_unit::meter_unit(
                meter.spec.as_ref(),
                unit,
                &format!("direct meter of {of}"),
            )?;
        }
        Ok(meter.is_some())
    }

    fn idle_timeout(
        &self,
        info: &config::Table,
        schema: &TableSchema,
        of: &str,
    ) -> Result<bool, String> {
        use config::table::IdleTimeoutBehavior::NotifyControl;
        let wanted = info.idle_timeout_behavior() == NotifyControl;
        if wanted && !schema.idle_timeout {
            // The opposite is allowed, because P4Info may leave out what the program has.
            return Err(differs("having an idle timeout", of, true, false));
        }
        Ok(wanted)
    }

    fn profile(&self, info: &config::Table, schema: &TableSchema, of: &str) -> Result<u32, String> {
        let id = info.implementation_id;
        let mut profiles = self.info.action_profiles.iter();
        let given = profiles.find(|profile| preamble(&profile.preamble).id == id);
        if id != 0 && given.is_none() {
            return Err(format!(
                "P4Info's {of} has implementation_id {id}, and there is no action profile with \
                 that id"
            ));
        }
        let given = given.map_or("none", |profile| &preamble(&profile.preamble).name);
        let profiles = self.program.action_profiles();
        let json = schema.profile.map(|profile| &profiles[profile.0 as usize]);
        let json = json.map_or("none", |profile| &profile.name);
        same("the action profile", of, given, json)?;
        Ok(id)
    }
}

/// Whether entries of a table with such a field have a priority.
pub fn needs_priority(kind: MatchKind) -> bool {
    matches!(
        kind,
        MatchKind::Ternary | MatchKind::Range | MatchKind::Optional
    )
}

fn match_kind(field: &config::MatchField) -> Option<MatchKind> {
    use config::match_field::{Match, MatchType};
    let Some(Match::MatchType(kind)) = &field.r#match else {
        return None;
    };
    match MatchType::try_from(*kind).ok()? {
        MatchType::Unspecified => None,
        MatchType::Exact => Some(MatchKind::Exact),
        MatchType::Lpm => Some(MatchKind::Lpm),
        MatchType::Ternary => Some(MatchKind::Ternary),
        MatchType::Range => Some(MatchKind::Range),
        MatchType::Optional => Some(MatchKind::Optional),
    }
}
