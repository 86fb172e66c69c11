// SPDX-License-Identifier: Apache-2.0
//
// Latency-based RED at the head of the queue (001, figure 10c): the sojourn time
// of a packet that leaves says with which probability it is dropped instead,
//
//   nothing below MINth, Pmin at MINth, Pmax at MAXth, a line between, Pmax above.
//
// In its queue-depth form it takes the bytes in the queue, this packet's included, instead
// of the sojourn time. There is no state: each packet is decided on alone.

control Lred(in service_flow_t service_flow, in bit<32> sojourn_time, in bytes_t depth,
             out bool drop) {
    bit<32> measure;
    bit<32> minth;
    bit<32> maxth;
    prob_t pmin;
    prob_t pmax;
    bit<32> reciprocal;   // see ramp.p4

    // Thresholds in microseconds.
    action set_sojourn_curve(bit<32> min_threshold, bit<32> max_threshold, prob_t min_probability,
                             prob_t max_probability, bit<32> threshold_reciprocal) {
        measure = sojourn_time;
        minth = min_threshold;
        maxth = max_threshold;
        pmin = min_probability;
        pmax = max_probability;
        reciprocal = threshold_reciprocal;
    }

    // Thresholds in bytes.
    action set_depth_curve(bit<32> min_threshold, bit<32> max_threshold, prob_t min_probability,
                           prob_t max_probability, bit<32> threshold_reciprocal) {
        measure = depth;
        minth = min_threshold;
        maxth = max_threshold;
        pmin = min_probability;
        pmax = max_probability;
        reciprocal = threshold_reciprocal;
    }

    table parameters {
        key = { service_flow: exact @name("service_flow"); }
        actions = { set_sojourn_curve; set_depth_curve; @defaultonly NoAction; }
        default_action = NoAction();
        size = SERVICE_FLOWS;
    }

    apply {
        drop = false;
        measure = 0;
        minth = 0;
        maxth = 0;
        pmin = 0;
        pmax = 0;
        reciprocal = 0;
        if (parameters.apply().hit && measure >= minth) {
            prob_t p = pmax;
            if (measure < maxth) {
                p = pmin + ramp(measure, minth, reciprocal, pmax - pmin);
            }
            bit<28> u;
            random(u, 0, 0xfffffff);
            drop = (prob_t)u < p;
        }
    }
}
