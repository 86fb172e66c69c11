// SPDX-License-Identifier: Apache-2.0
//
// The data path of PIE: drop_early() of RFC 8033, appendix A, without the
// optional de-randomisation, in the RFC's order and with its names. The control
// path (drop_prob, qdelay_old, burst_allowance) runs in the controller; the
// departure rate that it estimates the delay with is measured in egress
// (departure_rate.p4).
//
// With flow queues the probability is scaled by the depth of the frame's own
// sub-queue over that of the longest (000, section 4.6): a frame that finds its
// sub-queue empty is never dropped, and a single backlogged sub-queue is treated
// as a queue without them. Without flow queues both depths are the backlog.

control Pie(in service_flow_t service_flow, in bytes_t backlog, in bytes_t own_depth,
            in bytes_t longest_depth, in delay_us_t latency_target, out bool drop) {
    apply {
        drop = false;

        delay_us_t burst_allowance;
        aqm_burst_allowance.read(burst_allowance, (bit<32>)service_flow);
        if (burst_allowance == 0) {
            prob_t drop_prob;
            delay_us_t qdelay_old;
            aqm_drop_prob.read(drop_prob, (bit<32>)service_flow);
            aqm_qdelay_old.read(qdelay_old, (bit<32>)service_flow);
            bool suppressed =
                (qdelay_old < latency_target >> 1 && drop_prob < PROB_SUPPRESS)
                || backlog <= 2 * MEAN_PKTSIZE;
            if (!suppressed) {
                bit<28> u;
                random(u, 0, 0xfffffff);
                // u < drop_prob * own_depth / longest_depth, without the division
                drop = (bit<64>)u * (bit<64>)longest_depth
                    < (bit<64>)drop_prob * (bit<64>)own_depth;
            }
        }
    }
}
