// SPDX-License-Identifier: Apache-2.0
//! Reads fields off the front of bytes that nobody has checked.

use crate::error::WireError;

/// What is left to read of something.
pub(crate) struct Reader<'a> {
    of: &'static str,
    whole: usize,
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Reads the `bytes` of something that errors call `of`.
    pub fn new(of: &'static str, bytes: &'a [u8]) -> Self {
        Self {
            of,
            whole: bytes.len(),
            rest: bytes,
        }
    }

    /// The next `length` bytes.
    pub fn take(&mut self, length: usize) -> Result<&'a [u8], WireError> {
        match self.rest.split_at_checked(length) {
            Some((taken, rest)) => {
                self.rest = rest;
                Ok(taken)
            }
            None => Err(WireError::Length {
                of: self.of,
                needed: self.at().saturating_add(length),
                got: self.whole,
            }),
        }
    }

    /// The next byte.
    pub fn u8(&mut self) -> Result<u8, WireError> {
        Ok(self.array::<1>()?[0])
    }

    /// The next two bytes, highest first.
    pub fn u16(&mut self) -> Result<u16, WireError> {
        self.array().map(u16::from_be_bytes)
    }

    /// The next four bytes, highest first.
    pub fn u32(&mut self) -> Result<u32, WireError> {
        self.array().map(u32::from_be_bytes)
    }

    /// Bytes that have been read.
    pub fn at(&self) -> usize {
        self.whole - self.rest.len()
    }

    /// Refuses bytes that are left.
    pub fn end(self) -> Result<(), WireError> {
        if self.rest.is_empty() {
            return Ok(());
        }
        Err(WireError::Length {
            of: self.of,
            needed: self.at(),
            got: self.whole,
        })
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], WireError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }
}
