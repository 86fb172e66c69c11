// SPDX-License-Identifier: Apache-2.0
// Through ingress again: resubmitted from its end, as received, or recirculated
// from the end of egress, as deparsed.
#include <core.p4>
#include <v1model.p4>

header request_t { bit<8> op; bit<8> value; }
// Where the packet has been: one of them is put in front in each egress.
header report_t {
    bit<8> instance; bit<8> ingress_port; bit<8> kept; bit<8> lost; bit<16> length;
}
struct headers_t { report_t report; report_t previous; request_t request; }
struct metadata_t {
    @field_list(1) bit<8> kept;
    bit<8> lost;
    bit<8> at_ingress;
    bit<16> ingress_length;
}

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start {
        transition select(sm.instance_type) {
            4: recirculated;
            default: request;
        }
    }
    state recirculated { packet.extract(hdr.previous); transition request; }
    state request { packet.extract(hdr.request); transition accept; }
}
control NoChecksum(inout headers_t hdr, inout metadata_t meta) { apply { } }

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        sm.egress_spec = 1;
        meta.at_ingress = (bit<8>)sm.instance_type;
        meta.ingress_length = (bit<16>)sm.packet_length;
        if (sm.instance_type == 0) {
            meta.kept = hdr.request.value;
            meta.lost = hdr.request.value;
            if (hdr.request.op == 1) {
                // It is the frame as received that comes back.
                hdr.request.value = 0xff;
                resubmit_preserving_field_list(1);
            } else if (hdr.request.op == 2) {
                // Resubmitting wins over dropping and over multicast.
                sm.mcast_grp = 1;
                resubmit_preserving_field_list(1);
            } else if (hdr.request.op == 3) {
                mark_to_drop(sm);
                resubmit_preserving_field_list(2);
            }
        }
        if (hdr.request.op == 4) {
            // For ever, had it no end.
            resubmit_preserving_field_list(1);
        }
    }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        if (hdr.request.op == 5 && meta.at_ingress == 0) {
            hdr.request.value = 0xee;
            recirculate_preserving_field_list(1);
        } else if (hdr.request.op == 6) {
            // For ever, had it no end.
            hdr.previous.setInvalid();
            recirculate_preserving_field_list(1);
        } else if (hdr.request.op == 7) {
            // Dropping wins over recirculating.
            recirculate_preserving_field_list(1);
            mark_to_drop(sm);
        }
        hdr.report.setValid();
        hdr.report.instance = meta.at_ingress;
        hdr.report.ingress_port = (bit<8>)sm.ingress_port;
        hdr.report.kept = meta.kept;
        hdr.report.lost = meta.lost;
        hdr.report.length = meta.ingress_length;
    }
}
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr); } }

V1Switch(P(), NoChecksum(), I(), E(), NoChecksum(), D()) main;
