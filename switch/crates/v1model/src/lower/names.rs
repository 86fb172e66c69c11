// SPDX-License-Identifier: Apache-2.0
//! Where a document has what its statements name.

use crate::error::LoadError;
use crate::json::{ActionProfile, Document, FieldList};
use crate::places::{first, places};
use std::collections::HashMap;

/// Places in the document's lists, by name or id; of what has the same, the first one's.
pub(super) struct Names<'d> {
    pub registers: HashMap<&'d str, usize>,
    /// Among the arrays that are not direct.
    pub counters: HashMap<&'d str, usize>,
    /// Among the arrays that are not direct.
    pub meters: HashMap<&'d str, usize>,
    /// Among all arrays.
    pub direct_meters: HashMap<&'d str, usize>,
    /// Those of all pipelines.
    pub profiles: Vec<&'d ActionProfile>,
    /// Among `profiles`.
    pub action_profiles: HashMap<&'d str, usize>,
    pub value_sets: HashMap<&'d str, usize>,
    pub calculations: HashMap<&'d str, usize>,
    pub field_lists: HashMap<u64, usize>,
    pub learn_lists: HashMap<u64, usize>,
}

impl<'d> Names<'d> {
    pub fn new(document: &'d Document) -> Self {
        let counters = document.counter_arrays.iter().filter(|c| !c.is_direct);
        let meters = document.meter_arrays.iter().filter(|m| !m.is_direct);
        let direct = document.meter_arrays.iter().enumerate();
        let direct = direct.filter(|(_, m)| m.is_direct);
        let profiles = document.pipelines.iter().flat_map(|p| &p.action_profiles);
        let profiles: Vec<&ActionProfile> = profiles.collect();
        let ids = |lists: &[FieldList]| places(lists.iter().map(|list| list.id));
        Names {
            registers: places(document.register_arrays.iter().map(|r| r.name.as_str())),
            counters: places(counters.map(|c| c.name.as_str())),
            meters: places(meters.map(|m| m.name.as_str())),
            direct_meters: first(direct.map(|(at, m)| (m.name.as_str(), at))),
            action_profiles: places(profiles.iter().map(|p| p.name.as_str())),
            profiles,
            value_sets: places(document.parse_vsets.iter().map(|v| v.name.as_str())),
            calculations: places(document.calculations.iter().map(|c| c.name.as_str())),
            field_lists: ids(&document.field_lists),
            learn_lists: ids(&document.learn_lists),
        }
    }
}

/// The place of a name, as instructions have it.
///
/// # Errors
/// There is none, or its number is too high for an instruction.
pub(super) fn index_of(
    places: &HashMap<&str, usize>,
    kind: &str,
    name: &str,
) -> Result<u16, LoadError> {
    let place = places.get(name).and_then(|at| u16::try_from(*at).ok());
    place.ok_or_else(|| {
        LoadError::new(format!(
            "the BMv2 JSON is malformed: there is no {kind} {name}"
        ))
    })
}
