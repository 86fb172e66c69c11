// SPDX-License-Identifier: Apache-2.0
// Feature: hash algorithms, over the nine bytes whose CRCs are published, over
// fields that end within a byte, and with base and max.
#include <core.p4>
#include <v1model.p4>

header data_t { bit<72> nine; bit<4> nibble; bit<12> rest; }
header result_t {
    bit<32> crc32; bit<16> crc16; bit<16> csum16; bit<16> xor16; bit<32> identity;
    bit<32> ranged; bit<16> odd; bit<16> none;
}
struct headers_t { result_t result; data_t data; }
struct metadata_t { }

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start { packet.extract(hdr.data); transition accept; }
}
control V(inout headers_t hdr, inout metadata_t meta) { apply { } }
control C(inout headers_t hdr, inout metadata_t meta) { apply { } }

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        sm.egress_spec = 1;
        hdr.result.setValid();
        // A max of 2^n keeps the low bits.
        hash(hdr.result.crc32, HashAlgorithm.crc32, 32w0, { hdr.data.nine }, 64w0x100000000);
        hash(hdr.result.crc16, HashAlgorithm.crc16, 16w0, { hdr.data.nine }, 32w0x10000);
        hash(hdr.result.csum16, HashAlgorithm.csum16, 16w0, { hdr.data.nine }, 32w0x10000);
        hash(hdr.result.xor16, HashAlgorithm.xor16, 16w0, { hdr.data.nine }, 32w0x10000);
        hash(hdr.result.identity, HashAlgorithm.identity, 32w0, { hdr.data.nine }, 64w0x100000000);
        // 100 + crc32 % 10
        hash(hdr.result.ranged, HashAlgorithm.crc32, 32w100, { hdr.data.nine }, 32w10);
        // Twelve bits and four: two bytes in this order.
        hash(hdr.result.odd, HashAlgorithm.crc16, 16w0, { hdr.data.rest, hdr.data.nibble }, 32w0x10000);
        // max 0 counts as 1: the base.
        hash(hdr.result.none, HashAlgorithm.crc16, 16w7, { hdr.data.nine }, 16w0);
    }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) { apply { } }
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr); } }

V1Switch(P(), V(), I(), E(), C(), D()) main;
