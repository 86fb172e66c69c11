// SPDX-License-Identifier: Apache-2.0
//! Traces for programs: a JSON object on a line for each event.
//!
//! Every object has `packet` (its number), `time_ns` (the device's clock) and
//! `event`, in a switch `device` (its id), and then the members that the events of this name have (in
//! brackets: not always):
//!
//! | `event` | members |
//! | --- | --- |
//! | `received` | `port`, `length` |
//! | `copied` | `of`, `kind`: `replica`, `ingress_clone`, `egress_clone` |
//! | `pass` | `name`: `parser`, `ingress`, `egress` |
//! | `state` | `name` |
//! | `extracted` | `header` |
//! | `select` | `key`: list of `name`, `value`, `width` |
//! | `accepted` | |
//! | `parser_error` | `error`, `state`, `statement` |
//! | `condition` | `outcome`, [`source`] |
//! | `table` | `table`, `hit`, `key`, `entry`, `priority`, `action`, `args` |
//! | `action_end` | |
//! | `call` | `action`, [`table`] |
//! | `statement` | `op`, [`subject`], [`wrote`], [`action`], [`source`] |
//! | `checksum` | `field`: `name`, `value`, `width`; `expected`, `correct`, [`source`] |
//! | `queued` | `port`, `queue`, `depth` |
//! | `burst` | `channel`, [`requested`: `contention`, `poll`, `burst`; `requested_ns`], `first_minislot`, `minislots`, `start_ns`, `end_ns` |
//! | `clone` | `session` |
//! | `digest` | `name` |
//! | `resubmitted`, `recirculated` | |
//! | `replicated` | `group`, `copies` |
//! | `deparsed` | `length` |
//! | `sent` | `port`, `length` |
//! | `dropped` | `reason`, [`action`], [`table`], [`source`], [`port`], [`queue`], [`priority`], [`group`] |
//!
//! A drop's `reason` is `marked_to_drop` (by the program: `action`, `table` and
//! `source` say where), `assertion_failed`, `no_replicas`, `no_such_port`,
//! `no_such_priority`, `queue_full`, `delay_line_full`, `link_loss`, `packet_in_refused`,
//! `too_many_passes`, `ingress_queue_full`, `too_long` or `unheard`.
//!
//! Values are strings of `0x` and hexadecimal digits, as many as the width
//! needs. `source` is an object of `file`, `line`, `column` and `text`.
//! `key` of a table is a list of `name`, `value`, `width` and `valid`, which is
//! whether the field's header is: 0 is looked up when not.
//! `entry` has one object for each part of the key: `kind` (`exact`, `lpm`,
//! `ternary`, `range`, `optional`) with `value`, `prefix_len`, `mask`, `low`,
//! `high` as the kind needs; it is empty for a miss. Lengths are bytes.
//! Members may be added; those here keep their names and meanings.

use super::event::{DropReason, KeyPart, Named, TraceEvent, TraceValue};
use super::output::{Choice, TraceOutput};
use super::{TraceFilter, TraceSink};
use crate::error::SourcePosition;
use crate::schema::Match;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::Write;

/// Writes a JSON object on a line for each event; see the module for its members.
pub struct JsonTrace<W: Write> {
    choice: Choice,
    output: TraceOutput<W>,
    device: Option<u64>,
}

impl<W: Write> JsonTrace<W> {
    /// A trace of the packets that `filter` lets through, at most `most_bytes` long.
    pub fn new(output: W, filter: TraceFilter, most_bytes: u64) -> Self {
        JsonTrace {
            choice: Choice::new(filter),
            output: TraceOutput::new(output, most_bytes),
            device: None,
        }
    }

    /// Names the device whose packets come next.
    pub fn set_device(&mut self, device: Option<u64>) {
        self.device = device;
    }
}

impl<W: Write> Drop for JsonTrace<W> {
    fn drop(&mut self) {
        self.output.flush();
    }
}

impl<W: Write> TraceSink for JsonTrace<W> {
    fn begin(&mut self, now_ns: u64, port: u16, _frame: &[u8]) -> Option<u64> {
        if self.output.full() {
            return None;
        }
        self.choice.begin(now_ns, port)
    }

    fn copy(&mut self, _of: u64) -> u64 {
        self.choice.number()
    }

    fn event(&mut self, packet: u64, now_ns: u64, event: &TraceEvent<'_>) {
        let (name, members) = members(event);
        let mut line = format!("{{\"packet\":{packet},\"time_ns\":{now_ns},\"event\":\"{name}\"");
        if let Some(device) = self.device {
            // Writing into a string cannot fail.
            let _ = write!(line, ",\"device\":{device}");
        }
        for (name, value) in members {
            if !value.is_null() {
                // Writing into a string cannot fail.
                let _ = write!(line, ",\"{name}\":{value}");
            }
        }
        line.push_str("}\n");
        self.output.write(&line);
        if event.is_last() {
            self.output.flush();
        }
    }
}

type Members = Vec<(&'static str, Value)>;

fn number(value: &TraceValue<'_>) -> Value {
    Value::String(format!("{value:#x}"))
}

fn named(value: &Named<'_>) -> Value {
    json!({"name": value.name, "value": number(&value.value), "width": value.value.width})
}

fn key_part(part: &KeyPart<'_>) -> Value {
    let mut value = named(&part.field);
    value["valid"] = json!(part.is_valid);
    value
}

fn list(values: &[Named<'_>]) -> Value {
    values.iter().map(named).collect()
}

fn source(source: Option<&SourcePosition>) -> Value {
    match source {
        Some(s) => {
            json!({"file": s.file, "line": s.line, "column": s.column, "text": s.fragment})
        }
        None => Value::Null,
    }
}

fn entry(entry: &Match, width: u16) -> Value {
    let hex = |n: u128| {
        let words = [n as u64, (n >> 64) as u64];
        number(&TraceValue {
            words: &words,
            width,
        })
    };
    match *entry {
        Match::Exact(n) => json!({"kind": "exact", "value": hex(n)}),
        Match::Lpm { value, prefix_len } => {
            json!({"kind": "lpm", "value": hex(value), "prefix_len": prefix_len})
        }
        Match::Ternary { value, mask } => {
            json!({"kind": "ternary", "value": hex(value), "mask": hex(mask)})
        }
        Match::Range { low, high } => json!({"kind": "range", "low": hex(low), "high": hex(high)}),
        Match::Optional(n) => json!({"kind": "optional", "value": n.map(hex)}),
    }
}

fn members(event: &TraceEvent<'_>) -> (&'static str, Members) {
    match event {
        TraceEvent::Received { port, length } => (
            "received",
            vec![("port", json!(port)), ("length", json!(length))],
        ),
        TraceEvent::Copied { of, kind } => (
            "copied",
            vec![("of", json!(of)), ("kind", json!(kind.name()))],
        ),
        TraceEvent::Pass { name } => ("pass", vec![("name", json!(name))]),
        TraceEvent::State { name } => ("state", vec![("name", json!(name))]),
        TraceEvent::Extracted { header } => ("extracted", vec![("header", json!(header))]),
        TraceEvent::Select { key } => ("select", vec![("key", list(key))]),
        TraceEvent::Accepted => ("accepted", Vec::new()),
        TraceEvent::ParserError {
            error,
            state,
            statement,
        } => (
            "parser_error",
            vec![
                ("error", json!(error)),
                ("state", json!(state)),
                ("statement", json!(statement)),
            ],
        ),
        TraceEvent::Condition {
            source: at,
            outcome,
        } => (
            "condition",
            vec![("outcome", json!(outcome)), ("source", source(*at))],
        ),
        TraceEvent::Table {
            table,
            hit,
            key,
            entry: matches,
            priority,
            action,
            args,
        } => {
            let widths = key.iter().map(|part| part.field.value.width);
            let entries: Value = matches
                .iter()
                .zip(widths)
                .map(|(m, w)| entry(m, w))
                .collect();
            (
                "table",
                vec![
                    ("table", json!(table)),
                    ("hit", json!(hit)),
                    ("key", key.iter().map(key_part).collect()),
                    ("entry", entries),
                    ("priority", json!(priority)),
                    ("action", json!(action)),
                    ("args", list(args)),
                ],
            )
        }
        TraceEvent::ActionEnd => ("action_end", Vec::new()),
        TraceEvent::Call { action, table } => (
            "call",
            vec![("action", json!(action)), ("table", json!(table))],
        ),
        TraceEvent::Statement {
            op,
            subject,
            wrote,
            action,
            source: at,
        } => (
            "statement",
            vec![
                ("op", json!(op)),
                ("subject", json!(subject)),
                ("wrote", wrote.as_ref().map_or(Value::Null, named)),
                ("action", json!(action)),
                ("source", source(*at)),
            ],
        ),
        TraceEvent::Checksum {
            field,
            expected,
            source: at,
        } => (
            "checksum",
            vec![
                ("field", named(field)),
                ("expected", number(expected)),
                ("correct", json!(field.value.is(expected))),
                ("source", source(*at)),
            ],
        ),
        TraceEvent::Queued { port, queue, depth } => (
            "queued",
            vec![
                ("port", json!(port)),
                ("queue", json!(queue)),
                ("depth", json!(depth)),
            ],
        ),
        TraceEvent::Burst(burst) => (
            "burst",
            vec![
                ("channel", json!(burst.channel)),
                (
                    "requested",
                    json!(burst.requested.map(|(kind, _)| kind.name())),
                ),
                ("requested_ns", json!(burst.requested.map(|(_, at)| at))),
                ("first_minislot", json!(burst.first_minislot)),
                ("minislots", json!(burst.minislots)),
                ("start_ns", json!(burst.start_ns)),
                ("end_ns", json!(burst.end_ns)),
            ],
        ),
        TraceEvent::Clone { session } => ("clone", vec![("session", json!(session))]),
        TraceEvent::Digest { name } => ("digest", vec![("name", json!(name))]),
        TraceEvent::Resubmitted => ("resubmitted", Vec::new()),
        TraceEvent::Recirculated => ("recirculated", Vec::new()),
        TraceEvent::Replicated { group, copies } => (
            "replicated",
            vec![("group", json!(group)), ("copies", json!(copies))],
        ),
        TraceEvent::Deparsed { length } => ("deparsed", vec![("length", json!(length))]),
        TraceEvent::Sent { port, length } => (
            "sent",
            vec![("port", json!(port)), ("length", json!(length))],
        ),
        TraceEvent::Dropped(reason) => ("dropped", dropped(reason)),
    }
}

fn dropped(reason: &DropReason<'_>) -> Members {
    let mut members = vec![("reason", json!(reason.name()))];
    if let Some(cause) = reason.cause() {
        members.push(("action", json!(cause.action)));
        members.push(("table", json!(cause.table)));
        members.push(("source", source(cause.source)));
    }
    match reason {
        DropReason::NoReplicas { group } => members.push(("group", json!(group))),
        DropReason::NoSuchPort { port }
        | DropReason::LineFull { port }
        | DropReason::Link { port } => {
            members.push(("port", json!(port)));
        }
        DropReason::NoSuchPriority { port, priority } => {
            members.push(("port", json!(port)));
            members.push(("priority", json!(priority)));
        }
        DropReason::QueueFull { port, queue } => {
            members.push(("port", json!(port)));
            members.push(("queue", json!(queue)));
        }
        _ => {}
    }
    members
}
