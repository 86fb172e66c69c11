// SPDX-License-Identifier: Apache-2.0
// A patch panel: port 1 to port 2 and back. The low bits of the EtherType are
// the priority (bmv2 traffic manager); every packet says so in the log.

#include <core.p4>
#include <v1model.p4>

header ethernet_t {
    bit<48> destination;
    bit<48> source;
    bit<16> type;
}

struct headers_t {
    ethernet_t ethernet;
}

struct metadata_t {}

parser WireParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                  inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.ethernet);
        transition accept;
    }
}

control WireVerify(inout headers_t hdr, inout metadata_t meta) { apply {} }

control WireIngress(inout headers_t hdr, inout metadata_t meta,
                    inout standard_metadata_t standard) {
    apply {
        standard.egress_spec = standard.ingress_port ^ 3;
        standard.priority = hdr.ethernet.type[2:0];
        log_msg("wire to port {}", {standard.egress_spec});
    }
}

control WireEgress(inout headers_t hdr, inout metadata_t meta,
                   inout standard_metadata_t standard) { apply {} }

control WireUpdate(inout headers_t hdr, inout metadata_t meta) { apply {} }

control WireDeparser(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.ethernet); }
}

V1Switch(WireParser(), WireVerify(), WireIngress(), WireEgress(), WireUpdate(),
         WireDeparser()) main;
