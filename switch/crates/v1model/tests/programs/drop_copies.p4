// SPDX-License-Identifier: Apache-2.0
// Drops by way of a copy of the standard metadata: the compiler makes one for every action and
// control that has them for an inout parameter, and puts it back behind it.
#include <core.p4>
#include <v1model.p4>

// One request for ingress, one for egress.
header request_t { bit<8> ingress; bit<8> egress; }
struct headers_t { request_t request; }
struct metadata_t { }

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start { packet.extract(hdr.request); transition accept; }
}
control NoChecksum(inout headers_t hdr, inout metadata_t meta) { apply { } }

action drop(inout standard_metadata_t copy) { mark_to_drop(copy); }

action send_and_drop(inout standard_metadata_t copy) {
    copy.egress_spec = 2;
    copy.mcast_grp = 1;
    mark_to_drop(copy);
}

action drop_and_send(inout standard_metadata_t copy) {
    mark_to_drop(copy);
    copy.mcast_grp = 1;
}

control Drop(inout standard_metadata_t copy) {
    apply { mark_to_drop(copy); }
}

control Nested(inout headers_t hdr, inout standard_metadata_t copy) {
    Drop() inner;
    action mark() { mark_to_drop(copy); }
    table kinds {
        key = { hdr.request.ingress: exact; }
        actions = { mark; drop(copy); NoAction; }
        default_action = NoAction();
        const entries = {
            0x40: mark();
            0x41: drop(copy);
        }
    }
    apply {
        kinds.apply();
        if (hdr.request.ingress == 0x42) {
            inner.apply(copy);
        } else if (hdr.request.ingress == 0x43) {
            inner.apply(copy);
            // Not dropped after all.
            copy.egress_spec = 3;
        }
    }
}

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    Drop() inner;
    Nested() nested;
    table by_table {
        key = { hdr.request.ingress: exact; }
        actions = { drop(sm); NoAction; }
        default_action = NoAction();
        const entries = { 0x20: drop(sm); }
    }
    apply {
        sm.egress_spec = 1;
        by_table.apply();
        if (hdr.request.ingress == 0x10) {
            drop(sm);
        } else if (hdr.request.ingress == 0x11) {
            send_and_drop(sm);
        } else if (hdr.request.ingress == 0x12) {
            drop_and_send(sm);
        } else if (hdr.request.ingress == 0x13) {
            // The group goes with it.
            sm.mcast_grp = 1;
            drop(sm);
        } else if (hdr.request.ingress == 0x30) {
            inner.apply(sm);
        } else if (hdr.request.ingress == 0x31) {
            inner.apply(sm);
            sm.egress_spec = 3;
        } else if (hdr.request.ingress == 0x50) {
            // A copy that is not put back drops nothing.
            standard_metadata_t copy = sm;
            mark_to_drop(copy);
            hdr.request.egress = (bit<8>)copy.egress_spec;
        } else if (hdr.request.ingress == 0x51) {
            standard_metadata_t copy = sm;
            mark_to_drop(copy);
            sm = copy;
        }
        nested.apply(hdr, sm);
    }
}

control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    Drop() inner;
    apply {
        if (hdr.request.egress == 0x10) {
            drop(sm);
        } else if (hdr.request.egress == 0x30) {
            inner.apply(sm);
        } else if (hdr.request.egress == 0x50) {
            standard_metadata_t copy = sm;
            mark_to_drop(copy);
            hdr.request.ingress = (bit<8>)copy.egress_spec;
        } else if (hdr.request.egress == 0x51) {
            standard_metadata_t copy = sm;
            mark_to_drop(copy);
            sm = copy;
        }
    }
}
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr); } }

V1Switch(P(), NoChecksum(), I(), E(), NoChecksum(), D()) main;
