// SPDX-License-Identifier: Apache-2.0
// Fields of many widths, and one assignment that a test replaces by others.
#include <core.p4>
#include <v1model.p4>

header in_t {
    bit<8> u8; bit<33> u33; bit<7> u7; bit<64> u64; bit<72> u72; bit<128> u128; bit<200> u200;
    int<8> s8; int<40> s40; int<64> s64; int<104> s104; int<128> s128; int<264> s264;
}
header out_t { bit<1> b; bit<8> n; bit<64> w; bit<128> x; bit<200> y; int<40> s; bit<7> pad; }
struct headers_t { in_t i; out_t o; }
struct metadata_t { }

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start { packet.extract(hdr.i); transition accept; }
}
control NoChecksum(inout headers_t hdr, inout metadata_t meta) { apply { } }
control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        sm.egress_spec = 1;
        hdr.o.setValid();
        hdr.o.b = 1;
        hdr.o.n = 2;
        hdr.o.w = 3;
        hdr.o.x = 4;
        hdr.o.y = 5;
        hdr.o.s = 6;
        if (hdr.i.u8 == 1) { hdr.o.pad = 1; }
    }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) { apply { } }
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.o); } }

V1Switch(P(), NoChecksum(), I(), E(), NoChecksum(), D()) main;
