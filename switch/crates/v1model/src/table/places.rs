// SPDX-License-Identifier: Apache-2.0
//! A list with holes: the lowest free place is taken first, as BMv2 gives out
//! handles, and places never move.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::{Index, IndexMut};

#[derive(Clone, Debug)]
pub(crate) struct Places<T> {
    list: Vec<Option<T>>,
    free: BinaryHeap<Reverse<u32>>,
}

impl<T> Places<T> {
    pub fn new() -> Self {
        Places {
            list: Vec::new(),
            free: BinaryHeap::new(),
        }
    }

    /// Takes room for so many values.
    pub fn reserve(&mut self, len: usize) {
        super::reserve(&mut self.list, len);
    }

    /// Puts a value into the first free place.
    pub fn put(&mut self, value: T) -> u32 {
        match self.free.pop() {
            Some(Reverse(at)) => {
                self.list[at as usize] = Some(value);
                at
            }
            None => {
                self.list.push(Some(value));
                self.list.len() as u32 - 1
            }
        }
    }

    /// Frees a place.
    pub fn take(&mut self, at: u32) -> Option<T> {
        let value = self.list[at as usize].take();
        if value.is_some() {
            self.free.push(Reverse(at));
        }
        value
    }

    /// Places, the free ones included.
    pub fn len(&self) -> usize {
        self.list.len()
    }
}

impl<T> Index<u32> for Places<T> {
    type Output = Option<T>;

    fn index(&self, at: u32) -> &Option<T> {
        &self.list[at as usize]
    }
}

impl<T> IndexMut<u32> for Places<T> {
    fn index_mut(&mut self, at: u32) -> &mut Option<T> {
        &mut self.list[at as usize]
    }
}
