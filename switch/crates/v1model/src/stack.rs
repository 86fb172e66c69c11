// SPDX-License-Identifier: Apache-2.0
//! Header stacks and unions: which headers they are made of, and where.

use crate::error::LoadError;
use crate::header::Header;
use crate::json::{self, Document};

use crate::op::Slot;
use crate::places::{first, places};
use std::collections::HashMap;

/// A stack of headers, or of unions of headers.
#[derive(Clone, Debug)]
pub(crate) struct Stack {
    pub name: String,
    /// Slot of the number of elements that the parser has filled, P4's
    /// `nextIndex`; the elements follow it.
    pub next: Slot,
    /// Slots from one element to the next.
    pub stride: u16,
    /// Elements.
    pub size: u16,
    /// Slots of the stack, `next` included.
    pub slots: u16,
    /// Indices of the headers, element by element.
    pub headers: Vec<usize>,
    /// Headers of an element: 1, or the members of a union.
    pub per_element: usize,
    /// Names of the union's members; empty for a stack of headers.
    pub members: Vec<String>,
}

impl Stack {
    /// First slot of the first element.
    pub fn first(&self) -> Slot {
        self.next + 1
    }

    /// The header that is the given member of an element.
    pub fn header(&self, element: usize, member: usize) -> usize {
        self.headers[element * self.per_element + member]
    }
}

/// A header union, on its own or in a stack.
#[derive(Clone, Debug)]
pub(crate) struct Union {
    pub name: String,
    /// Indices of the members.
    pub headers: Vec<usize>,
}

/// Most headers of a union. Each of them knows all others, which end when it becomes valid.
const MEMBERS: usize = 256;

/// What the document says about stacks and unions, in indices of its headers.
pub(crate) struct Shape<'d> {
    pub stacks: Vec<StackShape<'d>>,
    /// The stack that each header is in.
    pub stack_of: Vec<Option<usize>>,
    unions: Vec<Union>,
}

pub(crate) struct StackShape<'d> {
    name: &'d str,
    pub headers: Vec<usize>,
    per_element: usize,
    members: Vec<String>,
}

impl<'d> Shape<'d> {
    pub fn has_no_unions(&self) -> bool {
        self.unions.is_empty()
    }

    pub fn new(document: &'d Document) -> Result<Shape<'d>, LoadError> {
        let by_id: HashMap<u64, usize> = document
            .headers
            .iter()
            .enumerate()
            .map(|(i, h)| (h.id, i))
            .collect();
        let headers = |of: &str, ids: &[u64]| -> Result<Vec<usize>, LoadError> {
            ids.iter()
                .map(|id| {
                    by_id.get(id).copied().ok_or_else(|| {
                        malformed(format!("{of} has a header with the unknown id {id}"))
                    })
                })
                .collect()
        };
        let mut unions = Vec::new();
        for union in &document.header_unions {
            if union.header_ids.len() > MEMBERS {
                return Err(LoadError::new(format!(
                    "the union {} has {} headers; at most {MEMBERS} are supported",
                    union.name,
                    union.header_ids.len()
                ))
                .at(json::position(&union.source_info)));
            }
            unions.push(Union {
                name: union.name.clone(),
                headers: headers(&union.name, &union.header_ids)
                    .map_err(|e| e.at(json::position(&union.source_info)))?,
            });
        }
        let types = document.header_union_types.iter();
        let types = first(types.map(|t| (t.name.as_str(), t)));
        let numbers = places(document.header_unions.iter().map(|union| union.id));
        let mut stacks = Vec::new();
        for stack in &document.header_stacks {
            stacks.push(StackShape {
                name: &stack.name,
                headers: headers(&stack.name, &stack.header_ids)
                    .map_err(|e| e.at(json::position(&stack.source_info)))?,
                per_element: 1,
                members: Vec::new(),
            });
        }
        for stack in &document.header_union_stacks {
            let at = || json::position(&stack.source_info);
            let union_type = types
                .get(stack.union_type.as_str())
                .ok_or_else(|| malformed(format!("{} has an unknown type", stack.name)).at(at()))?;
            let members: Vec<String> = union_type.headers.iter().map(|m| m.0.clone()).collect();
            let mut all = Vec::new();
            for id in &stack.header_union_ids {
                let union = numbers
                    .get(id)
                    .copied()
                    .filter(|u| unions[*u].headers.len() == members.len())
                    .ok_or_else(|| {
                        malformed(format!("{} has no union with the id {id}", stack.name)).at(at())
                    })?;
                all.extend_from_slice(&unions[union].headers);
                if all.len() > document.headers.len() {
                    return Err(malformed(format!("{} has a union twice", stack.name)).at(at()));
                }
            }
            stacks.push(StackShape {
                name: &stack.name,
                headers: all,
                per_element: members.len(),
                members,
            });
        }
        let mut stack_of = vec![None; document.headers.len()];
        for (index, stack) in stacks.iter().enumerate() {
            if stack.headers.is_empty() {
                return Err(malformed(format!("the stack {} is empty", stack.name)));
            }
            for header in &stack.headers {
                if stack_of[*header].replace(index).is_some() {
                    let name = &document.headers[*header].name;
                    return Err(malformed(format!("header {name} is in two stacks")));
                }
            }
        }
        Ok(Shape {
            stacks,
            stack_of,
            unions,
        })
    }

    /// The stacks, now that the headers have their slots. `first`: the slot
    /// of each stack's `next`.
    pub fn stacks(&self, first: &[usize], headers: &[Header]) -> Result<Vec<Stack>, LoadError> {
        let mut stacks = Vec::new();
        for (shape, first) in self.stacks.iter().zip(first) {
            let size = shape.headers.len() / shape.per_element;
            let types = |element: usize| {
                let from = element * shape.per_element;
                shape.headers[from..from + shape.per_element]
                    .iter()
                    .map(|h| headers[*h].header_type.as_str())
            };
            if (1..size).any(|element| !types(element).eq(types(0))) {
                return Err(malformed(format!(
                    "the elements of stack {} have different types",
                    shape.name
                )));
            }
            let stride: usize = shape.headers[..shape.per_element]
                .iter()
                .map(|h| usize::from(headers[*h].slots))
                .sum();
            let narrow = |value: usize| {
                u16::try_from(value)
                    .map_err(|_| LoadError::new(format!("the stack {} is too large", shape.name)))
            };
            stacks.push(Stack {
                name: shape.name.to_owned(),
                next: narrow(*first)?,
                stride: narrow(stride)?,
                size: narrow(size)?,
                slots: narrow(1 + stride * size)?,
                headers: shape.headers.clone(),
                per_element: shape.per_element,
                members: shape.members.clone(),
            });
        }
        Ok(stacks)
    }

    /// The unions; notes in each member which headers its validity ends.
    pub fn unions(self, headers: &mut [Header]) -> Vec<Union> {
        for union in &self.unions {
            for member in &union.headers {
                let others = union.headers.iter().filter(|h| *h != member);
                headers[*member].rivals = others.map(|h| headers[*h].valid).collect();
            }
        }
        self.unions
    }
}

fn malformed(what: String) -> LoadError {
    LoadError::new(format!("the BMv2 JSON is malformed: {what}"))
}
