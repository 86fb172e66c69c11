// SPDX-License-Identifier: Apache-2.0
// Clones at the end of ingress and of egress. Each frame says what is to be
// done with it; what leaves carries a report of what egress saw.
#include <core.p4>
#include <v1model.p4>

header request_t { bit<8> op; bit<8> value; }
header report_t {
    bit<8> instance; bit<8> kept; bit<8> lost; bit<8> ingress_port; bit<8> rid; bit<16> length;
}
struct headers_t { report_t report; request_t request; }
struct metadata_t { @field_list(1) bit<8> kept; bit<8> lost; }

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start { packet.extract(hdr.request); transition accept; }
}
control NoChecksum(inout headers_t hdr, inout metadata_t meta) { apply { } }

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        sm.egress_spec = 1;
        meta.kept = hdr.request.value;
        meta.lost = hdr.request.value;
        if (hdr.request.op == 1) {
            clone_preserving_field_list(CloneType.I2E, 5, 1);
            // The clone is the frame as received, but carries the metadata of
            // the end of ingress.
            hdr.request.value = 0xff;
            meta.kept = meta.kept + 1;
        } else if (hdr.request.op == 2) {
            // A dropped packet is cloned all the same.
            clone(CloneType.I2E, 5);
            mark_to_drop(sm);
        } else if (hdr.request.op == 3) {
            // The last call wins, its field list, too.
            clone_preserving_field_list(CloneType.I2E, 5, 1);
            clone(CloneType.I2E, 6);
        } else if (hdr.request.op == 4) {
            // There is no such session.
            clone(CloneType.I2E, 9);
        } else if (hdr.request.op == 7) {
            // Both the packet and its clone are copied.
            clone(CloneType.I2E, 7);
            sm.mcast_grp = 3;
        }
    }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        if (sm.instance_type == 0 && hdr.request.op == 5) {
            clone_preserving_field_list(CloneType.E2E, 5, 1);
            // Unlike at ingress, the clone is what egress has made of it.
            hdr.request.value = 0xee;
            meta.kept = 0x77;
        } else if (sm.instance_type == 0 && hdr.request.op == 6) {
            clone(CloneType.E2E, 5);
            mark_to_drop(sm);
        }
        hdr.report.setValid();
        hdr.report.instance = (bit<8>)sm.instance_type;
        hdr.report.kept = meta.kept;
        hdr.report.lost = meta.lost;
        hdr.report.ingress_port = (bit<8>)sm.ingress_port;
        hdr.report.rid = (bit<8>)sm.egress_rid;
        hdr.report.length = (bit<16>)sm.packet_length;
    }
}
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr); } }

V1Switch(P(), NoChecksum(), I(), E(), NoChecksum(), D()) main;
