// SPDX-License-Identifier: Apache-2.0
// Feature: the parser. lookahead, advance, select over ranges and masks,
// verify, and the errors that a control sees.
#include <core.p4>
#include <v1model.p4>

error { BadVersion }

header first_t { bit<4> version; bit<4> kind; bit<8> value; }
header second_t { bit<16> value; }
header verdict_t { bit<8> error_seen; bit<8> ahead; }
struct headers_t { verdict_t verdict; first_t first; second_t second; }
struct metadata_t { bit<8> ahead; }

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start {
        meta.ahead = packet.lookahead<bit<16>>()[7:0];
        packet.extract(hdr.first);
        verify(hdr.first.version == 4, error.BadVersion);
        transition select(hdr.first.kind, hdr.first.value) {
            (0, _): accept;
            (1..3, 0x80 &&& 0xf0): skip;
            (1..3, _): more;
        }
    }
    state skip { packet.advance(8); transition more; }
    state more { packet.extract(hdr.second); transition accept; }
}
control V(inout headers_t hdr, inout metadata_t meta) { apply { } }
control C(inout headers_t hdr, inout metadata_t meta) { apply { } }

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        sm.egress_spec = 1;
        hdr.verdict.setValid();
        hdr.verdict.ahead = meta.ahead;
        if (sm.parser_error == error.NoError) { hdr.verdict.error_seen = 0; }
        else if (sm.parser_error == error.BadVersion) { hdr.verdict.error_seen = 1; }
        else if (sm.parser_error == error.PacketTooShort) { hdr.verdict.error_seen = 2; }
        else { hdr.verdict.error_seen = 0xff; }
    }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) { apply { } }
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr); } }

V1Switch(P(), V(), I(), E(), C(), D()) main;
