// SPDX-License-Identifier: Apache-2.0
// Feature: truncate, from ingress and from egress; no longer than the packet.
#include <core.p4>
#include <v1model.p4>

header probe_t { bit<8> op; bit<8> length; }
header extra_t { bit<32> value; }
struct headers_t { extra_t extra; probe_t probe; }
struct metadata_t { }

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start { packet.extract(hdr.probe); transition accept; }
}
control V(inout headers_t hdr, inout metadata_t meta) { apply { } }
control C(inout headers_t hdr, inout metadata_t meta) { apply { } }

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        sm.egress_spec = 1;
        if (hdr.probe.op == 1 || hdr.probe.op == 3) { truncate((bit<32>)hdr.probe.length); }
    }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        if (hdr.probe.op == 2) { truncate((bit<32>)hdr.probe.length); }
        if (hdr.probe.op == 3) { hdr.extra.setValid(); hdr.extra.value = 0x0a0b0c0d; }
    }
}
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr); } }

V1Switch(P(), V(), I(), E(), C(), D()) main;
