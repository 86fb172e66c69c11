// SPDX-License-Identifier: Apache-2.0
//! Longest prefix match: a tree bitmap (Eatherton, Varghese and Dittia, 2004)
//! of six bits a node, without nodes that have but one child. A lookup reads
//! about one cache line for each node on the way, whatever prefix lengths
//! there are; a change touches the nodes on its way only.

/// Bits that a node decides on.
const STRIDE: u32 = 6;

/// For each value of a node's bits, the prefixes of length 0 to 5 that match
/// it; longer ones on higher bits. Prefix `v` of length `l` is bit `2^l - 1 + v`.
const MATCHES: [u64; 64] = {
    let mut all = [0; 64];
    let mut chunk = 0;
    while chunk < 64 {
        let mut length = 0;
        while length < STRIDE {
            all[chunk] |= 1 << prefix_bit(chunk, length);
            length += 1;
        }
        chunk += 1;
    }
    all
};

const fn prefix_bit(chunk: usize, length: u32) -> u32 {
    (1 << length) - 1 + (chunk >> (STRIDE - length)) as u32
}

/// An address, or the start of one, in the upper bits; what is behind is 0.
pub(crate) trait Address: Copy {
    /// How many bits from the top are the same.
    fn same(self, other: Self) -> u32;
    /// The six bits behind the first `depth`, which are less than all.
    fn chunk(self, depth: u32) -> usize;
    /// The first `depth` bits, which are less than all.
    fn start(self, depth: u32) -> Self;
}

impl Address for u64 {
    #[inline(always)]
    fn same(self, other: Self) -> u32 {
        (self ^ other).leading_zeros()
    }

    #[inline(always)]
    fn chunk(self, depth: u32) -> usize {
        ((self << depth) >> (64 - STRIDE)) as usize
    }

    fn start(self, depth: u32) -> Self {
        self & !(u64::MAX >> depth)
    }
}

impl Address for u128 {
    #[inline(always)]
    fn same(self, other: Self) -> u32 {
        (self ^ other).leading_zeros()
    }

    #[inline(always)]
    fn chunk(self, depth: u32) -> usize {
        ((self << depth) >> (128 - STRIDE)) as usize
    }

    fn start(self, depth: u32) -> Self {
        self & !(u128::MAX >> depth)
    }
}

/// Prefixes and their entries.
#[derive(Clone, Debug)]
pub(crate) struct Trie<A> {
    /// The bits in front of this node's.
    start: A,
    /// How many they are; a multiple of the stride.
    depth: u32,
    /// Prefixes that end within this node; see [`MATCHES`].
    prefixes: u64,
    /// Values of this node's bits that have a child.
    nodes: u64,
    children: Vec<Trie<A>>,
    /// Entries of the prefixes, in the order of their bits.
    entries: Vec<u32>,
}

/// Place in a list that has an element for each bit below.
#[inline(always)]
fn rank(bits: u64, bit: u32) -> usize {
    (bits & ((1 << bit) - 1)).count_ones() as usize
}

impl<A: Address + Default> Trie<A> {
    /// Without prefixes.
    pub fn new() -> Self {
        Self::node(A::default(), 0)
    }

    fn node(start: A, depth: u32) -> Self {
        Trie {
            start,
            depth,
            prefixes: 0,
            nodes: 0,
            children: Vec::new(),
            entries: Vec::new(),
        }
    }

    /// Whether there is no prefix.
    pub fn is_empty(&self) -> bool {
        self.prefixes == 0 && self.nodes == 0
    }

    /// The entry of the longest prefix of the address.
    #[inline]
    pub fn find(&self, address: A) -> Option<u32> {
        let mut node = self;
        let mut best: Option<(&Self, u32)> = None;
        while address.same(node.start) >= node.depth {
            let chunk = address.chunk(node.depth);
            let prefixes = node.prefixes & MATCHES[chunk];
            if prefixes != 0 {
                best = Some((node, 63 - prefixes.leading_zeros()));
            }
            if node.nodes >> chunk & 1 == 0 {
                break;
            }
            node = &node.children[rank(node.nodes, chunk as u32)];
        }
        best.map(|(node, bit)| node.entries[rank(node.prefixes, bit)])
    }

    /// Adds a prefix, or gives it another entry. Its bits behind `length` are 0.
    pub fn insert(&mut self, prefix: A, length: u32, entry: u32) {
        let depth = length / STRIDE * STRIDE;
        let common = prefix.same(self.start).min(depth);
        if common < self.depth {
            // The ways part before this node.
            let parent = Self::node(
                prefix.start(common / STRIDE * STRIDE),
                common / STRIDE * STRIDE,
            );
            let child = std::mem::replace(self, parent);
            self.nodes = 1 << child.start.chunk(self.depth);
            self.children.push(child);
        }
        let chunk = prefix.chunk(self.depth);
        if self.depth == depth {
            let bit = prefix_bit(chunk, length - depth);
            let at = rank(self.prefixes, bit);
            if self.prefixes >> bit & 1 == 0 {
                self.prefixes |= 1 << bit;
                self.entries.insert(at, entry);
            } else {
                self.entries[at] = entry;
            }
            return;
        }
        let at = rank(self.nodes, chunk as u32);
        if self.nodes >> chunk & 1 == 0 {
            self.nodes |= 1 << chunk;
            self.children
                .insert(at, Self::node(prefix.start(depth), depth));
        }
        self.children[at].insert(prefix, length, entry);
    }

    /// Removes a prefix.
    pub fn remove(&mut self, prefix: A, length: u32) {
        let depth = length / STRIDE * STRIDE;
        if depth < self.depth || prefix.same(self.start) < self.depth {
            return;
        }
        let chunk = prefix.chunk(self.depth);
        if self.depth == depth {
            let bit = prefix_bit(chunk, length - depth);
            if self.prefixes >> bit & 1 == 1 {
                self.entries.remove(rank(self.prefixes, bit));
                self.prefixes &= !(1 << bit);
            }
            return;
        }
        if self.nodes >> chunk & 1 == 0 {
            return;
        }
        let at = rank(self.nodes, chunk as u32);
        let child = &mut self.children[at];
        child.remove(prefix, length);
        if child.is_empty() {
            self.children.remove(at);
            self.nodes &= !(1 << chunk);
        } else if child.prefixes == 0 && child.children.len() == 1 {
            if let Some(only) = child.children.pop() {
                *child = only;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn cut(address: u128, length: u32) -> u128 {
        if length == 0 {
            0
        } else {
            address & (u128::MAX << (128 - length))
        }
    }

    /// Addresses that share their beginnings.
    fn address() -> impl Strategy<Value = u128> {
        (
            0u128..8,
            0u32..40,
            0u128..16,
            0u32..125,
            any::<u128>(),
            0u32..129,
        )
            .prop_map(|(a, i, b, j, c, k)| {
                (a << 125) ^ (a << (125 - i)) ^ (b << j) ^ (c.checked_shr(k).unwrap_or(0))
            })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        #[test]
        fn the_longest_prefix_wins(
            steps in prop::collection::vec((any::<bool>(), address(), 0u32..=128), 0..120),
            probes in prop::collection::vec(address(), 1..60),
        ) {
            let mut wide = Trie::<u128>::new();
            let mut narrow = Trie::<u64>::new();
            let mut model: BTreeMap<(u32, u128), u32> = BTreeMap::new();
            let mut narrow_model: BTreeMap<(u32, u128), u32> = BTreeMap::new();
            let mut known = probes;
            for (at, (insert, address, length)) in steps.into_iter().enumerate() {
                let entry = at as u32;
                let prefix = cut(address, length);
                let short = length.min(64);
                let start = cut(address, short);
                known.push(address);
                if insert {
                    wide.insert(prefix, length, entry);
                    model.insert((length, prefix), entry);
                    narrow.insert((start >> 64) as u64, short, entry);
                    narrow_model.insert((short, start), entry);
                } else {
                    // Of what is there, one in the same neighbourhood.
                    let next = model.range((length, prefix)..).next().map(|(k, _)| *k);
                    if let Some((length, prefix)) = next {
                        wide.remove(prefix, length);
                        model.remove(&(length, prefix));
                    }
                    wide.remove(prefix, length);
                    model.remove(&(length, prefix));
                    narrow.remove((start >> 64) as u64, short);
                    narrow_model.remove(&(short, start));
                }
                prop_assert_eq!(wide.is_empty(), model.is_empty());
                prop_assert_eq!(narrow.is_empty(), narrow_model.is_empty());
            }
            let best = |model: &BTreeMap<(u32, u128), u32>, address: u128| {
                let mut matching = model.iter().rev().filter(|((l, p), _)| cut(address, *l) == *p);
                matching.next().map(|(_, entry)| *entry)
            };
            for address in known {
                prop_assert_eq!(wide.find(address), best(&model, address));
                let start = cut(address, 64);
                prop_assert_eq!(narrow.find((start >> 64) as u64), best(&narrow_model, start));
            }
        }
    }
}
