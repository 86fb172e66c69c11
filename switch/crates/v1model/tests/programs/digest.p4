// SPDX-License-Identifier: Apache-2.0
// Digests of two kinds. The last call of a packet wins.
#include <core.p4>
#include <v1model.p4>

header request_t { bit<8> op; bit<48> address; bit<72> wide; }
struct headers_t { request_t request; }
struct metadata_t { bit<9> port; }
struct learn_t { bit<48> address; bit<9> port; }
struct wide_t { bit<72> wide; bit<8> op; }

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start { packet.extract(hdr.request); transition accept; }
}
control NoChecksum(inout headers_t hdr, inout metadata_t meta) { apply { } }

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        sm.egress_spec = 1;
        if (hdr.request.op == 1 || hdr.request.op == 3) {
            digest<learn_t>(1, { hdr.request.address, sm.ingress_port });
        }
        if (hdr.request.op == 2 || hdr.request.op == 3) {
            digest<wide_t>(1, { hdr.request.wide, hdr.request.op });
        }
    }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) { apply { } }
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr); } }

V1Switch(P(), NoChecksum(), I(), E(), NoChecksum(), D()) main;
