// SPDX-License-Identifier: Apache-2.0
//
// The data path of Adaptive RED: the arrival of a packet in 002's appendix, in
// its order and with its names, lengths in bytes where 002 counts packets. The
// controller does the rest: every half second it adapts maxp to the average queue. If
// the buffer has no room, a frame is dropped before and is in no average. Above
// maxth every frame is dropped and the count begins anew, as in Floyd and Jacobson.
//
// 002 runs it "on packet arrival to a system where all channels are busy". What shows
// that here is a frame that waits: a frame that finds the queue empty passes, and
// leaves average and count as they are. Floyd and Jacobson let the average decay with
// idle time; 002 does not. While the controller is silent, the average goes on, as it
// needs the queue alone. Nobody adapts maxp then, so nothing is dropped or counted.
//
//   computeDropProbability():  pb = maxp * (avg - minth) / (maxth - minth)
//                              pa = pb / (1 - count * pb)
//
// (Floyd and Jacobson 1993), where the decision u < pa is u * (1 - count * pb) < pb.

// Owner of all: ingress.
// Average queue length: bytes, unsigned fixed point Q32.16.
register<bit<48>>(SERVICE_FLOWS) red_avg;
// 002's count, which starts at -1, and 1.
register<bit<32>>(SERVICE_FLOWS) red_count;
register<generation_t>(SERVICE_FLOWS) red_generation;

const prob_t PROB_ONE = 268435456;   // 1.0

control AdaptiveRed(in metadata_t meta, in bytes_t backlog, in bool controller_silent,
                    out bool drop) {
    bytes_t minth;
    bytes_t maxth;
    bit<16> wq;           // weight of a sample, Q0.16
    bit<32> reciprocal;   // see ramp.p4

    action set_red(bytes_t min_threshold, bytes_t max_threshold, bit<16> weight,
                   bit<32> threshold_reciprocal) {
        minth = min_threshold;
        maxth = max_threshold;
        wq = weight;
        reciprocal = threshold_reciprocal;
    }

    table parameters {
        key = { meta.service_flow: exact @name("service_flow"); }
        actions = { set_red; @defaultonly NoAction; }
        default_action = NoAction();
        size = SERVICE_FLOWS;
    }

    apply {
        drop = false;
        minth = 0;
        maxth = 0;
        wq = 0;
        reciprocal = 0;
        if (backlog != 0 && parameters.apply().hit) {
            bit<48> avg;
            bit<32> count;
            prob_t maxp;
            generation_t generation;
            red_avg.read(avg, (bit<32>)meta.service_flow);
            red_count.read(count, (bit<32>)meta.service_flow);
            red_generation.read(generation, (bit<32>)meta.service_flow);
            aqm_drop_prob.read(maxp, (bit<32>)meta.service_flow);
            if (generation != meta.generation) {
                avg = 0;
                count = 0;
                red_generation.write((bit<32>)meta.service_flow, meta.generation);
            }

            // avgQ = (1 - Wq) * avgQ + Wq * q.curSize()
            bit<48> sample = (bit<48>)backlog << 16;
            if (sample >= avg) {
                avg = avg + (bit<48>)(((bit<64>)(sample - avg) * (bit<64>)wq) >> 16);
            } else {
                avg = avg - (bit<48>)(((bit<64>)(avg - sample) * (bit<64>)wq) >> 16);
            }

            bytes_t avg_bytes = avg[47:16];
            if (controller_silent) {
                // Count and maxp wait for it to come back.
            } else if (avg_bytes >= maxth) {
                drop = true;
            } else if (avg_bytes >= minth) {
                prob_t pb = ramp(avg_bytes, minth, reciprocal, maxp);
                // Packets since the last drop, times pb: 1 or more is certain.
                bit<64> spaced = (bit<64>)count * (bit<64>)pb;
                if (spaced >= (bit<64>)PROB_ONE) {
                    drop = true;
                } else {
                    bit<28> u;
                    random(u, 0, 0xfffffff);
                    drop = (bit<64>)u * ((bit<64>)PROB_ONE - spaced)
                        < (bit<64>)pb * (bit<64>)PROB_ONE;
                }
                count = count + 1;
            } else {
                count = 0;
            }
            if (drop) {
                // 002 counts from 0 after a drop and from -1 where the average is low.
                count = 1;
            }
            red_avg.write((bit<32>)meta.service_flow, avg);
            red_count.write((bit<32>)meta.service_flow, count);
        }
    }
}
