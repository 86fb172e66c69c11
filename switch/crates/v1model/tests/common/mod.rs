// SPDX-License-Identifier: Apache-2.0
//! Helpers of the packet-level tests.
#![allow(dead_code)] // Not every test binary uses all of them.

use std::path::Path;
use std::sync::Arc;
use v1model::*;

/// A pipeline of a test program.
pub fn pipeline(name: &str) -> Pipeline {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/programs")
        .join(name);
    load(&path)
}

/// A pipeline of one of the project's programs.
pub fn project(name: &str) -> Pipeline {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../p4src/build")
        .join(name);
    load(&path)
}

fn load(path: &Path) -> Pipeline {
    let json = std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let program = Program::load(&json).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    Pipeline::new(Arc::new(program), 42)
}

/// What became of a frame that was sent through ingress and egress.
pub fn pass(pipeline: &mut Pipeline, port: u16, frame: &[u8]) -> Option<(u16, Vec<u8>)> {
    pass_at(pipeline, 1_000_000, port, frame)
}

/// The same at a given time, nanoseconds; it leaves 1 ms later.
pub fn pass_at(
    pipeline: &mut Pipeline,
    now_ns: u64,
    port: u16,
    frame: &[u8],
) -> Option<(u16, Vec<u8>)> {
    match outcome_at(pipeline, now_ns, port, frame) {
        Ok(sent) => sent,
        Err(Fate::Drop) => None,
        Err(other) => panic!("unexpected {other:?}"),
    }
}

/// The same of programs that may do anything; what is not for one port ends where ingress does.
pub fn outcome_at(
    pipeline: &mut Pipeline,
    now_ns: u64,
    port: u16,
    frame: &[u8],
) -> Result<Option<(u16, Vec<u8>)>, Fate> {
    let mut packet = Packet::new();
    let port = match pipeline.ingress(now_ns, port, frame, &mut packet).fate {
        Fate::Unicast { port } => port,
        other => return Err(other),
    };
    pipeline.mark_enqueued(now_ns, 0, &mut packet);
    let metadata = EgressMetadata {
        port,
        ..Default::default()
    };
    let mut out = Vec::new();
    let outcome = pipeline.egress(now_ns + 1_000_000, &metadata, &mut packet, &mut out);
    Ok((outcome.fate == EgressFate::Send).then_some((port, out)))
}

/// A table by the end of its name.
pub fn table(pipeline: &Pipeline, name: &str) -> TableId {
    let tables = pipeline.program().tables();
    let at = tables
        .iter()
        .position(|t| t.name == name || t.name.ends_with(&format!(".{name}")));
    TableId(at.unwrap_or_else(|| panic!("no table {name}")) as u32)
}

/// A call of a table's action by the end of its name.
pub fn call(pipeline: &Pipeline, table: TableId, name: &str, args: &[u128]) -> ActionCall {
    let program = pipeline.program();
    let actions = &program.tables()[table.0 as usize].actions;
    let end = format!(".{name}");
    let action = actions
        .iter()
        .copied()
        .find(|a| {
            let full = &program.actions()[a.0 as usize].name;
            full == name || full.ends_with(&end)
        })
        .unwrap_or_else(|| panic!("no action {name}"));
    ActionCall {
        action,
        args: args.to_vec(),
    }
}

/// Inserts an entry with an action and without options, at time 0.
pub fn insert(
    pipeline: &mut Pipeline,
    table: TableId,
    key: &EntryKey,
    action: &ActionCall,
) -> Result<(), ControlError> {
    let action = action.clone().into();
    pipeline.insert(0, table, key, &action, &EntryOptions::default())
}

/// Replaces an entry's action, at time 0.
pub fn modify(
    pipeline: &mut Pipeline,
    table: TableId,
    key: &EntryKey,
    action: &ActionCall,
) -> Result<(), ControlError> {
    let action = action.clone().into();
    pipeline.modify(0, table, key, &action, &EntryOptions::default())
}

/// Reads big-endian numbers off a frame.
pub struct Reader<'a>(pub &'a [u8]);

impl Reader<'_> {
    /// The next number of so many bytes.
    pub fn number(&mut self, bytes: usize) -> u128 {
        let (head, rest) = self.0.split_at(bytes);
        self.0 = rest;
        head.iter().fold(0, |n, b| n << 8 | u128::from(*b))
    }
}
