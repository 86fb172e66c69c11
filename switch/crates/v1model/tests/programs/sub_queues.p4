// SPDX-License-Identifier: Apache-2.0
// Frames that say which queue and sub-queue they go into, and whether egress
// drops them or makes them longer.
#include <core.p4>
#include <v1model.p4>

header command_t {
    bit<16> queue_id;
    bit<16> sub_queue;
    bit<8> egress;       // 1: dropped; 2: 32 bytes longer
}
header filler_t { bit<256> bytes; }
struct headers_t { filler_t filler; command_t command; }
struct metadata_t {
    bit<16> sub_queue;
    bit<16> queue_id;
}

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start { packet.extract(hdr.command); transition accept; }
}
control NoChecksum(inout headers_t hdr, inout metadata_t meta) { apply { } }

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        sm.egress_spec = 2;
        meta.queue_id = hdr.command.queue_id;
        meta.sub_queue = hdr.command.sub_queue;
    }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        if (hdr.command.egress == 1) {
            mark_to_drop(sm);
        } else if (hdr.command.egress == 2) {
            hdr.filler.setValid();
        }
    }
}
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr); } }

V1Switch(P(), NoChecksum(), I(), E(), NoChecksum(), D()) main;
