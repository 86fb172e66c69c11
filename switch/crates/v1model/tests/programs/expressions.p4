// SPDX-License-Identifier: Apache-2.0
// One operator per result field, on operands taken from the frame: the tests
// compare each with the same operation in Rust.
#include <core.p4>
#include <v1model.p4>

header operands_t {
    bit<32>  a;
    bit<32>  b;
    bit<8>   n;     // shift amount
    int<16>  s;
    int<16>  t;
    bit<128> x;
    bit<128> y;
}

header results_t {
    bit<32>  add;
    bit<32>  sub;
    bit<32>  mul;
    bit<32>  and_or_xor;
    bit<32>  inverted;
    bit<32>  shifted_left;
    bit<32>  shifted_right;
    bit<32>  add_saturated;
    bit<32>  sub_saturated;
    bit<64>  product;
    bit<8>   comparisons;   // a < b, a <= b, a == b, s < t, s <= t, x < y, x == y, a > b && s > t
    int<16>  s_plus_t;
    int<16>  s_shifted;
    int<16>  s_add_saturated;
    int<32>  s_widened;
    bit<32>  sliced;
    bit<32>  chosen;
    bit<128> x_plus_y;
    bit<128> x_minus_y;
    bit<128> x_shifted;
    bit<128> x_mixed;
    bit<64>  x_middle;
}

struct headers_t { operands_t operands; results_t results; }
struct metadata_t { }

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start { packet.extract(hdr.operands); transition accept; }
}
control NoChecksum(inout headers_t hdr, inout metadata_t meta) { apply { } }

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        bit<32> a = hdr.operands.a;
        bit<32> b = hdr.operands.b;
        int<16> s = hdr.operands.s;
        int<16> t = hdr.operands.t;
        bit<128> x = hdr.operands.x;
        bit<128> y = hdr.operands.y;
        hdr.results.setValid();
        hdr.results.add = a + b;
        hdr.results.sub = a - b;
        hdr.results.mul = a * b;
        hdr.results.and_or_xor = (a & b) ^ (a | 32w0xf0f0f0f0);
        hdr.results.inverted = ~a;
        hdr.results.shifted_left = a << hdr.operands.n;
        hdr.results.shifted_right = a >> hdr.operands.n;
        hdr.results.add_saturated = a |+| b;
        hdr.results.sub_saturated = a |-| b;
        hdr.results.product = (bit<64>)a * (bit<64>)b;
        hdr.results.comparisons = (bit<8>)((bit<1>)(a < b) ++ (bit<1>)(a <= b) ++ (bit<1>)(a == b)
            ++ (bit<1>)(s < t) ++ (bit<1>)(s <= t) ++ (bit<1>)(x < y) ++ (bit<1>)(x == y)
            ++ (bit<1>)(a > b && s > t));
        hdr.results.s_plus_t = s + t;
        hdr.results.s_shifted = s >> hdr.operands.n;
        hdr.results.s_add_saturated = s |+| t;
        hdr.results.s_widened = (int<32>)s;
        hdr.results.sliced = a[15:0] ++ b[31:16];
        hdr.results.chosen = (a < b || !(s < t)) ? a : b;
        hdr.results.x_plus_y = x + y;
        hdr.results.x_minus_y = x - y;
        hdr.results.x_shifted = (x << hdr.operands.n) >> 3;
        hdr.results.x_mixed = (x & ~y) | (bit<128>)a;
        hdr.results.x_middle = x[95:32];
        sm.egress_spec = 1;
    }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) { apply { } }
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.results); } }

V1Switch(P(), NoChecksum(), I(), E(), NoChecksum(), D()) main;
