// SPDX-License-Identifier: Apache-2.0
// Meters whose colours go straight into headers, one of them an element of a stack.
#include <core.p4>
#include <v1model.p4>

header request_t { bit<8> op; bit<8> colour; }
header mark_t { bit<8> colour; bit<8> more; }
struct headers_t { request_t request; mark_t[2] marks; }
struct metadata_t { }

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.request);
        packet.extract(hdr.marks.next);
        packet.extract(hdr.marks.next);
        transition accept;
    }
}
control NoChecksum(inout headers_t hdr, inout metadata_t meta) { apply { } }

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    meter(2, MeterType.packets) array;
    direct_meter<bit<8>>(MeterType.packets) direct;

    action mark() {
        direct.read(hdr.request.colour);
        sm.egress_spec = 1;
    }
    table marked {
        key = { hdr.request.op: exact; }
        actions = { mark; NoAction; }
        default_action = NoAction();
        meters = direct;
        size = 4;
    }
    apply {
        sm.egress_spec = 1;
        if (hdr.request.op == 1) {
            marked.apply();
        } else if (hdr.request.op == 2) {
            array.execute_meter(0, hdr.request.colour);
        } else if (hdr.request.op == 3) {
            array.execute_meter(0, hdr.marks[1].colour);
        }
    }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) { apply { } }
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr); } }

V1Switch(P(), NoChecksum(), I(), E(), NoChecksum(), D()) main;
