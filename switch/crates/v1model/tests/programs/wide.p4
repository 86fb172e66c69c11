// SPDX-License-Identifier: Apache-2.0
// Every operator on 200 bits, unsigned and signed, and on varbit fields.
#include <core.p4>
#include <v1model.p4>

header in_t { bit<200> a; bit<200> b; bit<8> by; }
header out_t {
    bit<200> add; bit<200> sub; bit<200> mul; bit<200> band; bit<200> bor; bit<200> bxor; bit<200> bnot;
    bit<200> shl; bit<200> shr; bit<200> sat_add; bit<200> sat_sub; bit<200> neg;
    int<200> sar; int<200> signed_sat;
    bit<200> constant; bit<200> chosen; bit<200> concat; bit<64> slice; bit<200> widened; bit<200> ahead;
    bit<8> flags;
}
header var_t { varbit<64> data; }
struct headers_t { out_t o; in_t i; var_t v; var_t w; }
struct metadata_t { bit<200> ahead; }

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start {
        meta.ahead = packet.lookahead<bit<200>>();
        packet.extract(hdr.i);
        transition select(hdr.i.a) {
            200w0xffffffffffffffffffffffffffffffffffffffffffffffffff: ones;
            200w0x8000 &&& 200w0xff00000000000000000000000000000000000000000000ff00: top;
            default: varbits;
        }
    }
    state ones { meta.ahead = 1; transition accept; }
    state top { meta.ahead = 2; transition accept; }
    state varbits {
        bit<8> lengths = packet.lookahead<bit<8>>();
        packet.advance(8);
        packet.extract(hdr.v, (bit<32>)lengths[7:4] << 3);
        packet.extract(hdr.w, (bit<32>)lengths[3:0] << 3);
        transition accept;
    }
}
control NoChecksum(inout headers_t hdr, inout metadata_t meta) { apply { } }

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        sm.egress_spec = 1;
        bit<200> a = hdr.i.a;
        bit<200> b = hdr.i.b;
        hdr.o.setValid();
        hdr.o.add = a + b;
        hdr.o.sub = a - b;
        hdr.o.mul = a * b;
        hdr.o.band = a & b;
        hdr.o.bor = a | b;
        hdr.o.bxor = a ^ b;
        hdr.o.bnot = ~a;
        hdr.o.shl = a << hdr.i.by;
        hdr.o.shr = a >> hdr.i.by;
        hdr.o.sat_add = a |+| b;
        hdr.o.sat_sub = a |-| b;
        hdr.o.neg = -a;
        hdr.o.sar = (int<200>)a >> hdr.i.by;
        hdr.o.signed_sat = (int<200>)a |+| (int<200>)b;
        hdr.o.constant = 200w0x123456789abcdef0123456789abcdef0123456789abcdef012;
        hdr.o.chosen = a < b ? a : b;
        hdr.o.concat = a[99:0] ++ b[199:100];
        hdr.o.slice = a[167:104];
        hdr.o.widened = (bit<200>)(int<200>)(int<72>)a[71:0];
        hdr.o.ahead = meta.ahead;
        hdr.o.flags = (bit<8>)(a == b ? 8w1 : 8w0) + (a < b ? 8w2 : 8w0)
            + ((int<200>)a < (int<200>)b ? 8w4 : 8w0) + (a >= b ? 8w8 : 8w0)
            + (hdr.v == hdr.w ? 8w16 : 8w0) + (hdr.v.data == hdr.w.data ? 8w32 : 8w0);
    }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) { apply { } }
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.o); } }

V1Switch(P(), NoChecksum(), I(), E(), NoChecksum(), D()) main;
