// SPDX-License-Identifier: Apache-2.0
// Feature: registers. One array that ingress and egress share, one of a wide
// value, and an index past the end, which neither reads nor writes.
#include <core.p4>
#include <v1model.p4>

header cell_t { bit<8> op; bit<32> index; bit<16> value; bit<72> wide; }
struct headers_t { cell_t cell; }
struct metadata_t { }

register<bit<16>>(4) small;
register<bit<72>>(4) large;

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start { packet.extract(hdr.cell); transition accept; }
}
control V(inout headers_t hdr, inout metadata_t meta) { apply { } }
control C(inout headers_t hdr, inout metadata_t meta) { apply { } }

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        sm.egress_spec = 1;
        if (hdr.cell.op == 0) {
            small.write(hdr.cell.index, hdr.cell.value);
            large.write(hdr.cell.index, hdr.cell.wide);
        } else if (hdr.cell.op == 1) {
            small.read(hdr.cell.value, hdr.cell.index);
            large.read(hdr.cell.wide, hdr.cell.index);
        }
    }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        // Counts every packet in the last cell, which ingress can read.
        bit<16> seen;
        small.read(seen, 3);
        small.write(3, seen + 1);
    }
}
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.cell); } }

V1Switch(P(), V(), I(), E(), C(), D()) main;
