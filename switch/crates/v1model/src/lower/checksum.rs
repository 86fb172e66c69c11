// SPDX-License-Identifier: Apache-2.0
//! Hashes and checksums: what is verified behind the parser and updated in
//! front of the deparser.

use super::Lowering;
use super::emit::Label;
use super::parser::the_one;
use crate::calculation::{Calculation, Input};
use crate::error::{LoadError, SourcePosition};
use crate::expr::Expr;
use crate::hash::Algorithm;
use crate::header::Field;
use crate::json::{self, Checksum, Operand, Primitive};
use crate::op::{Op, Slot};
use crate::trace::{Place, Target};
use serde_json::Value;

impl Lowering<'_> {
    /// Code that verifies the checksums, at the end of the parser, whether it
    /// accepted or stopped with an error.
    pub fn verify_checksums(&mut self) -> Result<(), LoadError> {
        let document = self.document;
        for checksum in document.checksums.iter().filter(|c| c.verify) {
            self.verify_checksum(checksum)
                .map_err(|e| e.at(json::position(&checksum.source_info)))?;
            self.emitter.release_temporaries();
        }
        Ok(())
    }

    fn verify_checksum(&mut self, checksum: &Checksum) -> Result<(), LoadError> {
        let (valid, field) = self.checksum_target(checksum)?;
        let done = self.emitter.label();
        self.emitter.push(Op::JumpIfNot {
            a: valid,
            to: done.0,
        });
        self.checksum_condition(checksum, done)?;
        self.mark_checksum(checksum, "verify_checksum");
        let a = self.checksum_value(checksum)?;
        self.emitter.mark(|| Place::Checksum {
            field: checksum_field(checksum, &field),
            computed: a,
            position: json::position(&checksum.source_info),
        });
        let d = self.layout.standard_or_absent("checksum_error");
        self.emitter.push(Op::JumpEq {
            a,
            b: field.slot,
            to: done.0,
        });
        let one = self.emitter.constant(1)?;
        self.emitter.push(Op::Mov { d, a: one });
        self.emitter.bind(done);
        Ok(())
    }

    /// Code that runs before a packet is put together; none when there is
    /// nothing to do.
    pub fn deparser(&mut self) -> Result<Option<Label>, LoadError> {
        let document = self.document;
        let primitives = &the_one(&document.deparsers, "deparser", |d| &d.name)?.primitives;
        if !document.checksums.iter().any(|c| c.update) && primitives.is_empty() {
            return Ok(None);
        }
        let start = self.emitter.label();
        self.emitter.bind(start);
        for checksum in document.checksums.iter().filter(|c| c.update) {
            self.update_checksum(checksum)
                .map_err(|e| e.at(json::position(&checksum.source_info)))?;
            self.emitter.release_temporaries();
        }
        for value in primitives {
            let primitive: Primitive = json::from_value("a deparser's primitive", value)?;
            self.emitter.statement()?;
            self.primitive(&primitive, &[])
                .map_err(|e| e.at(json::position(&primitive.source_info)))?;
            self.emitter.release_temporaries();
        }
        self.emitter.push(Op::End);
        Ok(Some(start))
    }

    fn update_checksum(&mut self, checksum: &Checksum) -> Result<(), LoadError> {
        let (_, field) = self.checksum_target(checksum)?;
        let done = self.emitter.label();
        self.checksum_condition(checksum, done)?;
        self.mark_checksum(checksum, "update_checksum");
        let slot = self.checksum_value(checksum)?;
        let value = Expr::Load {
            slot,
            width: 64,
            signed: false,
        };
        self.emitter.assign(&field, &value)?;
        self.emitter.mark(|| Place::After {
            target: Some(checksum_field(checksum, &field)),
            from: None,
        });
        let (header, _) = &checksum.target;
        let header = self.layout.header(header)?;
        if !header.metadata {
            let (d, a) = (header.raw, self.emitter.constant(0)?);
            self.emitter.push(Op::Mov { d, a });
        }
        self.emitter.bind(done);
        Ok(())
    }

    fn mark_checksum(&mut self, checksum: &Checksum, op: &str) {
        self.emitter.mark(|| Place::Before {
            op: op.to_owned(),
            subject: Some(format!("{}.{}", checksum.target.0, checksum.target.1)),
            position: json::position(&checksum.source_info),
        });
    }

    /// Validity of the header, and the field.
    fn checksum_target(&self, checksum: &Checksum) -> Result<(Slot, Field), LoadError> {
        if checksum.kind != "generic" {
            return Err(LoadError::new(format!(
                "checksum {} of type {} is not supported",
                checksum.name, checksum.kind
            )));
        }
        let (header, field) = &checksum.target;
        let (header, field) = self.layout.field(header, field)?;
        if field.var {
            return Err(LoadError::new(format!(
                "checksum {} has the varbit field {} for its target",
                checksum.name, field.name
            )));
        }
        Ok((header.valid, field))
    }

    fn checksum_condition(&mut self, checksum: &Checksum, no: Label) -> Result<(), LoadError> {
        if let Some(condition) = &checksum.if_cond {
            let condition = Expr::parse(&self.layout, &[], condition)?.into_bool();
            self.emitter.branch(&condition, false, no)?;
        }
        Ok(())
    }

    fn checksum_value(&mut self, checksum: &Checksum) -> Result<Slot, LoadError> {
        let calculation = self.calculation(&checksum.calculation)?;
        let d = self.emitter.temporary(1)?;
        self.emitter.push(Op::Checksum { d, calculation });
        Ok(d)
    }

    /// Index of a calculation by its name.
    pub fn calculation(&mut self, name: &str) -> Result<u16, LoadError> {
        let document = self.document;
        let found = self.names.calculations.get(name).ok_or_else(|| {
            LoadError::new(format!(
                "the BMv2 JSON is malformed: there is no calculation {name}"
            ))
        })?;
        let found = &document.calculations[*found];
        let at = json::position(&found.source_info);
        self.hash(&found.algo, &found.input, at)
    }

    /// A hash over inputs; gives its index among the calculations.
    pub fn hash(
        &mut self,
        algo: &str,
        inputs: &[Value],
        at: Option<SourcePosition>,
    ) -> Result<u16, LoadError> {
        let algorithm = Algorithm::from_name(algo).ok_or_else(|| {
            LoadError::new(format!("the hash algorithm {algo} is not supported")).at(at.clone())
        })?;
        let mut calculation = Calculation {
            algorithm,
            inputs: Vec::new(),
            payload: false,
        };
        for input in inputs {
            let before = calculation.inputs.len();
            self.hash_input(input, &mut calculation)
                .map_err(|e| e.at(at.clone()))?;
            let added = &calculation.inputs[before..];
            let bytes = added.iter().map(Input::bytes).sum();
            self.emitter.keep(bytes).map_err(|e| e.at(at.clone()))?;
        }
        self.calculations.push(calculation);
        u16::try_from(self.calculations.len() - 1)
            .map_err(|_| LoadError::new("the program has more hashes than are supported"))
    }

    fn hash_input(&self, input: &Value, to: &mut Calculation) -> Result<(), LoadError> {
        let operand: Operand = json::from_value("a calculation", input)?;
        let field = |valid: Slot, field: &Field| {
            if field.var {
                Input::Var {
                    slot: field.slot,
                    valid,
                }
            } else {
                Input::Field {
                    slot: field.slot,
                    width: field.width,
                    valid,
                }
            }
        };
        match operand.kind.as_str() {
            "field" => {
                let (header, name): (String, String) =
                    json::from_value("a calculation", &operand.value)?;
                let (header, found) = self.layout.field(&header, &name)?;
                to.inputs.push(field(header.valid, &found));
            }
            "header" => {
                let header = operand.value.as_str().unwrap_or_default();
                let header = self.layout.header(header)?;
                let fields = header.fields.iter().map(|f| field(header.valid, f));
                to.inputs.extend(fields);
            }
            "hexstr" => {
                let width = input.get("bitwidth").and_then(Value::as_u64);
                let width = width.and_then(|w| u16::try_from(w).ok());
                let value = operand.value.as_str().map(json::big).transpose()?;
                let (Some(value), Some(width)) = (value, width) else {
                    return Err(LoadError::new(format!(
                        "the BMv2 JSON is malformed: a calculation has the input {input}"
                    )));
                };
                to.inputs.push(Input::Constant {
                    value: crate::wide::cut(&value, width).into(),
                    width,
                });
            }
            "payload" => to.payload = true,
            other => {
                return Err(LoadError::new(format!(
                    "a hash over a {other} is not supported"
                )));
            }
        }
        Ok(())
    }
}

/// The field that holds a checksum.
fn checksum_field(checksum: &Checksum, field: &Field) -> Target {
    Target {
        name: format!("{}.{}", checksum.target.0, checksum.target.1),
        slot: field.slot,
        width: field.width,
    }
}
