// SPDX-License-Identifier: Apache-2.0
// Feature: multicast. Copies carry egress_rid and instance_type, keep
// metadata, and may be dropped one by one in egress.
#include <core.p4>
#include <v1model.p4>

header probe_t { bit<16> group; bit<16> rid; bit<8> instance; bit<8> kept; }
struct headers_t { probe_t probe; }
struct metadata_t { bit<8> kept; }

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start { packet.extract(hdr.probe); transition accept; }
}
control V(inout headers_t hdr, inout metadata_t meta) { apply { } }
control C(inout headers_t hdr, inout metadata_t meta) { apply { } }

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        meta.kept = 0x5a;
        sm.egress_spec = 4;
        sm.mcast_grp = hdr.probe.group;
        // mark_to_drop takes the group away too.
        if (hdr.probe.kept == 0xdd) { mark_to_drop(sm); }
    }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        hdr.probe.rid = sm.egress_rid;
        hdr.probe.instance = (bit<8>)sm.instance_type;
        hdr.probe.kept = meta.kept;
        // Not back to where it came from.
        if (sm.egress_port == sm.ingress_port) { mark_to_drop(sm); }
    }
}
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.probe); } }

V1Switch(P(), V(), I(), E(), C(), D()) main;
