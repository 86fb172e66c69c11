// SPDX-License-Identifier: Apache-2.0
//
// CoDel: RFC 8289, section 5, in its order and with its names, one packet a pass.
// deque() of the RFC takes packets until it has one to send; here each packet that
// leaves the queue comes by itself, and a dropped one is followed by the next at
// the same time, because the traffic manager sends nothing in its place. What
// deque() knows from one packet to the next is the phase:
//
//   FREE      dropping_ is false
//   DROPPING  dropping_ is true
//   FIRST     dropping_ has just become true: the packet behind the first drop
//             is sent, whatever its sojourn time
//   NEXT      a packet was dropped while dropping_: the one behind it says
//             whether to go on, and only then is drop_next_ set
//
// The RFC's dodequeue() without a packet cannot follow a drop: no packet is ok to
// drop that leaves no more than the largest packet behind it.
//
// interval / sqrt(count) comes from the table inv_sqrt, which the controller
// fills (docsis_control/law/inverse_square_root.py tells its error).
//
// There are two of it, each with state of its own: `codel` in egress, at the head
// of the queue, of the time that the packet waited; and `codel_dt` in ingress, at
// the tail, of the time that it is predicted to wait: CoDel-DT (000, section 4.3),
// "the identical drop decision logic as CoDel, but applied at enqueue".

const bit<8> CODEL_FREE     = 0;
const bit<8> CODEL_DROPPING = 1;
const bit<8> CODEL_FIRST    = 2;
const bit<8> CODEL_NEXT     = 3;

// The greatest count for which the table inv_sqrt has a value: 256 drops an interval.
const bit<32> CODEL_LARGEST_COUNT = 65535;

// `arrival`: when the frame came to the switch. Frames of an earlier generation may
// still leave among those of this one: see departure_rate.p4.
control Codel(in metadata_t meta, in bytes_t backlog, in bit<32> sojourn_time,
              in time_us_t arrival, in time_us_t now, out bool drop) {
    // Owner of all: the half that this is in. By queue; microseconds, 0 is "not above".
    register<time_us_t>(QUEUES) first_above_time_;
    register<time_us_t>(QUEUES) drop_next_;
    register<bit<32>>(QUEUES) count_;
    register<bit<32>>(QUEUES) lastcount_;
    register<bit<8>>(QUEUES) phase_;
    register<generation_t>(QUEUES) generation_;
    register<time_us_t>(QUEUES) generation_start_;

    delay_us_t target;
    delay_us_t interval;
    bit<32> inverse;   // 1 / sqrt(count), unsigned fixed point Q1.31

    action set_codel(delay_us_t latency_target, delay_us_t control_interval) {
        target = latency_target;
        interval = control_interval;
    }

    action no_codel() {
        target = 0;
        interval = 0;
    }

    table parameters {
        key = { meta.service_flow: exact @name("service_flow"); }
        actions = { set_codel; @defaultonly no_codel; }
        default_action = no_codel();
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
        if (parameters.apply().hit) {
            bit<32> queue = (bit<32>)meta.queue;
            time_us_t first_above_time;
            time_us_t drop_next;
            bit<8> phase;
            generation_t generation;
            first_above_time_.read(first_above_time, queue);
            drop_next_.read(drop_next, queue);
            count_.read(count, queue);
            phase_.read(phase, queue);
            generation_.read(generation, queue);
            if (generation != meta.generation) {
                time_us_t generation_start;
                generation_start_.read(generation_start, queue);
                if (meta.generation - generation < GENERATIONS_AHEAD
                    || arrival > generation_start) {
                    first_above_time = 0;
                    drop_next = 0;
                    count = 0;
                    phase = CODEL_FREE;
                    lastcount_.write(queue, 0);
                    generation_.write(queue, meta.generation);
                    generation_start_.write(queue, now);
                }
            }

            // dodequeue(now)
            bool ok_to_drop = false;
            if (sojourn_time < target || backlog <= MAX_PACKET) {
                first_above_time = 0;
            } else if (first_above_time == 0) {
                first_above_time = now + (time_us_t)interval;
            } else if (now >= first_above_time) {
                ok_to_drop = true;
            }

            // deque(); from where control_law() counts, 0 for not at all
            time_us_t law_from = 0;
            bool sent = false;
            if (phase == CODEL_FIRST) {
                phase = CODEL_DROPPING;
                sent = true;
            } else if (phase == CODEL_FREE) {
                if (ok_to_drop) {
                    drop = true;
                    phase = CODEL_FIRST;
                    bit<32> lastcount;
                    lastcount_.read(lastcount, queue);
                    bit<32> delta = count - lastcount;
                    count = 1;
                    // drop_next may lie ahead: then it is not long ago at all.
                    if (delta > 1 && delta <= CODEL_LARGEST_COUNT
                        && (drop_next > now || now - drop_next < (time_us_t)interval << 4)) {
                        count = delta;
                    }
                    lastcount_.write(queue, count);
                    law_from = now;
                }
            } else if (!ok_to_drop) {
                phase = CODEL_FREE;
            } else {
                if (phase == CODEL_NEXT) {
                    law_from = drop_next;
                }
                phase = CODEL_DROPPING;
            }

            if (law_from != 0) {
                inverse = 0;
                inv_sqrt.apply();
                drop_next = law_from + (time_us_t)(((bit<64>)interval * (bit<64>)inverse) >> 31);
            }

            // while (now >= drop_next_ && dropping_)
            if (phase == CODEL_DROPPING && !sent && now >= drop_next) {
                drop = true;
                phase = CODEL_NEXT;
                if (count < CODEL_LARGEST_COUNT) {
                    count = count + 1;
                }
            }

            first_above_time_.write(queue, first_above_time);
            drop_next_.write(queue, drop_next);
            count_.write(queue, count);
            phase_.write(queue, phase);
        }
    }
}
