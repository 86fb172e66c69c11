// SPDX-License-Identifier: Apache-2.0
// What a request/grant MAC's traffic manager says of a packet that a grant let go, by the names
// of metadata fields: each frame gets it in front of what it carries.

#include <core.p4>
#include <v1model.p4>

header report_t {
    bit<8>  granted;
    bit<32> granted_bytes;
    bit<32> acked_req_bytes;
    bit<16> requests_met;   // cut: the field is narrower than what is counted
}

struct headers_t {
    report_t report;
}

struct grants_t {
    bit<1>  granted;
    bit<32> granted_bytes;
    bit<32> acked_req_bytes;
    bit<16> requests_met;
}

struct metadata_t {
    grants_t grants;
}

parser GrantsParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                    inout standard_metadata_t standard_metadata) {
    state start {
        transition accept;
    }
}

control NoVerify(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control GrantsIngress(inout headers_t hdr, inout metadata_t meta,
                      inout standard_metadata_t standard_metadata) {
    apply {
        standard_metadata.egress_spec = 2;
    }
}

control GrantsEgress(inout headers_t hdr, inout metadata_t meta,
                     inout standard_metadata_t standard_metadata) {
    apply {
        hdr.report.setValid();
        hdr.report.granted = (bit<8>)meta.grants.granted;
        hdr.report.granted_bytes = meta.grants.granted_bytes;
        hdr.report.acked_req_bytes = meta.grants.acked_req_bytes;
        hdr.report.requests_met = meta.grants.requests_met;
    }
}

control NoCompute(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control GrantsDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.report);
    }
}

V1Switch(GrantsParser(), NoVerify(), GrantsIngress(), GrantsEgress(), NoCompute(),
         GrantsDeparser()) main;
