// SPDX-License-Identifier: Apache-2.0
// Feature: clones. From ingress (parsed again, with the fields of a list) and
// from egress, to a port and to a multicast group; the last call counts.
#include <core.p4>
#include <v1model.p4>

header probe_t { bit<8> op; bit<8> session; bit<8> instance; bit<8> kept; bit<8> lost; bit<8> mark; }
struct headers_t { probe_t probe; }
struct metadata_t {
    @field_list(1) bit<8> kept;
    bit<8> lost;
}

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start { packet.extract(hdr.probe); transition accept; }
}
control V(inout headers_t hdr, inout metadata_t meta) { apply { } }
control C(inout headers_t hdr, inout metadata_t meta) { apply { } }

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        sm.egress_spec = 1;
        meta.kept = 0x11;
        meta.lost = 0x22;
        // The clone does not see this change, but the original does.
        hdr.probe.mark = 0xee;
        if (hdr.probe.op == 1) {
            clone_preserving_field_list(CloneType.I2E, (bit<32>)hdr.probe.session, 1);
        } else if (hdr.probe.op == 2) {
            clone(CloneType.I2E, 9);
            clone(CloneType.I2E, (bit<32>)hdr.probe.session);
            mark_to_drop(sm);
        }
    }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        hdr.probe.instance = (bit<8>)sm.instance_type;
        hdr.probe.kept = meta.kept;
        hdr.probe.lost = meta.lost;
        if (hdr.probe.op == 3 && sm.instance_type == 0) {
            // This clone is of the packet as egress leaves it.
            clone_preserving_field_list(CloneType.E2E, (bit<32>)hdr.probe.session, 1);
        }
    }
}
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.probe); } }

V1Switch(P(), V(), I(), E(), C(), D()) main;
