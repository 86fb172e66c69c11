// SPDX-License-Identifier: Apache-2.0
//! BMv2 JSON as text: the parts of the format that the lowering reads
//! (behavioral-model, docs/JSON_format.md, version 2.x).

use crate::error::{LoadError, SourcePosition};
use num_bigint::{BigInt, Sign};
use serde::Deserialize;
use serde_json::Value;

#[derive(Debug, Deserialize)]
pub(crate) struct Document {
    #[serde(default)]
    pub header_types: Vec<HeaderType>,
    #[serde(default)]
    pub headers: Vec<Header>,
    #[serde(default)]
    pub header_stacks: Vec<HeaderStack>,
    #[serde(default)]
    pub header_union_types: Vec<HeaderUnionType>,
    #[serde(default)]
    pub header_unions: Vec<HeaderUnion>,
    #[serde(default)]
    pub header_union_stacks: Vec<HeaderUnionStack>,
    #[serde(default)]
    pub errors: Vec<(String, u64)>,
    pub parsers: Vec<Parser>,
    #[serde(default)]
    pub parse_vsets: Vec<ParseVset>,
    pub deparsers: Vec<Deparser>,
    #[serde(default)]
    pub meter_arrays: Vec<MeterArray>,
    #[serde(default)]
    pub counter_arrays: Vec<CounterArray>,
    #[serde(default)]
    pub register_arrays: Vec<RegisterArray>,
    #[serde(default)]
    pub calculations: Vec<Calculation>,
    #[serde(default)]
    pub field_lists: Vec<FieldList>,
    #[serde(default)]
    pub learn_lists: Vec<FieldList>,
    #[serde(default)]
    pub actions: Vec<Action>,
    pub pipelines: Vec<Pipeline>,
    #[serde(default)]
    pub checksums: Vec<Checksum>,
    #[serde(default)]
    pub extern_instances: Vec<Named>,
    #[serde(default)]
    pub field_aliases: Vec<(String, (String, String))>,
    /// The P4 source's name.
    #[serde(default)]
    pub program: Value,
    #[serde(default, rename = "__meta__")]
    pub meta: Value,
}

/// An object of which only the name matters, because it is refused.
#[derive(Debug, Deserialize)]
pub(crate) struct Named {
    pub name: String,
    pub source_info: Option<SourceInfo>,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct SourceInfo {
    #[serde(default)]
    filename: String,
    #[serde(default)]
    line: u64,
    #[serde(default)]
    column: u64,
    #[serde(default)]
    source_fragment: String,
}

/// The position in the form that errors carry.
pub(crate) fn position(info: &Option<SourceInfo>) -> Option<SourcePosition> {
    info.as_ref().map(|i| SourcePosition {
        file: i.filename.clone(),
        line: i.line,
        column: i.column,
        fragment: i.source_fragment.clone(),
    })
}

#[derive(Debug, Deserialize)]
pub(crate) struct HeaderType {
    pub name: String,
    pub fields: Vec<Value>,
    pub max_length: Option<u64>,
    pub source_info: Option<SourceInfo>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Header {
    pub name: String,
    pub id: u64,
    pub header_type: String,
    #[serde(default)]
    pub metadata: bool,
    pub source_info: Option<SourceInfo>,
}

/// What clones and the like keep, or a digest consists of.
#[derive(Debug, Deserialize)]
pub(crate) struct FieldList {
    pub id: u64,
    pub name: String,
    #[serde(default)]
    pub elements: Vec<Operand>,
    pub source_info: Option<SourceInfo>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct HeaderStack {
    pub name: String,
    pub header_ids: Vec<u64>,
    pub source_info: Option<SourceInfo>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct HeaderUnionType {
    pub name: String,
    /// Names and types of the members.
    pub headers: Vec<(String, String)>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct HeaderUnion {
    pub name: String,
    pub id: u64,
    pub header_ids: Vec<u64>,
    pub source_info: Option<SourceInfo>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct HeaderUnionStack {
    pub name: String,
    pub union_type: String,
    pub header_union_ids: Vec<u64>,
    pub source_info: Option<SourceInfo>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Parser {
    pub name: String,
    pub init_state: Option<String>,
    pub parse_states: Vec<ParseState>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ParseState {
    pub name: String,
    #[serde(default)]
    pub parser_ops: Vec<ParserOp>,
    #[serde(default)]
    pub transitions: Vec<Transition>,
    #[serde(default)]
    pub transition_key: Vec<Operand>,
    pub source_info: Option<SourceInfo>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ParserOp {
    pub op: String,
    #[serde(default)]
    pub parameters: Vec<Value>,
    pub source_info: Option<SourceInfo>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Transition {
    #[serde(rename = "type")]
    pub kind: Option<String>,
    pub value: Option<String>,
    pub mask: Option<String>,
    pub next_state: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ParseVset {
    pub name: String,
    pub compressed_bitwidth: u64,
    #[serde(default)]
    pub max_size: Option<usize>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Deparser {
    #[serde(default)]
    pub name: String,
    pub order: Vec<String>,
    #[serde(default)]
    pub primitives: Vec<Value>,
    pub source_info: Option<SourceInfo>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct CounterArray {
    pub name: String,
    #[serde(default)]
    pub is_direct: bool,
    pub size: Option<usize>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct MeterArray {
    pub name: String,
    #[serde(default)]
    pub is_direct: bool,
    #[serde(rename = "type")]
    pub kind: String,
    pub rate_count: Option<u64>,
    pub size: Option<usize>,
    /// Header and field that a direct meter's colour goes to.
    pub result_target: Option<(String, String)>,
    pub source_info: Option<SourceInfo>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ActionProfile {
    pub name: String,
    pub max_size: usize,
    pub selector: Option<Selector>,
    pub source_info: Option<SourceInfo>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Selector {
    pub algo: String,
    pub input: Vec<Value>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct RegisterArray {
    pub name: String,
    pub size: usize,
    pub bitwidth: u64,
    pub source_info: Option<SourceInfo>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Calculation {
    pub name: String,
    pub algo: String,
    pub input: Vec<Value>,
    pub source_info: Option<SourceInfo>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Checksum {
    pub name: String,
    /// Header and field.
    pub target: (String, String),
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(default)]
    pub calculation: String,
    #[serde(default = "yes")]
    pub verify: bool,
    #[serde(default = "yes")]
    pub update: bool,
    pub if_cond: Option<Operand>,
    pub source_info: Option<SourceInfo>,
}

fn yes() -> bool {
    true
}

#[derive(Debug, Deserialize)]
pub(crate) struct Action {
    pub name: String,
    pub id: u64,
    #[serde(default)]
    pub runtime_data: Vec<RuntimeData>,
    #[serde(default)]
    pub primitives: Vec<Primitive>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct RuntimeData {
    pub name: String,
    pub bitwidth: u64,
}

impl RuntimeData {
    /// Slots that an argument takes: parameters have up to 128 bits.
    pub fn slots(&self) -> usize {
        if self.bitwidth > 64 { 2 } else { 1 }
    }
}

#[derive(Debug, Deserialize)]
pub(crate) struct Primitive {
    pub op: String,
    #[serde(default)]
    pub parameters: Vec<Operand>,
    pub source_info: Option<SourceInfo>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Operand {
    #[serde(rename = "type")]
    pub kind: String,
    pub value: Value,
}

impl Operand {
    /// The name in an operand of the given kind.
    ///
    /// # Errors
    /// The operand is of another kind.
    pub fn name(&self, kind: &str) -> Result<&str, LoadError> {
        match self.value.as_str() {
            Some(name) if self.kind == kind => Ok(name),
            _ => Err(LoadError::new(format!(
                "an operand of kind {} where a {kind} is expected is not supported",
                self.kind
            ))),
        }
    }
}

#[derive(Debug, Deserialize)]
pub(crate) struct Pipeline {
    pub name: String,
    pub init_table: Option<String>,
    #[serde(default)]
    pub tables: Vec<Table>,
    #[serde(default)]
    pub action_profiles: Vec<ActionProfile>,
    #[serde(default)]
    pub conditionals: Vec<Conditional>,
    #[serde(default)]
    pub action_calls: Vec<ActionCallNode>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Table {
    pub name: String,
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(default)]
    pub key: Vec<Key>,
    #[serde(default)]
    pub max_size: usize,
    #[serde(default)]
    pub with_counters: bool,
    #[serde(default)]
    pub support_timeout: bool,
    pub direct_meters: Option<String>,
    pub action_profile: Option<String>,
    pub action_ids: Vec<u64>,
    pub actions: Vec<String>,
    pub base_default_next: Option<String>,
    #[serde(default)]
    pub next_tables: std::collections::BTreeMap<String, Option<String>>,
    pub default_entry: Option<DefaultEntry>,
    pub entries: Option<Vec<InitialEntry>>,
    pub source_info: Option<SourceInfo>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Key {
    pub match_type: String,
    pub name: Option<String>,
    pub target: Value,
    pub mask: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct DefaultEntry {
    pub action_id: u64,
    #[serde(default)]
    pub action_const: bool,
    #[serde(default)]
    pub action_data: Vec<String>,
    #[serde(default)]
    pub action_entry_const: bool,
}

#[derive(Debug, Deserialize)]
pub(crate) struct InitialEntry {
    pub match_key: Vec<InitialMatch>,
    pub action_entry: InitialAction,
    #[serde(default)]
    pub priority: i64,
    pub source_info: Option<SourceInfo>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct InitialMatch {
    pub key: Option<Value>,
    pub mask: Option<String>,
    pub prefix_length: Option<u16>,
    pub start: Option<String>,
    pub end: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct InitialAction {
    pub action_id: u64,
    #[serde(default)]
    pub action_data: Vec<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Conditional {
    pub name: String,
    pub expression: Operand,
    pub true_next: Option<String>,
    pub false_next: Option<String>,
    pub source_info: Option<SourceInfo>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ActionCallNode {
    pub name: String,
    pub action_id: u64,
    pub next_node: Option<String>,
}

/// Parses JSON into one of the types above.
pub(crate) fn from_value<T: serde::de::DeserializeOwned>(
    what: &str,
    value: &Value,
) -> Result<T, LoadError> {
    T::deserialize(value)
        .map_err(|e| LoadError::new(format!("the BMv2 JSON is malformed in {what}: {e}")))
}

/// A hexadecimal string with an optional sign: magnitude and whether negative.
pub(crate) fn hex(text: &str) -> Result<(u128, bool), LoadError> {
    let (negative, rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let digits = rest
        .strip_prefix("0x")
        .unwrap_or(rest)
        .trim_start_matches('0');
    if digits.is_empty() {
        return Ok((0, false));
    }
    u128::from_str_radix(digits, 16)
        .map(|v| (v, negative))
        .map_err(|_| {
            LoadError::new(format!(
                "the constant {text} is no hexadecimal number of at most 128 bits, \
             and wider ones are not supported"
            ))
        })
}

/// A hexadecimal string of any length with an optional sign.
pub(crate) fn big(text: &str) -> Result<BigInt, LoadError> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let digits = digits.strip_prefix("0x").unwrap_or(digits);
    let value = BigInt::parse_bytes(digits.as_bytes(), 16).filter(|v| v.sign() != Sign::Minus);
    let value = value
        .ok_or_else(|| LoadError::new(format!("the constant {text} is no hexadecimal number")))?;
    Ok(if negative { -value } else { value })
}

/// A hexadecimal string that must not be negative.
pub(crate) fn unsigned(text: &str) -> Result<u128, LoadError> {
    match hex(text)? {
        (value, false) => Ok(value),
        _ => Err(LoadError::new(format!(
            "the constant {text} must not be negative"
        ))),
    }
}

/// The value of an operand that must be a constant.
pub(crate) fn unsigned_operand(operand: &Operand) -> Result<u128, LoadError> {
    match (operand.kind.as_str(), operand.value.as_str()) {
        ("hexstr", Some(text)) => unsigned(text),
        _ => Err(LoadError::new(format!(
            "an operand of kind {} where a constant is expected is not supported",
            operand.kind
        ))),
    }
}
