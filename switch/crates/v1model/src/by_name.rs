// SPDX-License-Identifier: Apache-2.0
//! Entries and registers by the program's names, for tests and benchmarks, which
//! have no P4Info. A name may lack what stands in front of its last parts.

use crate::{ActionCall, EntryKey, EntryOptions, Match, Pipeline, TableId};

/// A table by the end of its name, so that renaming a control does not matter.
///
/// # Errors
/// There is none.
pub fn table(pipeline: &Pipeline, name: &str) -> Result<TableId, String> {
    let tables = pipeline.program().tables();
    tables
        .iter()
        .position(|table| table.name == name || table.name.ends_with(&format!(".{name}")))
        .map(|n| TableId(n as u32))
        .ok_or_else(|| format!("the program has no table {name}"))
}

/// An action of a table by the end of its name, with its parameters by name.
///
/// # Errors
/// There is none.
pub fn action(
    pipeline: &Pipeline,
    table: TableId,
    name: &str,
    values: &[(&str, u128)],
) -> Result<ActionCall, String> {
    let program = pipeline.program();
    let id = program.tables()[table.0 as usize]
        .actions
        .iter()
        .copied()
        .find(|id| program.actions()[id.0 as usize].name.ends_with(name))
        .ok_or_else(|| format!("the program has no action {name}"))?;
    let args = program.actions()[id.0 as usize]
        .params
        .iter()
        .map(|param| {
            values
                .iter()
                .find(|(name, _)| *name == param.name)
                .map(|&(_, value)| value)
                .ok_or_else(|| format!("action {name} has a parameter {}", param.name))
        })
        .collect::<Result<_, _>>()?;
    Ok(ActionCall { action: id, args })
}

/// Inserts an entry whose keys are all exact.
///
/// # Errors
/// The program has no such table, action or parameter, or refuses the entry.
pub fn insert_exact(
    pipeline: &mut Pipeline,
    table_name: &str,
    key: &[u128],
    action_name: &str,
    values: &[(&str, u128)],
) -> Result<(), String> {
    let table = table(pipeline, table_name)?;
    let call = action(pipeline, table, action_name, values)?;
    let key = EntryKey {
        matches: key.iter().copied().map(Match::Exact).collect(),
        priority: 0,
    };
    pipeline
        .insert(0, table, &key, &call.into(), &EntryOptions::default())
        .map_err(|error| format!("table {table_name}: {error}"))
}

/// Writes a cell of a register.
///
/// # Errors
/// The program has no such register, or it no such cell.
pub fn set_register(
    pipeline: &mut Pipeline,
    name: &str,
    index: usize,
    value: u128,
) -> Result<(), String> {
    let register = pipeline
        .program()
        .register(name)
        .ok_or_else(|| format!("the program has no register {name}"))?;
    pipeline
        .set_register(register, Some(index), value)
        .map_err(|error| format!("register {name}: {error}"))
}

/// Reads the first `count` cells of a register.
///
/// # Errors
/// The program has no such register, or it no such cells.
pub fn registers(pipeline: &Pipeline, name: &str, count: usize) -> Result<Vec<u128>, String> {
    let register = pipeline
        .program()
        .register(name)
        .ok_or_else(|| format!("the program has no register {name}"))?;
    (0..count)
        .map(|index| pipeline.register(register, index))
        .collect::<Result<_, _>>()
        .map_err(|error| format!("register {name}: {error}"))
}
