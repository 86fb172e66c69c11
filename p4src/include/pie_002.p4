// SPDX-License-Identifier: Apache-2.0
//
// The data path of PIE as 002's appendix has it, in its order and with its names. The
// queue and its departure rate are counted in packets. The controller does what follows
// "if (curTime - lastUpdateTime > Tupdate)" (docsis_control/law/pie_002.py).
//
//   arrival     "to a system where all channels are busy": where something waits. A frame
//               that dropDecision() chose is kept while there is a burst allowance
//   departure   measures how long dq_threshold packets take, which also uses up the
//               allowance
//
// Two words of the slides are read as what they come from, PIE's own code: dq_count and
// q.getLevel() are compared with a number of packets, not with target_delay; and the
// allowance is used up where tmp is, at the end of a measurement. The first measurement
// is the rate, where 0.9 * 0 + 0.1 * dq_count / tmp would begin with a tenth of it.
//
// The update starts the measurement and the allowance afresh, which are this half's own
// registers: it counts such resets in bits 1..0 of aqm_control_state, and the next frame
// that leaves finds another number than the one it knows. No further reset is decided on
// before a measurement was made after the last, so that two bits tell them apart.

// Owner: ingress. Frames that found others waiting: 002's update waits for one.
register<bit<32>>(SERVICE_FLOWS) pie_002_arrivals;
// Owner: ingress. Frames handed to the traffic manager while this managed them.
register<bit<32>>(SERVICE_FLOWS) pie_002_enqueued;
// Owner: egress. Those of them that left, or that were taken out of the queue.
register<bit<32>>(SERVICE_FLOWS) pie_002_dequeued;
// Owner: egress. 002's dq_count, which starts at -1, and 1.
register<bit<32>>(SERVICE_FLOWS) pie_002_dq_count;
register<time_us_t>(SERVICE_FLOWS) pie_002_dq_start;
// Owner: egress. Bits 47..40: the number of the reset that was done last. Bits 39..0:
// packets a second, Q24.16; 0 is "not measured yet".
register<bit<48>>(SERVICE_FLOWS) pie_002_departure_rate;
// Owner: egress. Microseconds.
register<delay_us_t>(SERVICE_FLOWS) pie_002_burst_allowance;

// 0.1 in Q0.27, and a packet a microsecond in packets a second.
const bit<64> PIE_002_WEIGHT = 13421773;
const bit<64> PACKETS_A_SECOND = 1000000;
// A reciprocal's 62 bits behind the point, without the rate's 16.
const bit<8>  PIE_002_FRACTION = 46;
const bit<64> LARGEST_PACKET_RATE = 0xffffffffff;

control Pie002Arrival(in service_flow_t service_flow, in bytes_t backlog,
                      in bool controller_silent, out bool drop) {
    apply {
        drop = false;
        if (backlog != 0) {
            bit<32> arrivals;
            pie_002_arrivals.read(arrivals, (bit<32>)service_flow);
            pie_002_arrivals.write((bit<32>)service_flow, arrivals + 1);

            delay_us_t burst_allowance;
            pie_002_burst_allowance.read(burst_allowance, (bit<32>)service_flow);
            if (burst_allowance == 0 && !controller_silent) {
                prob_t drop_prob;
                bit<28> u;
                aqm_drop_prob.read(drop_prob, (bit<32>)service_flow);
                random(u, 0, 0xfffffff);
                drop = (prob_t)u < drop_prob;
            }
        }
    }
}

control Pie002Enqueued(in service_flow_t service_flow) {
    apply {
        bit<32> enqueued;
        pie_002_enqueued.read(enqueued, (bit<32>)service_flow);
        pie_002_enqueued.write((bit<32>)service_flow, enqueued + 1);
    }
}

control Pie002TakenOut(in service_flow_t service_flow) {
    apply {
        bit<32> dequeued;
        pie_002_dequeued.read(dequeued, (bit<32>)service_flow);
        pie_002_dequeued.write((bit<32>)service_flow, dequeued + 1);
    }
}

// `backlog`: bytes behind the frame.
control Pie002Departure(in service_flow_t service_flow, in bytes_t backlog, in time_us_t now) {
    Reciprocal() reciprocal;

    bit<32> threshold;   // 002's dq_threshold: packets, at most 1,024
    delay_us_t burst;

    action set_pie_002(bit<32> dq_threshold, delay_us_t max_burst) {
        threshold = dq_threshold;
        burst = max_burst;
    }

    table parameters {
        key = { service_flow: exact @name("service_flow"); }
        actions = { set_pie_002; @defaultonly NoAction; }
        default_action = NoAction();
        size = SERVICE_FLOWS;
    }

    apply {
        bit<32> enqueued;
        bit<32> dequeued;
        pie_002_enqueued.read(enqueued, (bit<32>)service_flow);
        pie_002_dequeued.read(dequeued, (bit<32>)service_flow);
        dequeued = dequeued + 1;
        // What was lost on its way between the halves is waited for no longer than that.
        if (backlog == 0) {
            dequeued = enqueued;
        }
        pie_002_dequeued.write((bit<32>)service_flow, dequeued);
        bit<32> level = enqueued - dequeued;
        // A target with threads of its own for the halves may write one before the other.
        if (level >= 1 << 31) {
            level = 0;
        }

        threshold = 0;
        burst = 0;
        if (parameters.apply().hit) {
            bit<32> dq_count;
            time_us_t dq_start;
            bit<48> measured;
            delay_us_t burst_allowance;
            bit<32> control_state;
            pie_002_dq_count.read(dq_count, (bit<32>)service_flow);
            pie_002_dq_start.read(dq_start, (bit<32>)service_flow);
            pie_002_departure_rate.read(measured, (bit<32>)service_flow);
            pie_002_burst_allowance.read(burst_allowance, (bit<32>)service_flow);
            aqm_control_state.read(control_state, (bit<32>)service_flow);
            bit<40> departure_rate = measured[39:0];
            bit<8> resets = 6w0 ++ control_state[1:0];
            if (measured[47:40] != resets) {
                dq_count = 0;
                departure_rate = 0;
                burst_allowance = burst;
            }

            if (level >= threshold && dq_count == 0) {
                dq_start = now;
                dq_count = 1;
            }
            if (dq_count != 0) {
                dq_count = dq_count + 1;
                if (dq_count > threshold) {
                    time_us_t tmp = now - dq_start;
                    if (tmp > LONGEST_DQ_TIME) {
                        tmp = LONGEST_DQ_TIME;
                    }
                    // Of frames that left within a microsecond.
                    if (tmp == 0) {
                        tmp = 1;
                    }
                    bit<64> mantissa;
                    bit<8> shift;
                    reciprocal.apply((bit<32>)tmp, mantissa, shift);
                    // dq_count / tmp: below 2^30 times below 2^32.
                    bit<64> rate = ((bit<64>)threshold * PACKETS_A_SECOND * mantissa)
                        >> (PIE_002_FRACTION - shift);
                    if (rate > LARGEST_PACKET_RATE) {
                        rate = LARGEST_PACKET_RATE;
                    }
                    bit<64> average = (bit<64>)departure_rate;
                    if (average == 0) {
                        average = rate;
                    } else if (rate >= average) {
                        average = average + (((rate - average) * PIE_002_WEIGHT) >> 27);
                    } else {
                        average = average - (((average - rate) * PIE_002_WEIGHT) >> 27);
                    }
                    departure_rate = average[39:0];

                    // Restart a measurement cycle if there is enough data.
                    if (level > threshold) {
                        dq_start = now;
                        dq_count = 1;
                    } else {
                        dq_count = 0;
                    }
                    // Update burst allowance.
                    if (burst_allowance > (delay_us_t)tmp) {
                        burst_allowance = burst_allowance - (delay_us_t)tmp;
                    } else {
                        burst_allowance = 0;
                    }
                }
            }

            pie_002_dq_count.write((bit<32>)service_flow, dq_count);
            pie_002_dq_start.write((bit<32>)service_flow, dq_start);
            pie_002_departure_rate.write((bit<32>)service_flow, resets ++ departure_rate);
            pie_002_burst_allowance.write((bit<32>)service_flow, burst_allowance);
        }
    }
}
