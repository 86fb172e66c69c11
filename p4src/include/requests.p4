// SPDX-License-Identifier: Apache-2.0
//
// Whether a service flow goes on requesting, for the rate tracking of 000,
// appendix A: its `pending_` ends when no requested bytes are left to be granted.
// Here that is when a frame has left and nothing behind it may be sent: the queue
// is empty, or the sustained rate's tokens are spent. The controller sees from the
// count whether that happened in an interval.

// Owner: egress.
register<bit<32>>(SERVICE_FLOWS) sf_requests_met;

control Requests(in service_flow_t service_flow, in bytes_t backlog, in bool tokens_spent) {
    apply {
        if (backlog == 0 || tokens_spent) {
            bit<32> met;
            sf_requests_met.read(met, (bit<32>)service_flow);
            sf_requests_met.write((bit<32>)service_flow, met + 1);
        }
    }
}
