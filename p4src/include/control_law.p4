// SPDX-License-Identifier: Apache-2.0
//
// What the controller's periodic laws tell the data path, and the fail-safe: a
// probability that nobody maintains must not drop.
//
// A service flow's queue manager says which law runs. DOCSIS-PIE and PIE use the
// first three registers, by the names of their RFCs. Adaptive RED has its maxp in
// drop_prob, and 002's PIE has its probability there, and in control_state how often it
// was reset. Before a service flow gets another law, the controller writes 0 to the
// first three, so that no law reads another one's probability.

// Owner: the controller. Probabilities in Q4.28.
register<prob_t>(SERVICE_FLOWS) aqm_drop_prob;
register<delay_us_t>(SERVICE_FLOWS) aqm_qdelay_old;
register<delay_us_t>(SERVICE_FLOWS) aqm_burst_allowance;
register<bit<32>>(SERVICE_FLOWS) aqm_control_state;
// The switch's time at the controller's last update of any service flow.
register<time_us_t>(1) controller_heartbeat;

// What RFC 8033 and RFC 8034 have in common.
const bytes_t MEAN_PKTSIZE  = 1024;
const prob_t  PROB_SUPPRESS = 53687091;    // 0.2

control FailSafe(in delay_us_t timeout, in time_us_t now, out bool controller_silent) {
    apply {
        time_us_t heartbeat;
        controller_heartbeat.read(heartbeat, 0);
        // Modulo 2^48 one of the two is the distance. A heartbeat ahead of this clock, by
        // rounding or by an estimate of the clock, is as fresh as one that is as old. One
        // that is further ahead does not show that the controller is alive.
        controller_silent = heartbeat == 0
            || (now - heartbeat > (time_us_t)timeout && heartbeat - now > (time_us_t)timeout);
    }
}
