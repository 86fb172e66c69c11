// SPDX-License-Identifier: Apache-2.0
//! Traces for people: a block of indented lines for each packet.

use super::event::{Cause, CopyKind, DropReason, Named, RequestKind, TraceEvent, TraceValue};
use super::output::{Choice, TraceOutput};
use super::{TraceFilter, TraceSink};
use crate::error::SourcePosition;
use crate::schema::Match;
use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::io::Write;

/// Blocks that wait for their packets' ends; past that the oldest is written
/// as far as it has come.
const OPEN_BLOCKS: usize = 1024;

/// Their bytes, likewise.
const OPEN_BYTES: usize = 4 << 20;

#[derive(Default)]
struct Block {
    text: String,
    /// Between a table's line and the end of its action.
    in_table: bool,
    in_state: bool,
}

/// Writes a block of indented text for each packet, when its fate is known.
pub struct TextTrace<W: Write> {
    choice: Choice,
    output: TraceOutput<W>,
    /// By packet and device.
    blocks: BTreeMap<(u64, Option<u64>), Block>,
    /// In the blocks.
    bytes: usize,
    device: Option<u64>,
}

impl<W: Write> TextTrace<W> {
    /// A trace of the packets that `filter` lets through, at most `most_bytes` long.
    pub fn new(output: W, filter: TraceFilter, most_bytes: u64) -> Self {
        TextTrace {
            choice: Choice::new(filter),
            output: TraceOutput::new(output, most_bytes),
            blocks: BTreeMap::new(),
            bytes: 0,
            device: None,
        }
    }

    /// Names the device whose packets come next.
    pub fn set_device(&mut self, device: Option<u64>) {
        self.device = device;
    }

    /// Writes the oldest block as far as it has come.
    fn write_oldest(&mut self) {
        if let Some((_, mut block)) = self.blocks.pop_first() {
            self.bytes -= block.text.len();
            block.text.push_str("  still on its way\n\n");
            self.output.write(&block.text);
        }
    }
}

impl<W: Write> Drop for TextTrace<W> {
    /// Writes the blocks of packets that are still on their way.
    fn drop(&mut self) {
        while let Some((_, block)) = self.blocks.pop_first() {
            self.output.write(&block.text);
        }
        if self.output.lost() > 0 {
            let lost = self.output.lost();
            self.output.write(&format!(
                "{lost} packets or parts of them are not here: they came faster than they could be \
                 written\n"
            ));
        }
        self.output.flush();
    }
}

impl<W: Write> TraceSink for TextTrace<W> {
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
        let who = Who {
            device: self.device,
            packet,
        };
        let block = self.blocks.entry((packet, self.device)).or_default();
        let before = block.text.len();
        if block.text.is_empty()
            && !matches!(
                event,
                TraceEvent::Received { .. } | TraceEvent::Copied { .. }
            )
        {
            let _ = writeln!(block.text, "{who}, further");
        }
        line(block, who, now_ns, event);
        self.bytes += block.text.len() - before;
        if event.is_last() {
            if let Some(mut block) = self.blocks.remove(&(packet, self.device)) {
                self.bytes -= block.text.len();
                block.text.push('\n');
                self.output.write(&block.text);
                self.output.flush();
            }
        }
        while self.blocks.len() > OPEN_BLOCKS || self.bytes > OPEN_BYTES {
            self.write_oldest();
        }
    }
}

/// A packet, and its device where that is named.
#[derive(Clone, Copy)]
struct Who {
    device: Option<u64>,
    packet: u64,
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(device) = self.device {
            write!(f, "device {device}, ")?;
        }
        write!(f, "packet {}", self.packet)
    }
}

/// Seconds and what is behind the point.
fn seconds(ns: u64) -> String {
    format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000)
}

fn value(value: &TraceValue<'_>) -> String {
    let small = value.words.first().copied().unwrap_or(0);
    match value.width {
        0..=32 if small < 10 => format!("{small}"),
        0..=16 => format!("{value:#x} ({small})"),
        _ => format!("{value:#x}"),
    }
}

fn list(values: &[Named<'_>]) -> String {
    let items: Vec<String> = values
        .iter()
        .map(|v| format!("{} = {}", v.name, value(&v.value)))
        .collect();
    items.join(", ")
}

fn one_line(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(100) {
        Some((at, _)) => format!("{}...", &text[..at]),
        None => text,
    }
}

fn place(source: Option<&SourcePosition>) -> String {
    match source {
        Some(source) => format!("{}:{}: ", source.file, source.line),
        None => String::new(),
    }
}

fn fragment(source: Option<&SourcePosition>) -> Option<String> {
    let text = one_line(&source?.fragment);
    (!text.is_empty()).then_some(text)
}

fn matched(entry: &Match, width: u16) -> String {
    let number = |n: u128| {
        let words = [n as u64, (n >> 64) as u64];
        format!(
            "{:#x}",
            TraceValue {
                words: &words,
                width
            }
        )
    };
    match *entry {
        Match::Exact(n) | Match::Optional(Some(n)) => number(n),
        Match::Optional(None) => "anything".to_owned(),
        Match::Lpm { value, prefix_len } => format!("{}/{prefix_len}", number(value)),
        Match::Ternary { mask: 0, .. } => "anything".to_owned(),
        Match::Ternary { value, mask } => format!("{} &&& {}", number(value), number(mask)),
        Match::Range { low, high } => format!("{} .. {}", number(low), number(high)),
    }
}

fn cause(cause: &Cause<'_>) -> String {
    let mut text = match (cause.action, cause.table) {
        (Some(action), Some(table)) => format!(" by action {action} of table {table}"),
        (Some(action), None) => format!(" by action {action}"),
        _ => String::new(),
    };
    if let Some(source) = cause.source {
        let _ = write!(text, " at {}:{}", source.file, source.line);
        if let Some(fragment) = fragment(cause.source) {
            let _ = write!(text, " `{fragment}`");
        }
    }
    text
}

fn reason(reason: &DropReason<'_>) -> String {
    match reason {
        DropReason::Marked(by) => format!("marked to drop{}", cause(by)),
        DropReason::Assertion(by) => format!("an assertion failed{}", cause(by)),
        DropReason::NoReplicas { group } => format!("multicast group {group} has no replicas"),
        DropReason::NoSuchPort { port } => format!("there is no port {port}"),
        DropReason::QueueFull { port, queue } => {
            format!("the buffer of queue {queue} of port {port} is full")
        }
        DropReason::LineFull { port } => format!("the delay line of port {port} is full"),
        DropReason::Link { port } => format!("the link of port {port} lost it, as configured"),
        DropReason::PacketIn => "the controller did not take it".to_owned(),
        DropReason::TooManyPasses => "it was resubmitted or recirculated too often".to_owned(),
        DropReason::TooLong => {
            "it is longer than its queue's tokens ever allow, or than a frame may be".to_owned()
        }
        DropReason::Unheard => "the CMTS heard none of the requests for it".to_owned(),
        DropReason::Suppressed => "a later acknowledgement made it superfluous".to_owned(),
        DropReason::IngressQueueFull => {
            "too many packets wait to go through ingress again".to_owned()
        }
        DropReason::NoSuchPriority { port, priority } => {
            format!("port {port} has no queue for priority {priority}")
        }
    }
}

fn line(block: &mut Block, who: Who, now_ns: u64, event: &TraceEvent<'_>) {
    let inner = if block.in_table || block.in_state {
        "      "
    } else {
        "    "
    };
    let out = &mut block.text;
    // Writing into a string cannot fail.
    let _ = match event {
        TraceEvent::Received { port, length } => writeln!(
            out,
            "{who}: {length} bytes from port {port} at {} s",
            seconds(now_ns)
        ),
        TraceEvent::Copied { of, kind } => {
            let kind = match kind {
                CopyKind::Replica => "multicast replica",
                CopyKind::IngressClone => "ingress clone",
                CopyKind::EgressClone => "egress clone",
            };
            writeln!(out, "{who}: {kind} of packet {of} at {} s", seconds(now_ns))
        }
        TraceEvent::Pass { name } => {
            block.in_table = false;
            block.in_state = false;
            writeln!(out, "  {name}")
        }
        TraceEvent::State { name } => {
            block.in_state = true;
            writeln!(out, "    state {name}")
        }
        TraceEvent::Extracted { header } => writeln!(out, "{inner}extract {header}"),
        TraceEvent::Select { key } => writeln!(out, "{inner}select {}", list(key)),
        TraceEvent::Accepted => {
            block.in_state = false;
            writeln!(out, "    accept")
        }
        TraceEvent::ParserError {
            error, statement, ..
        } => {
            writeln!(out, "{inner}parser error {error} at {statement}")
        }
        TraceEvent::Condition { source, outcome } => {
            let text = fragment(*source).unwrap_or_else(|| "a condition".to_owned());
            writeln!(out, "{inner}{}if {text} -> {outcome}", place(*source))
        }
        TraceEvent::Table {
            table,
            hit,
            key,
            entry,
            priority,
            action,
            args,
        } => {
            let verdict = if *hit { "hit" } else { "miss" };
            let _ = writeln!(out, "    table {table}: {verdict}");
            for (n, part) in key.iter().enumerate() {
                let field = &part.field;
                let _ = write!(out, "      {} = {}", field.name, value(&field.value));
                if !part.is_valid {
                    let _ = write!(out, ", as its header is not valid");
                }
                let _ = match entry.get(n) {
                    Some(entry) => writeln!(out, " matches {}", matched(entry, field.value.width)),
                    None => writeln!(out),
                };
            }
            if *priority != 0 {
                let _ = writeln!(out, "      priority {priority}");
            }
            block.in_table = true;
            writeln!(out, "      action {action}({})", list(args))
        }
        TraceEvent::ActionEnd => {
            block.in_table = false;
            Ok(())
        }
        TraceEvent::Call { action, table } => match table {
            Some(table) => writeln!(out, "{inner}table {table} without a key: action {action}"),
            None => writeln!(out, "{inner}call {action}"),
        },
        TraceEvent::Statement {
            op,
            subject,
            wrote,
            source,
            ..
        } => {
            let text = match (fragment(*source), subject) {
                // What p4c gives for a declaration with a value.
                (Some(text), Some(subject)) if text.starts_with('=') => {
                    format!("{subject} {text}")
                }
                (Some(text), _) => text,
                (None, Some(subject)) => format!("{op} {subject}"),
                (None, None) => (*op).to_owned(),
            };
            let _ = write!(out, "{inner}{}{text}", place(*source));
            match wrote {
                // Without source text the name is there already.
                Some(w) if source.is_none() && *subject == Some(w.name) => {
                    writeln!(out, " = {}", value(&w.value))
                }
                Some(w) => writeln!(out, " -> {} = {}", w.name, value(&w.value)),
                None => writeln!(out),
            }
        }
        TraceEvent::Checksum {
            field,
            expected,
            source,
        } => {
            let (at, name) = (place(*source), field.name);
            if field.value.is(expected) {
                writeln!(out, "    {at}checksum {name} = {:#x} is right", field.value)
            } else {
                writeln!(
                    out,
                    "    {at}checksum {name} is wrong: {:#x}, expected {expected:#x}",
                    field.value
                )
            }
        }
        TraceEvent::Queued { port, queue, depth } => writeln!(
            out,
            "  queue {queue} of port {port} at {} s, behind {depth} packets",
            seconds(now_ns)
        ),
        TraceEvent::Burst(burst) => {
            let _ = match burst.requested {
                Some((RequestKind::Contention, at)) => {
                    writeln!(out, "  asked for in contention at {} s", seconds(at))
                }
                Some((RequestKind::Poll, at)) => {
                    writeln!(out, "  asked for in a poll at {} s", seconds(at))
                }
                Some((RequestKind::Burst, at)) => {
                    writeln!(out, "  asked for in the burst at {} s", seconds(at))
                }
                None => writeln!(out, "  nobody asked for its grant"),
            };
            writeln!(
                out,
                "  granted minislots {} to {} of channel {}: its burst is from {} to {} s",
                burst.first_minislot,
                burst
                    .first_minislot
                    .saturating_add(burst.minislots.saturating_sub(1).into()),
                burst.channel,
                seconds(burst.start_ns),
                seconds(burst.end_ns)
            )
        }
        TraceEvent::Clone { session } => writeln!(out, "  cloned for session {session}"),
        TraceEvent::Digest { name } => writeln!(out, "  digest {name} for the controller"),
        TraceEvent::Resubmitted => writeln!(out, "  resubmitted"),
        TraceEvent::Recirculated => writeln!(out, "  recirculated"),
        TraceEvent::Replicated { group, copies } => {
            writeln!(out, "  multicast group {group}: {copies} copies")
        }
        TraceEvent::Deparsed { length } => writeln!(out, "  deparsed: {length} bytes"),
        TraceEvent::Sent { port, length } => writeln!(
            out,
            "  sent through port {port} at {} s: {length} bytes",
            seconds(now_ns)
        ),
        TraceEvent::Dropped(why) => {
            writeln!(out, "  dropped at {} s: {}", seconds(now_ns), reason(why))
        }
    };
}
