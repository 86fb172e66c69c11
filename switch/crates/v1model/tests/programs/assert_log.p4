// SPDX-License-Identifier: Apache-2.0
// Feature: log_msg, assert and assume. A failed one drops the packet.
#include <core.p4>
#include <v1model.p4>

header probe_t { bit<8> value; bit<8> limit; }
struct headers_t { probe_t probe; }
struct metadata_t { }

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start { packet.extract(hdr.probe); transition accept; }
}
control V(inout headers_t hdr, inout metadata_t meta) { apply { } }
control C(inout headers_t hdr, inout metadata_t meta) { apply { } }

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        sm.egress_spec = 1;
        log_msg("packet");
        log_msg("value {} of at most {}", { hdr.probe.value, hdr.probe.limit });
        assert(hdr.probe.value <= hdr.probe.limit);
        assume(hdr.probe.limit != 0xff);
    }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) { apply { } }
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.probe); } }

V1Switch(P(), V(), I(), E(), C(), D()) main;
