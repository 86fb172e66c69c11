// SPDX-License-Identifier: Apache-2.0
//! What the fuzzer calls, without the fuzzer: one program, which is linked once.

mod frames;
mod inputs;
