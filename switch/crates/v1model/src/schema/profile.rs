// SPDX-License-Identifier: Apache-2.0
//! Action profiles and selectors (P4Runtime 1.5, section 9.2).

use super::{ActionCall, ActionId, TableId};

/// An action profile, or an action selector.
#[derive(Clone, Debug)]
pub struct ActionProfileSchema {
    /// Fully qualified P4 name.
    pub name: String,
    /// Most members; those of one-shots are not counted. For a selector also
    /// the most members (with their weights) of all groups and one-shots.
    pub size: usize,
    /// It selects by a hash, so entries may name groups.
    pub selector: bool,
    /// The actions that members may have.
    pub actions: Vec<ActionId>,
    /// The tables that use it.
    pub tables: Vec<TableId>,
}

/// An action that entries and groups refer to by its id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Chosen by the control plane; unique within the profile.
    pub id: u32,
    /// What it does.
    pub call: ActionCall,
}

/// A member's share of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupMember {
    /// The member's id.
    pub member: u32,
    /// Its share, at least 1.
    pub weight: u32,
    /// Not selected while this port is down.
    pub watch_port: Option<u16>,
}

/// A group of a selector: a packet gets one of its live members by a hash.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Group {
    /// Chosen by the control plane; unique within the selector.
    pub id: u32,
    /// Fixed when the group is inserted. P4Info says what it counts, so that only who reads P4Info
    /// compares the group with it.
    pub max_size: u32,
    /// The members; may be empty.
    pub members: Vec<GroupMember>,
}

/// One action of a one-shot, with its share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WeightedCall {
    /// What it does.
    pub call: ActionCall,
    /// Its share, at least 1.
    pub weight: u32,
    /// Not selected while this port is down.
    pub watch_port: Option<u16>,
}
