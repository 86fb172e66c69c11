// SPDX-License-Identifier: Apache-2.0
// A small router, to see what its packets' traces look like.
#include <core.p4>
#include <v1model.p4>

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> type;
}

header ipv4_t {
    bit<8>  ttl;
    bit<8>  protocol;
    bit<32> dst;
}

struct headers_t {
    ethernet_t ethernet;
    ipv4_t     ipv4;
}

struct metadata_t {
    bit<16> next_hop;
}

parser TraceParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                   inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) {
            0x0800: parse_ipv4;
            default: accept;
        }
    }
    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        verify(hdr.ipv4.ttl != 0, error.ParserInvalidArgument);
        transition accept;
    }
}

control TraceVerify(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control TraceIngress(inout headers_t hdr, inout metadata_t meta,
                     inout standard_metadata_t standard_metadata) {
    action drop() {
        mark_to_drop(standard_metadata);
    }
    action forward(bit<9> port, bit<48> mac) {
        standard_metadata.egress_spec = port;
        hdr.ethernet.dst = mac;
    }
    table route {
        key = { hdr.ipv4.dst: lpm; }
        actions = { forward; drop; }
        default_action = drop();
    }
    apply {
        if (hdr.ipv4.isValid()) {
            route.apply();
            hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
        } else {
            drop();
        }
    }
}

control TraceEgress(inout headers_t hdr, inout metadata_t meta,
                    inout standard_metadata_t standard_metadata) {
    action too_old() {
        mark_to_drop(standard_metadata);
    }
    table age {
        key = { hdr.ipv4.ttl: exact; }
        actions = { too_old; NoAction; }
        default_action = NoAction();
        const entries = {
            0: too_old();
        }
    }
    apply {
        age.apply();
    }
}

control TraceUpdate(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control TraceDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
    }
}

V1Switch(TraceParser(), TraceVerify(), TraceIngress(), TraceEgress(), TraceUpdate(),
         TraceDeparser()) main;
