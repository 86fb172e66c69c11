// SPDX-License-Identifier: Apache-2.0
// Feature: arithmetic. Wrapping and saturating sums, unsigned and signed, of
// widths on and off byte boundaries, and one beyond 64 bits.
#include <core.p4>
#include <v1model.p4>

header sums_t {
    bit<8> a; bit<8> b;
    bit<8> wrapped; bit<8> sum; bit<8> rest; int<8> signed_sum; int<8> signed_rest;
    bit<4> small; bit<4> small_rest;
    bit<80> big;
}
struct headers_t { sums_t sums; }
struct metadata_t { }

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start { packet.extract(hdr.sums); transition accept; }
}
control V(inout headers_t hdr, inout metadata_t meta) { apply { } }
control C(inout headers_t hdr, inout metadata_t meta) { apply { } }

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        sm.egress_spec = 1;
        hdr.sums.wrapped = hdr.sums.a + hdr.sums.b;
        hdr.sums.sum = hdr.sums.a |+| hdr.sums.b;
        hdr.sums.rest = hdr.sums.a |-| hdr.sums.b;
        hdr.sums.signed_sum = (int<8>)hdr.sums.a |+| (int<8>)hdr.sums.b;
        hdr.sums.signed_rest = (int<8>)hdr.sums.a |-| (int<8>)hdr.sums.b;
        hdr.sums.small = hdr.sums.a[3:0] |+| hdr.sums.b[3:0];
        hdr.sums.small_rest = hdr.sums.a[3:0] |-| hdr.sums.b[3:0];
        hdr.sums.big = hdr.sums.big |+| 80w0x80;
    }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) { apply { } }
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.sums); } }

V1Switch(P(), V(), I(), E(), C(), D()) main;
