// SPDX-License-Identifier: Apache-2.0
//
// 1 / value, which P4 has no operator for: the value is shifted up until its highest
// bit is set, and two steps of Newton's method, x = x * (2 - d * x), take a straight
// line's first guess to its reciprocal. The line is off by a 17th at the most, and each
// step squares that.

// 48 / 17 and 32 / 17, Q2.30: x = 48 / 17 - 32 / 17 * d, for d from 1/2 to 1.
const bit<64> RECIPROCAL_AT_ZERO = 3031741621;
const bit<64> RECIPROCAL_SLOPE   = 2021161080;
const bit<64> RECIPROCAL_TWO     = 1 << 31;

// value > 0; 1 / value = mantissa / 2^(62 - shift), too small by 12 millionths at the most.
control Reciprocal(in bit<32> value, out bit<64> mantissa, out bit<8> shift) {
    apply {
        bit<64> d = (bit<64>)value;
        shift = 0;
        if (d < 1 << 16) {
            d = d << 16;
            shift = shift + 16;
        }
        if (d < 1 << 24) {
            d = d << 8;
            shift = shift + 8;
        }
        if (d < 1 << 28) {
            d = d << 4;
            shift = shift + 4;
        }
        if (d < 1 << 30) {
            d = d << 2;
            shift = shift + 2;
        }
        if (d < 1 << 31) {
            d = d << 1;
            shift = shift + 1;
        }
        mantissa = RECIPROCAL_AT_ZERO - ((RECIPROCAL_SLOPE * d) >> 32);
        // d in Q0.32, the mantissa, which is x, in Q2.30.
        mantissa = (mantissa * (RECIPROCAL_TWO - ((d * mantissa) >> 32))) >> 30;
        mantissa = (mantissa * (RECIPROCAL_TWO - ((d * mantissa) >> 32))) >> 30;
    }
}
