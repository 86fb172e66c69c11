// SPDX-License-Identifier: Apache-2.0
//
// Queue managers: the one place that registers them. Each has a number, by which a service
// flow's entry names it, and a file of its own. It has a branch where it decides: at the
// tail about a frame that comes, or at the head about one that leaves. In a half without a
// branch of its own it drops nothing.

// --- Numbers. The controller has them from here: `make tables`.

const queue_manager_t DROP_TAIL    = 0;   // nobody: the buffer's limit alone
const queue_manager_t DOCSIS_PIE   = 1;   // docsis_pie.p4
const queue_manager_t CODEL        = 2;   // codel.p4, at the head
const queue_manager_t PIE          = 3;   // pie.p4
const queue_manager_t ADAPTIVE_RED = 4;   // adaptive_red.p4
const queue_manager_t CODEL_DT     = 5;   // codel.p4, at the tail, of a predicted delay
const queue_manager_t LRED         = 6;   // lred.p4
const queue_manager_t CODEL_002    = 7;   // codel_002.p4, measures at the head, drops at the tail
const queue_manager_t PIE_002      = 8;   // pie_002.p4
const queue_manager_t DOCSIS_PIE_2014 = 9;   // docsis_pie.p4, with the departure rate measured

// --- Files, with what some of them share

#include "docsis_pie.p4"
#include "pie.p4"
#include "departure_rate.p4"
#include "ramp.p4"
#include "adaptive_red.p4"
#include "codel.p4"
#include "lred.p4"
#include "reciprocal.p4"
#include "pie_002.p4"
#include "codel_002.p4"
#include "flow_queue.p4"

// --- Decisions

// Ingress. `controller_silent`: a law's probability was not used, as nobody maintains it.
control DropAtTail(in metadata_t meta, in queue_config_t queue, in bytes_t packet_size,
                   in bytes_t backlog, in bytes_t own_depth, in time_us_t now,
                   out bool drop, out bool controller_silent) {
    FailSafe() fail_safe;
    DocsisPie() docsis_pie;
    LongestQueue() longest_queue;
    Pie() pie;
    @name(".FrameIngress.adaptive_red") AdaptiveRed() adaptive_red;
    PredictedDelay() predicted_delay;
    @name(".FrameIngress.codel_dt") Codel() codel_dt;
    @name(".FrameIngress.codel_002") Codel002Arrival() codel_002;
    Pie002Arrival() pie_002;

    apply {
        drop = false;
        controller_silent = false;
        if (meta.queue_manager == DOCSIS_PIE || meta.queue_manager == PIE
            || meta.queue_manager == ADAPTIVE_RED || meta.queue_manager == DOCSIS_PIE_2014) {
            fail_safe.apply(queue.controller_timeout, now, controller_silent);
            if (meta.queue_manager == ADAPTIVE_RED) {
                adaptive_red.apply(meta, backlog, controller_silent, drop);
            } else if (!controller_silent) {
                if (meta.queue_manager == DOCSIS_PIE || meta.queue_manager == DOCSIS_PIE_2014) {
                    docsis_pie.apply(meta.service_flow, packet_size, backlog,
                                     queue.latency_target, queue.buffer_size, drop);
                } else {
                    bytes_t longest_depth = own_depth;
                    if (meta.flow_queuing == 1) {
                        longest_queue.apply(meta, own_depth, longest_depth);
                    }
                    pie.apply(meta.service_flow, backlog, own_depth, longest_depth,
                              queue.latency_target, drop);
                }
            }
        } else if (meta.queue_manager == CODEL_DT) {
            bit<32> delay;
            predicted_delay.apply(meta, backlog, delay);
            codel_dt.apply(meta, backlog, delay, now, now, drop);
        } else if (meta.queue_manager == PIE_002) {
            fail_safe.apply(queue.controller_timeout, now, controller_silent);
            pie_002.apply(meta.service_flow, backlog, controller_silent, drop);
        } else if (meta.queue_manager == CODEL_002) {
            codel_002.apply(meta, backlog, now, drop);
        }
    }
}

// Egress. Backlogs without the frame itself.
control DropAtHead(in metadata_t meta, in bytes_t packet_size, in bytes_t backlog,
                   in bytes_t own_depth, in bit<32> sojourn_time, in time_us_t arrival,
                   in time_us_t now, out bool drop) {
    DepartureRate() departure_rate;
    @name(".FrameEgress.codel") Codel() codel;
    @name(".FrameEgress.lred") Lred() lred;
    @name(".FrameEgress.codel_002") Codel002Departure() codel_002;
    @name(".FrameEgress.pie_002") Pie002Departure() pie_002;

    apply {
        drop = false;
        if (meta.queue_manager == CODEL) {
            codel.apply(meta, own_depth, sojourn_time, arrival, now, drop);
        } else if (meta.queue_manager == PIE || meta.queue_manager == CODEL_DT
                   || meta.queue_manager == DOCSIS_PIE_2014) {
            departure_rate.apply(meta, packet_size, backlog, arrival, now);
        } else if (meta.queue_manager == LRED) {
            lred.apply(meta.service_flow, sojourn_time, own_depth + packet_size, drop);
        } else if (meta.queue_manager == PIE_002) {
            pie_002.apply(meta.service_flow, backlog, now);
        } else if (meta.queue_manager == CODEL_002) {
            codel_002.apply(meta, sojourn_time, now);
        }
    }
}

// --- Books of their own

// Ingress, of every frame that goes to the traffic manager, whatever was decided before.
control Enqueued(in metadata_t meta) {
    Pie002Enqueued() pie_002;

    apply {
        if (meta.queue_manager == PIE_002) {
            pie_002.apply(meta.service_flow);
        }
    }
}

// Egress, of a frame that the traffic manager has taken out of its queue.
control TakenOut(in metadata_t meta) {
    Pie002TakenOut() pie_002;

    apply {
        if (meta.queue_manager == PIE_002) {
            pie_002.apply(meta.service_flow);
        }
    }
}
