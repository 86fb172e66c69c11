// SPDX-License-Identifier: Apache-2.0
// Frames that say themselves which way they take: every way out of ingress and
// egress, in any combination. For tests that send them at random.
#include <core.p4>
#include <v1model.p4>

header command_t {
    bit<8> ingress;      // bits: see below
    bit<8> egress;
    bit<8> left;         // egress does nothing special once this is 0
    bit<8> session;
    bit<8> group;
    bit<8> port;
    bit<8> queue_id;
    bit<8> length;
}
header filler_t { bit<256> bytes; }
struct headers_t { filler_t filler; command_t command; }
struct metadata_t {
    @field_list(1) bit<8> kept;
    @name("queue_id") bit<8> queue_id;
}
struct learn_t { bit<8> session; bit<8> group; }

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start { packet.extract(hdr.command); transition accept; }
}
control NoChecksum(inout headers_t hdr, inout metadata_t meta) { apply { } }

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        sm.egress_spec = (bit<9>)hdr.command.port;
        sm.priority = (bit<3>)hdr.command.queue_id;
        meta.queue_id = hdr.command.queue_id;
        meta.kept = hdr.command.session;
        if (hdr.command.ingress & 1 != 0) {
            clone_preserving_field_list(CloneType.I2E, (bit<32>)hdr.command.session, 1);
        }
        if (hdr.command.ingress & 2 != 0) {
            digest<learn_t>(1, { hdr.command.session, hdr.command.group });
        }
        // Once, or for ever.
        if ((hdr.command.ingress & 4 != 0 && sm.instance_type != 6)
            || hdr.command.ingress & 0x0c == 0x0c) {
            resubmit_preserving_field_list(1);
        }
        if (hdr.command.ingress & 0x10 != 0) { mark_to_drop(sm); }
        if (hdr.command.ingress & 0x20 != 0) { sm.mcast_grp = (bit<16>)hdr.command.group; }
        if (hdr.command.ingress & 0x40 != 0) { truncate((bit<32>)hdr.command.length); }
    }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        if (hdr.command.left != 0) {
            hdr.command.left = hdr.command.left - 1;
            if (hdr.command.egress & 1 != 0) {
                clone_preserving_field_list(CloneType.E2E, (bit<32>)hdr.command.session, 1);
            }
            if (hdr.command.egress & 2 != 0) { recirculate_preserving_field_list(1); }
            if (hdr.command.egress & 4 != 0) { mark_to_drop(sm); }
            if (hdr.command.egress & 8 != 0) { truncate((bit<32>)hdr.command.length); }
            if (hdr.command.egress & 0x10 != 0) { hdr.filler.setValid(); }
        }
    }
}
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr); } }

V1Switch(P(), NoChecksum(), I(), E(), NoChecksum(), D()) main;
