// SPDX-License-Identifier: Apache-2.0
//! Finds the program's objects by the names that a test gives them.

use crate::error::Error;
use crate::names::resolve;
use crate::script::Name;
use v1model::{ActionId, CounterId, MeterId, Program, RegisterId, TableId};

pub(crate) fn find_table(program: &Program, name: &Name) -> Result<TableId, Error> {
    let tables = program.tables().iter().enumerate();
    let tables = tables.filter(|(_, t)| !t.hidden);
    resolve(
        "table",
        name,
        tables.map(|(n, t)| (TableId(n as u32), t.name.as_str())),
    )
}

pub(crate) fn find_action(
    program: &Program,
    table: TableId,
    name: &Name,
) -> Result<ActionId, Error> {
    let table = &program.tables()[table.0 as usize];
    let kind = format!("action of table {}", table.name);
    let actions = table.actions.iter();
    resolve(
        &kind,
        name,
        actions.map(|id| (*id, program.actions()[id.0 as usize].name.as_str())),
    )
}

pub(crate) fn find_counter(program: &Program, name: &Name) -> Result<CounterId, Error> {
    let counters = program.counters().iter().enumerate();
    resolve(
        "counter",
        name,
        counters.map(|(n, c)| (CounterId(n as u32), c.name.as_str())),
    )
}

pub(crate) fn find_register(program: &Program, name: &Name) -> Result<RegisterId, Error> {
    let registers = program.registers().iter().enumerate();
    resolve(
        "register",
        name,
        registers.map(|(n, r)| (RegisterId(n as u32), r.name.as_str())),
    )
}

pub(crate) fn find_meter(program: &Program, name: &Name) -> Result<MeterId, Error> {
    let meters = program.meters().iter().enumerate();
    resolve(
        "meter",
        name,
        meters.map(|(n, m)| (MeterId(n as u32), m.name.as_str())),
    )
}
