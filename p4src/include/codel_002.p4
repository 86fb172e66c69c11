// SPDX-License-Identifier: Apache-2.0
//
// CoDel as 002's appendix has it, in its order and with its names: what leaves tells how
// long it waited, and what arrives is dropped for it. Arrivals matter where "all channels
// are busy", which is where something waits.
//
// Each half has registers of its own. 002 has one flag `dropping`, which the departure
// turns on and off, and one `drop_now`, which it sets when it turns dropping on. Here the
// departure counts its changes: dropping is on while the number is odd, and drop_now is
// set until the arrival has dropped a frame for that number. `count` begins at 0 in each
// dropping state. 002's branch for "drop_next == 0.0" is not here: it cannot be reached,
// as the frame that drop_now drops sets drop_next.

// Owner: egress. 0 is "not above".
register<time_us_t>(SERVICE_FLOWS) codel_002_first_above_time;
// Owner: egress. Bits 31..24: the generation; bits 23..0: how often dropping was turned
// on and off, so that bit 0 is 002's dropping.
register<bit<32>>(SERVICE_FLOWS) codel_002_dropping;
// Owner of the rest: ingress.
register<bit<32>>(SERVICE_FLOWS) codel_002_count;
register<time_us_t>(SERVICE_FLOWS) codel_002_drop_next;
// What codel_002_dropping held when drop_now was carried out last.
register<bit<32>>(SERVICE_FLOWS) codel_002_dropped_now;

control Codel002Arrival(in metadata_t meta, in bytes_t backlog, in time_us_t now, out bool drop) {
    delay_us_t interval;
    bit<32> inverse;   // 1 / sqrt(count), unsigned fixed point Q1.31

    action set_interval(delay_us_t control_interval) {
        interval = control_interval;
    }

    table parameters {
        key = { meta.service_flow: exact @name("service_flow"); }
        actions = { set_interval; @defaultonly NoAction; }
        default_action = NoAction();
        size = SERVICE_FLOWS;
    }

    action set_inverse(bit<32> inverse_square_root) {
        inverse = inverse_square_root;
    }

    bit<32> count;
    table inv_sqrt {
        key = { count: range @name("count"); }
        actions = { set_inverse; @defaultonly NoAction; }
        default_action = NoAction();
        size = 512;
    }

    apply {
        drop = false;
        interval = 0;
        bit<32> dropping;
        codel_002_dropping.read(dropping, (bit<32>)meta.service_flow);
        bool may_drop = backlog != 0 && dropping[0:0] == 1 && dropping[31:24] == meta.generation;
        if (may_drop && parameters.apply().hit) {
            time_us_t drop_next;
            bit<32> dropped_now;
            codel_002_count.read(count, (bit<32>)meta.service_flow);
            codel_002_drop_next.read(drop_next, (bit<32>)meta.service_flow);
            codel_002_dropped_now.read(dropped_now, (bit<32>)meta.service_flow);
            if (dropped_now != dropping) {
                drop = true;
                count = 0;
                codel_002_dropped_now.write((bit<32>)meta.service_flow, dropping);
            } else if (now > drop_next) {
                drop = true;
            }
            if (drop) {
                if (count < CODEL_LARGEST_COUNT) {
                    count = count + 1;
                }
                inverse = 0;
                inv_sqrt.apply();
                drop_next = now + (time_us_t)(((bit<64>)interval * (bit<64>)inverse) >> 31);
                codel_002_count.write((bit<32>)meta.service_flow, count);
                codel_002_drop_next.write((bit<32>)meta.service_flow, drop_next);
            }
        }
    }
}

// `d_exp`: microseconds that the frame waited.
control Codel002Departure(in metadata_t meta, in bit<32> d_exp, in time_us_t now) {
    delay_us_t target;
    delay_us_t interval;

    action set_codel_002(delay_us_t latency_target, delay_us_t control_interval) {
        target = latency_target;
        interval = control_interval;
    }

    table parameters {
        key = { meta.service_flow: exact @name("service_flow"); }
        actions = { set_codel_002; @defaultonly NoAction; }
        default_action = NoAction();
        size = SERVICE_FLOWS;
    }

    apply {
        target = 0;
        interval = 0;
        if (parameters.apply().hit) {
            time_us_t first_above_time;
            bit<32> dropping;
            codel_002_first_above_time.read(first_above_time, (bit<32>)meta.service_flow);
            codel_002_dropping.read(dropping, (bit<32>)meta.service_flow);
            bit<24> changes = dropping[23:0];
            if (dropping[31:24] != meta.generation) {
                first_above_time = 0;
                changes = changes + (bit<24>)changes[0:0];
            }

            if (changes[0:0] == 1) {
                if (d_exp < target) {
                    // switchToNotDropping()
                    changes = changes + 1;
                    first_above_time = 0;
                }
            } else if (d_exp > target) {
                if (first_above_time == 0) {
                    first_above_time = now + (time_us_t)interval;
                } else if (now >= first_above_time) {
                    // switchToDropping()
                    changes = changes + 1;
                }
            } else {
                first_above_time = 0;
            }

            codel_002_first_above_time.write((bit<32>)meta.service_flow, first_above_time);
            codel_002_dropping.write((bit<32>)meta.service_flow, meta.generation ++ changes);
        }
    }
}
