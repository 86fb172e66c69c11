// SPDX-License-Identifier: Apache-2.0
//
// The data path of DOCSIS-PIE: drop_early() of RFC 8034, appendix A, in the
// RFC's order and with its names. The control path (drop_prob, qdelay_old, the
// state machine's quiet periods) runs in the controller every 16 ms.
//
// The RFC lets both paths write the state and burst_allowance. Here each
// register has one writer, and a transition of either path cannot be lost
// whatever the interleaving:
//
//   aqm_data_state     written here: the state this path went to last, and
//                      behind it a sequence number that counts its transitions
//   aqm_control_state  written by the controller: the state it decided on, and
//                      the sequence number that it had seen when it decided
//
// Equal sequence numbers: the controller knows all that happened here, and its
// state holds. Different: this path moved after the controller looked, and its
// own state holds; the controller's write, decided without that knowledge, has
// no effect, and its next update acknowledges the new number. A burst starts
// with such a transition (to ACTIVE), so while it is unacknowledged the
// allowance is the full MAX_BURST; the controller takes it over from there.
// The controller writes burst_allowance before control_state, so that there is
// no moment at which the burst is acknowledged and not yet allowed.

// Owner: ingress.
register<prob_t>(SERVICE_FLOWS) aqm_accu_prob;
register<bit<32>>(SERVICE_FLOWS) aqm_data_state;

// Bits 1..0 of aqm_data_state and aqm_control_state; the sequence number is above.
const bit<2> AQM_INACTIVE  = 0;
const bit<2> AQM_QUIESCENT = 1;
const bit<2> AQM_ACTIVE    = 2;

// RFC 8034 A.1; probabilities in Q4.28.
const delay_us_t MAX_BURST     = 142000;
const bit<8>     MEAN_PKTSIZE_LOG2 = 10;
const prob_t     PROB_LOW      = 228170138;   // 0.85
const prob_t     PROB_HIGH     = 2281701376;  // 8.5

control DocsisPie(in service_flow_t service_flow, in bytes_t packet_size, in bytes_t backlog,
                  in delay_us_t latency_target, in bytes_t buffer_size, out bool drop) {
    apply {
        drop = false;

        bit<32> data_state;
        bit<32> control_state;
        delay_us_t burst_allowance;
        aqm_data_state.read(data_state, (bit<32>)service_flow);
        aqm_control_state.read(control_state, (bit<32>)service_flow);
        aqm_burst_allowance.read(burst_allowance, (bit<32>)service_flow);

        bit<2> state = control_state[1:0];
        if (data_state[31:2] != control_state[31:2]) {
            state = data_state[1:0];
            if (state == AQM_ACTIVE) {
                burst_allowance = MAX_BURST;
            }
        }

        if (burst_allowance == 0) {
            prob_t drop_prob;
            prob_t accu_prob;
            aqm_drop_prob.read(drop_prob, (bit<32>)service_flow);
            aqm_accu_prob.read(accu_prob, (bit<32>)service_flow);
            if (drop_prob == 0) {
                accu_prob = 0;
            }

            // The controller-independent start of control: a third of the buffer.
            if (state == AQM_INACTIVE && (bit<34>)backlog * 3 >= (bit<34>)buffer_size) {
                state = AQM_QUIESCENT;
                data_state = (data_state[31:2] + 1) ++ state;
            }

            if (state != AQM_INACTIVE) {
                bit<64> scaled = ((bit<64>)drop_prob * (bit<64>)packet_size) >> MEAN_PKTSIZE_LOG2;
                prob_t p1 = PROB_LOW;
                if (scaled < (bit<64>)PROB_LOW) {
                    p1 = scaled[31:0];
                }
                // Beyond PROB_HIGH the next frame that may be dropped is dropped; adding
                // more while drops are suppressed would only wrap around.
                if (accu_prob < PROB_HIGH) {
                    accu_prob = accu_prob + p1;
                }

                delay_us_t qdelay_old;
                aqm_qdelay_old.read(qdelay_old, (bit<32>)service_flow);
                bool suppressed =
                    (qdelay_old < latency_target >> 1 && drop_prob < PROB_SUPPRESS)
                    || backlog <= 2 * MEAN_PKTSIZE;

                if (!suppressed && accu_prob >= PROB_LOW) {
                    if (accu_prob >= PROB_HIGH) {
                        drop = true;
                    } else {
                        bit<28> u;
                        random(u, 0, 0xfffffff);
                        drop = (prob_t)u < p1;
                    }
                }
                if (drop) {
                    accu_prob = 0;
                    if (state == AQM_QUIESCENT) {
                        data_state = (data_state[31:2] + 1) ++ AQM_ACTIVE;
                    }
                }
            }
            aqm_accu_prob.write((bit<32>)service_flow, accu_prob);
            aqm_data_state.write((bit<32>)service_flow, data_state);
        }
    }
}
