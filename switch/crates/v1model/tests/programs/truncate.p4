// SPDX-License-Identifier: Apache-2.0
// truncate(): the shortest length asked for in ingress or egress; copies and
// recirculated packets forget it.
#include <core.p4>
#include <v1model.p4>

header request_t { bit<8> op; bit<8> length; }
struct headers_t { request_t request; }
struct metadata_t { }

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start { packet.extract(hdr.request); transition accept; }
}
control NoChecksum(inout headers_t hdr, inout metadata_t meta) { apply { } }

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        sm.egress_spec = 1;
        if (hdr.request.op == 1 || hdr.request.op == 2) {
            truncate((bit<32>)hdr.request.length);
        } else if (hdr.request.op == 4) {
            truncate((bit<32>)hdr.request.length);
            sm.mcast_grp = 3;
        }
    }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        if (hdr.request.op == 2) {
            truncate(3);
            truncate(5);
        } else if (hdr.request.op == 3 && sm.instance_type == 0) {
            truncate(2);
            hdr.request.op = 9;
            recirculate_preserving_field_list(0);
        }
    }
}
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr); } }

V1Switch(P(), NoChecksum(), I(), E(), NoChecksum(), D()) main;
