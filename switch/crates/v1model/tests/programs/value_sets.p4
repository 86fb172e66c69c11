// SPDX-License-Identifier: Apache-2.0
// Parser value sets: of one field, of several, beside constants.
#include <core.p4>
#include <v1model.p4>

struct tunnel_t {
    @match(ternary) bit<72> address;
    bit<8> kind;
}
header first_t { bit<16> type; }
header tunnel_h { bit<72> address; bit<8> kind; }
header report_t { bit<8> path; }
struct headers_t { report_t report; first_t first; tunnel_h tunnel; }
struct metadata_t { bit<8> path; }

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    value_set<bit<16>>(2) types;
    value_set<tunnel_t>(4) tunnels;
    state start {
        packet.extract(hdr.first);
        transition select(hdr.first.type) {
            0x0800: constant;
            types: tunnel;
            default: accept;
        }
    }
    state constant { meta.path = 1; transition accept; }
    state tunnel {
        meta.path = 2;
        packet.extract(hdr.tunnel);
        transition select(hdr.tunnel.address, hdr.tunnel.kind) {
            tunnels: known;
            default: accept;
        }
    }
    state known { meta.path = 3; transition accept; }
}
control NoChecksum(inout headers_t hdr, inout metadata_t meta) { apply { } }
control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        sm.egress_spec = 1;
        hdr.report.setValid();
        hdr.report.path = meta.path;
    }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) { apply { } }
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr); } }

V1Switch(P(), NoChecksum(), I(), E(), NoChecksum(), D()) main;
