// SPDX-License-Identifier: Apache-2.0
// Feature: varbit. Its length comes from the header or from lookahead; it is
// sent as it came, copied with its header, and too long a one is an error.
#include <core.p4>
#include <v1model.p4>

header options_t { bit<4> words; bit<4> action_; varbit<96> data; bit<8> end; }
header verdict_t { bit<8> error_seen; bit<32> length; }
struct headers_t { verdict_t verdict; options_t options; options_t copy; }
struct metadata_t { }

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.options, (bit<32>)packet.lookahead<bit<4>>() * 16);
        transition accept;
    }
}
control V(inout headers_t hdr, inout metadata_t meta) { apply { } }
control C(inout headers_t hdr, inout metadata_t meta) { apply { } }

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        sm.egress_spec = 1;
        if (hdr.options.isValid() && hdr.options.action_ == 1) {
            hdr.copy = hdr.options;
            hdr.copy.end = 0xcc;
        } else if (hdr.options.isValid() && hdr.options.action_ == 2) {
            hdr.options.setInvalid();
        }
        hdr.verdict.setValid();
        hdr.verdict.error_seen = 0;
        if (sm.parser_error == error.HeaderTooShort) { hdr.verdict.error_seen = 1; }
        if (sm.parser_error == error.PacketTooShort) { hdr.verdict.error_seen = 2; }
    }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    // The length of the frame as ingress left it.
    apply { hdr.verdict.length = sm.packet_length; }
}
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr); } }

V1Switch(P(), V(), I(), E(), C(), D()) main;
