// SPDX-License-Identifier: Apache-2.0
//
// A straight line between two thresholds, for RED's curves: P4 does not divide, so
// the controller gives 2^32 / (max_threshold - min_threshold), rounded down.

// height * (value - min_threshold) / (max_threshold - min_threshold); for values
// between the thresholds, and too small by at most 1 + height / 2^32 * (value - min_threshold).
bit<32> ramp(in bit<32> value, in bit<32> min_threshold, in bit<32> reciprocal, in bit<32> height) {
    bit<64> share = (bit<64>)(value - min_threshold) * (bit<64>)reciprocal;
    return (bit<32>)((share * (bit<64>)height) >> 32);
}
