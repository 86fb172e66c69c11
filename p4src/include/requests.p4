// SPDX-License-Identifier: Apache-2.0
//
// What a service flow was granted, and whether it goes on requesting, for the rate tracking
// of 000, appendix A. The paper counts at each MAP; its `pending_` ends when all requested bytes
// have been granted. From these counts the controller sees what happened in an interval.
//
//   behind a request/grant MAC   the traffic manager counts at each MAP, and says with each
//       frame that leaves what it has counted so far, which is kept here
//   elsewhere   departures stand in for grants, and the end of requests is when a frame has
//       left and nothing behind it may be sent: the queue is empty, or the sustained rate's
//       tokens are spent

// Owner of all: egress. Bytes modulo 2^32 that MAPs granted.
register<bytes_t>(SERVICE_FLOWS) sf_granted_bytes;
// Bytes requested and acknowledged, not granted, after the last MAP.
register<bytes_t>(SERVICE_FLOWS) sf_acked_req_bytes;
// How often requests had ended, modulo 2^32.
register<bit<32>>(SERVICE_FLOWS) sf_requests_met;

control Requests(in metadata_t meta, in bytes_t backlog, in bool tokens_spent) {
    apply {
        if (meta.granted == 1) {
            sf_granted_bytes.write((bit<32>)meta.service_flow, meta.granted_bytes);
            sf_acked_req_bytes.write((bit<32>)meta.service_flow, meta.acked_req_bytes);
            sf_requests_met.write((bit<32>)meta.service_flow, meta.requests_met);
        } else if (backlog == 0 || tokens_spent) {
            bit<32> met;
            sf_requests_met.read(met, (bit<32>)meta.service_flow);
            sf_requests_met.write((bit<32>)meta.service_flow, met + 1);
        }
    }
}
