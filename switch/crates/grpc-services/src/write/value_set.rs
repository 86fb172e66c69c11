// SPDX-License-Identifier: Apache-2.0
//! Parser value sets.

use tonic::Code;

use super::{find, only_modify};
use crate::entry;
use crate::failure::Failure;
use crate::op::Op;
use crate::proto::p4::v1 as p4;
use crate::proto::p4::v1::update::Type;
use crate::schema::Schema;

pub fn entry(schema: &Schema, kind: Type, given: &p4::ValueSetEntry) -> Result<Op, Failure> {
    only_modify("value set", kind)?;
    let set = find(
        &schema.value_sets,
        "value set",
        "value_set_id",
        given.value_set_id,
    )?;
    let of = || format!("value set {}", set.name);
    if given.members.len() > set.size {
        return Err(Failure::new(
            Code::ResourceExhausted,
            format!(
                "{}: {} members are given, and its size is {}",
                of(),
                given.members.len(),
                set.size
            ),
        ));
    }
    let mut members = Vec::with_capacity(given.members.len());
    for member in &given.members {
        let matches = entry::read_matches(&set.fields, &of, &member.r#match)?;
        if members.contains(&matches) {
            return Err(Failure::new(
                Code::AlreadyExists,
                format!("{}: a member is given twice", of()),
            ));
        }
        members.push(matches);
    }
    Ok(Op::ValueSet(Box::new((set.set, members))))
}
