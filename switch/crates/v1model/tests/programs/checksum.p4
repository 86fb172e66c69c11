// SPDX-License-Identifier: Apache-2.0
// Checksums of IPv4, and of UDP with its payload; every hash algorithm.
#include <core.p4>
#include <v1model.p4>

header ethernet_t { bit<48> dst; bit<48> src; bit<16> type; }
header ipv4_t {
    bit<4> version; bit<4> ihl; bit<8> tos; bit<16> length; bit<16> id; bit<3> flags; bit<13> offset;
    bit<8> ttl; bit<8> protocol; bit<16> checksum; bit<32> src; bit<32> dst; varbit<320> options;
}
header udp_t { bit<16> src; bit<16> dst; bit<16> length; bit<16> checksum; }
header hashes_t {
    bit<8> fault; bit<16> crc16; bit<16> crc16_custom; bit<32> crc32; bit<32> crc32_custom; bit<16> csum16;
    bit<16> xor16; bit<64> identity; bit<96> wide; bit<16> with_invalid;
}
struct headers_t { hashes_t hashes; ethernet_t ethernet; ipv4_t ipv4; udp_t udp; }
struct metadata_t { bit<16> length; }

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) { 0x800: ipv4; default: accept; }
    }
    state ipv4 {
        bit<8> first = packet.lookahead<bit<8>>();
        packet.extract(hdr.ipv4, (bit<32>)(first[3:0] - 5) << 5);
        meta.length = hdr.ipv4.length - ((bit<16>)hdr.ipv4.ihl << 2);
        transition select(hdr.ipv4.protocol) { 17: udp; default: accept; }
    }
    state udp { packet.extract(hdr.udp); transition accept; }
}
control V(inout headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum(hdr.ipv4.isValid(),
            { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.tos, hdr.ipv4.length, hdr.ipv4.id, hdr.ipv4.flags,
              hdr.ipv4.offset, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src, hdr.ipv4.dst, hdr.ipv4.options },
            hdr.ipv4.checksum, HashAlgorithm.csum16);
        verify_checksum_with_payload(hdr.udp.isValid() && hdr.udp.checksum != 0,
            { hdr.ipv4.src, hdr.ipv4.dst, 8w0, hdr.ipv4.protocol, meta.length, hdr.udp.src, hdr.udp.dst,
              hdr.udp.length },
            hdr.udp.checksum, HashAlgorithm.csum16);
    }
}
control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        sm.egress_spec = 1;
        hdr.hashes.setValid();
        hdr.hashes.fault = (bit<8>)sm.checksum_error + (sm.parser_error == error.NoError ? 8w0 : 8w2);
        hash(hdr.hashes.crc16, HashAlgorithm.crc16, 16w0, { hdr.ethernet.dst, hdr.ethernet.src }, 32w65536);
        hash(hdr.hashes.crc16_custom, HashAlgorithm.crc16_custom, 16w0, { hdr.ethernet.dst }, 32w65536);
        hash(hdr.hashes.crc32, HashAlgorithm.crc32, 32w0, { hdr.ethernet.dst, hdr.ethernet.src }, 64w0x100000000);
        hash(hdr.hashes.crc32_custom, HashAlgorithm.crc32_custom, 32w0, { hdr.ethernet.dst }, 64w0x100000000);
        hash(hdr.hashes.csum16, HashAlgorithm.csum16, 16w5, { hdr.ethernet.dst, 4w0xf, 136w0x123456789abcdef0123456789abcdef012 },
             32w1000);
        hash(hdr.hashes.xor16, HashAlgorithm.xor16, 16w0, { hdr.ethernet.dst, hdr.ethernet.src }, 32w65536);
        hash(hdr.hashes.identity, HashAlgorithm.identity, 64w0, { hdr.ethernet.dst }, 64w0x1000000000000);
        hash(hdr.hashes.wide, HashAlgorithm.identity, 96w0xffffffffffffffffffffffff, { 8w2 }, 96w0x1000000000000000000000);
        hash(hdr.hashes.with_invalid, HashAlgorithm.crc16, 16w0, { hdr.udp.src, hdr.ethernet.dst }, 32w65536);
        if (hdr.ipv4.isValid()) { hdr.ipv4.ttl = hdr.ipv4.ttl - 1; }
        if (hdr.udp.isValid()) { hdr.udp.src = 0x1234; }
    }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply { if (hdr.ethernet.type == 0xdead) { exit; } }
}
control U(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.ipv4.isValid(),
            { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.tos, hdr.ipv4.length, hdr.ipv4.id, hdr.ipv4.flags,
              hdr.ipv4.offset, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src, hdr.ipv4.dst, hdr.ipv4.options },
            hdr.ipv4.checksum, HashAlgorithm.csum16);
        update_checksum_with_payload(hdr.udp.isValid() && hdr.udp.checksum != 0,
            { hdr.ipv4.src, hdr.ipv4.dst, 8w0, hdr.ipv4.protocol, meta.length, hdr.udp.src, hdr.udp.dst,
              hdr.udp.length },
            hdr.udp.checksum, HashAlgorithm.csum16);
    }
}
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr); } }

V1Switch(P(), V(), I(), E(), U(), D()) main;
