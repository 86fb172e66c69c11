// SPDX-License-Identifier: Apache-2.0
//! Maps from what things are called to where they are. Lists that are looked through for each
//! statement of a program would make loading take hours.

use std::collections::HashMap;
use std::hash::Hash;

/// The places of some things in a list; of equal ones the first counts.
pub(crate) fn places<K: Eq + Hash>(list: impl IntoIterator<Item = K>) -> HashMap<K, usize> {
    first(list.into_iter().enumerate().map(|(at, key)| (key, at)))
}

/// A map in which of equal keys the first counts.
pub(crate) fn first<K: Eq + Hash, V>(list: impl IntoIterator<Item = (K, V)>) -> HashMap<K, V> {
    let mut map = HashMap::new();
    for (key, value) in list {
        map.entry(key).or_insert(value);
    }
    map
}
