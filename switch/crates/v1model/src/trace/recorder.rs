// SPDX-License-Identifier: Apache-2.0
//! Turns what the machine tells into events with names.

use super::event::{Cause, DropReason, KeyPart, Named, TraceEvent, TraceSink, TraceValue};
use super::place::{Place, Target};
use super::tracer::Tracer;
use crate::op::words;
use crate::op::{Slot, mask};
use crate::program::Program;
use crate::schema::{DigestId, EntryKey};

/// Follows one packet through the parser, ingress or egress.
pub(crate) struct Recorder<'a> {
    program: &'a Program,
    sink: &'a mut dyn TraceSink,
    packet: u64,
    now_ns: u64,
    state: &'a str,
    /// Index of the `Place::Before` that came last.
    statement: Option<usize>,
    table: Option<&'a str>,
    action: Option<&'a str>,
    /// What set `egress_spec` last.
    cause: Cause<'a>,
    /// The same of copies of it that `mark_to_drop` marked.
    copies: Vec<(Slot, Cause<'a>)>,
    failed: bool,
}

impl<'a> Recorder<'a> {
    pub fn new(
        program: &'a Program,
        sink: &'a mut dyn TraceSink,
        packet: u64,
        now_ns: u64,
    ) -> Recorder<'a> {
        Recorder {
            program,
            sink,
            packet,
            now_ns,
            state: "",
            statement: None,
            table: None,
            action: None,
            cause: Cause::default(),
            copies: Vec::new(),
            failed: false,
        }
    }

    /// Tells the sink.
    pub fn tell(&mut self, event: &TraceEvent<'_>) {
        self.sink.event(self.packet, self.now_ns, event);
    }

    /// What the pipeline asked for besides.
    pub fn clone_and_digest(&mut self, session: Option<u16>, digest: Option<DigestId>) {
        if let Some(session) = session {
            self.tell(&TraceEvent::Clone { session });
        }
        if let Some(digest) = digest {
            let name = self.program.digests.get(digest.0 as usize);
            let name = name.map_or("?", |d| d.name.as_str());
            self.tell(&TraceEvent::Digest { name });
        }
    }

    /// The packet is dropped by the program.
    pub fn dropped(&mut self) {
        let reason = if self.failed {
            DropReason::Assertion(self.cause)
        } else {
            DropReason::Marked(self.cause)
        };
        self.tell(&TraceEvent::Dropped(reason));
    }

    fn place(&self, index: usize) -> Option<&'a Place> {
        self.program.traced.places.get(index)
    }

    /// Where control is.
    fn here(&self) -> Cause<'a> {
        let source = match self.statement.and_then(|at| self.place(at)) {
            Some(Place::Before { position, .. }) => position.as_ref(),
            _ => None,
        };
        Cause {
            action: self.action,
            table: self.table,
            source,
        }
    }

    /// A field was written. What comes from a marked copy was said where that was marked.
    fn wrote(&mut self, to: Slot, from: Option<Slot>) {
        let marked = self.copies.iter().find(|(slot, _)| Some(*slot) == from);
        let marked = marked.map(|(_, cause)| *cause);
        if to == self.program.traced.standard.egress_spec {
            self.cause = marked.unwrap_or_else(|| self.here());
        } else {
            self.copies.retain(|(slot, _)| *slot != to);
            self.copies.extend(marked.map(|cause| (to, cause)));
        }
    }

    fn statement_done(&mut self, target: Option<&'a Target>, from: Option<Slot>, phv: &[u64]) {
        if let Some(target) = target {
            self.wrote(target.slot, from);
        }
        let Some(Place::Before {
            op,
            subject,
            position,
        }) = self.statement.and_then(|at| self.place(at))
        else {
            return;
        };
        let event = if op == "extract" || op == "extract_VL" {
            TraceEvent::Extracted {
                header: subject.as_deref().unwrap_or("?"),
            }
        } else {
            TraceEvent::Statement {
                op,
                subject: subject.as_deref(),
                wrote: target.map(|t| named(t, phv)),
                action: self.action,
                source: position.as_ref(),
            }
        };
        self.sink.event(self.packet, self.now_ns, &event);
    }
}

fn named<'v>(target: &'v Target, phv: &'v [u64]) -> Named<'v> {
    let at = usize::from(target.slot);
    Named {
        name: &target.name,
        value: TraceValue {
            words: phv
                .get(at..at + usize::from(words(target.width)))
                .unwrap_or_default(),
            width: target.width,
        },
    }
}

/// A name that P4 gives, not the compiler: these are qualified by a control.
fn from_p4(name: &str) -> Option<&str> {
    (name.contains('.') || name == "NoAction").then_some(name)
}

impl Tracer for Recorder<'_> {
    const ENABLED: bool = true;

    fn pass(&mut self, name: &'static str) {
        self.table = None;
        self.action = None;
        self.statement = None;
        self.tell(&TraceEvent::Pass { name });
    }

    fn mark(&mut self, place: u32, phv: &[u64]) {
        let index = place as usize;
        let Some(place) = self.place(index) else {
            return;
        };
        match place {
            Place::State { name } => {
                self.state = name;
                self.tell(&TraceEvent::State { name });
            }
            Place::Accept => self.tell(&TraceEvent::Accepted),
            Place::Select { parts } => {
                let key: Vec<Named> = parts.iter().map(|part| named(part, phv)).collect();
                self.tell(&TraceEvent::Select { key: &key });
            }
            Place::Before { .. } => self.statement = Some(index),
            Place::After { target, from } => self.statement_done(target.as_ref(), *from, phv),
            Place::Action { index, node: None } => {
                let action = self.program.actions.get(*index as usize);
                self.action = action.map(|a| a.name.as_str());
            }
            Place::Action {
                index,
                node: Some(node),
            } => {
                let action = self.program.actions.get(*index as usize);
                self.action = action.and_then(|a| from_p4(&a.name));
                self.table = from_p4(node);
                if let Some(action) = self.action {
                    let table = self.table;
                    self.tell(&TraceEvent::Call { action, table });
                }
            }
            Place::Checksum {
                field,
                computed,
                position,
            } => {
                let at = usize::from(*computed);
                let field = named(field, phv);
                self.tell(&TraceEvent::Checksum {
                    field,
                    expected: TraceValue {
                        words: phv.get(at..=at).unwrap_or_default(),
                        width: field.value.width,
                    },
                    source: position.as_ref(),
                });
            }
            Place::Condition { .. } => self.statement = Some(index),
            Place::Outcome(outcome) => {
                let source = match self.statement.and_then(|at| self.place(at)) {
                    Some(Place::Condition { position }) => position.as_ref(),
                    _ => None,
                };
                let outcome = *outcome;
                self.tell(&TraceEvent::Condition { source, outcome });
            }
        }
    }

    fn applied(
        &mut self,
        table: usize,
        entry: Option<&EntryKey>,
        action: u16,
        mut args: &[u64],
        phv: &[u64],
    ) {
        let program = self.program;
        let (Some(schema), Some(code)) =
            (program.tables.get(table), program.traced.tables.get(table))
        else {
            return;
        };
        let action = schema
            .actions
            .get(usize::from(action))
            .and_then(|a| program.actions.get(a.0 as usize));
        self.table = Some(&schema.name);
        // What the machine compares: 0 for a field of an invalid header.
        let mut key_words = Vec::new();
        for source in &code.keys {
            let valid = phv[usize::from(source.valid)] != 0;
            let mut value = [0; 2];
            for (word, value) in value.iter_mut().enumerate() {
                if valid && 64 * word < usize::from(source.width) {
                    let bits = (source.width - 64 * word as u16).min(64);
                    *value = phv[usize::from(source.slot) + word]
                        & mask(bits as u8)
                        & (source.mask >> (64 * word)) as u64;
                }
            }
            key_words.push((value, valid));
        }
        let key: Vec<KeyPart> = schema
            .keys
            .iter()
            .zip(&key_words)
            .map(|(key, (words, is_valid))| KeyPart {
                field: Named {
                    name: &key.name,
                    value: TraceValue {
                        words,
                        width: key.width,
                    },
                },
                is_valid: *is_valid,
            })
            .collect();
        let params = action.map(|a| a.params.as_slice()).unwrap_or_default();
        let args: Vec<Named> = params
            .iter()
            .map_while(|param| {
                let (words, others) = args.split_at_checked(param.words())?;
                args = others;
                let width = param.width;
                let value = TraceValue { words, width };
                Some(Named {
                    name: &param.name,
                    value,
                })
            })
            .collect();
        self.tell(&TraceEvent::Table {
            table: &schema.name,
            hit: entry.is_some(),
            key: &key,
            entry: entry.map(|e| e.matches.as_slice()).unwrap_or_default(),
            priority: entry.map_or(0, |e| e.priority),
            action: action.map_or("?", |a| a.name.as_str()),
            args: &args,
        });
    }

    fn returned(&mut self) {
        self.action = None;
        self.table = None;
        self.tell(&TraceEvent::ActionEnd);
    }

    fn parser_error(&mut self, error: u64) {
        let names = &self.program.traced.error_names;
        let error = names.iter().find(|(_, number)| *number == error);
        let op = match self.statement.and_then(|at| self.place(at)) {
            Some(Place::Before { op, subject, .. }) => match subject {
                Some(subject) if op.starts_with("extract") => format!("{op} {subject}"),
                _ => op.clone(),
            },
            _ => "select".to_owned(),
        };
        let state = self.state;
        self.tell(&TraceEvent::ParserError {
            error: error.map_or("?", |(name, _)| name.as_str()),
            state,
            statement: &op,
        });
    }

    fn marked_to_drop(&mut self, spec: Slot) {
        let here = self.here();
        if spec == self.program.traced.standard.egress_spec {
            self.cause = here;
        } else {
            self.copies.retain(|(slot, _)| *slot != spec);
            self.copies.push((spec, here));
        }
    }

    fn assertion_failed(&mut self) {
        self.cause = self.here();
        self.failed = true;
    }
}
