// SPDX-License-Identifier: Apache-2.0
//
// Corrects the books of a queue. The backlog is bytes enqueued less bytes dequeued. It is
// right as long as every frame that ingress hands to the traffic manager comes to egress.
// A frame that is lost between them (BMv2's queues of 64 packets lose some) would stay in
// the backlog for good, and in the end no frame would fit.
//
// A frame carries the number of bytes that ingress had enqueued with it (meta.enqueued). A
// queue keeps its order. So when the frame leaves, all that was enqueued before it has left
// or is lost, and just that number has been dequeued. Egress adds the difference to its own
// counter, so each counter keeps its one writer. Sub-queues have counters of their own, and
// the service flow's are corrected with them. A frame costs one comparison, and more only
// where the two differ.
//
// The order does not hold while a service flow gets other sub-queues: what waited in the
// old ones leaves among what came to the new ones. All such changes come with a new
// generation. So differences are believed only when frames of one generation alone have
// left for `settling_time`; until then each counts for its own length.
//
// Nor does it hold where the traffic manager takes frames out of the middle of a queue:
// TCP acknowledgements that later ones make superfluous. Egress hears of each at once, and
// from then on nothing is believed for `settling_time`.
//
// Nothing leaves that could tell when the queue is empty and the books say full. So of
// frames that are to be dropped at the tail, one is let through when nothing has left a
// queue that should have frames for `standstill`: if the queue only stands, it is one
// frame more; if what it had is lost, that frame brings the books in order. The next one
// goes when the standstill is twice as long.

// Owner: egress. Bytes that were lost, modulo 2^32.
register<bytes_t>(SERVICE_FLOWS) sf_lost_bytes;
// Owner: egress. The generation of the frame that left last, and since when it is that:
// looked at where sub-queues take turns and where the books differ.
register<generation_t>(SERVICE_FLOWS) order_generation;
register<time_us_t>(SERVICE_FLOWS) order_since;

// Four seconds: longer than any frame waits that is not held back on purpose.
const time_us_t LONGEST_WAIT = 1 << 22;

// Since when frames of one generation alone have left, as far as anybody looked.
control Order(in metadata_t meta, in time_us_t now, out time_us_t since) {
    apply {
        generation_t generation;
        order_generation.read(generation, (bit<32>)meta.service_flow);
        order_since.read(since, (bit<32>)meta.service_flow);
        if (generation != meta.generation) {
            since = now;
            order_generation.write((bit<32>)meta.service_flow, meta.generation);
            order_since.write((bit<32>)meta.service_flow, now);
        }
    }
}

// Egress, of a frame that the traffic manager has taken out of its queue, wherever it stood.
control Suppressed(in metadata_t meta, in bytes_t length, in time_us_t now) {
    TakenOut() taken_out;

    apply {
        bytes_t dequeued;
        sf_dequeued_bytes.read(dequeued, (bit<32>)meta.service_flow);
        sf_dequeued_bytes.write((bit<32>)meta.service_flow, dequeued + length);
        taken_out.apply(meta);
        order_generation.write((bit<32>)meta.service_flow, meta.generation);
        order_since.write((bit<32>)meta.service_flow, now);
    }
}

// Egress, of a frame whose queue has not dequeued what it should have: `lost` is missing.
control Resynchronize(in metadata_t meta, in bytes_t dequeued, in time_us_t since,
                      in time_us_t now, out bytes_t lost) {
    time_us_t settling;

    action set_settling_time(time_us_t settling_time) {
        settling = settling_time;
    }

    // An entry is for a service flow whose frames need longer, or 2^48 - 1 for one
    // whose queue does not keep their order.
    table order {
        key = { meta.service_flow: exact @name("service_flow"); }
        actions = { set_settling_time; }
        default_action = set_settling_time(LONGEST_WAIT);
        size = SERVICE_FLOWS;
    }

    apply {
        lost = 0;
        settling = 0;
        order.apply();
        if (now - since > settling) {
            bytes_t total;
            lost = meta.enqueued - dequeued;
            sf_resynchronized.count((bit<32>)meta.service_flow);
            sf_lost_bytes.read(total, (bit<32>)meta.service_flow);
            sf_lost_bytes.write((bit<32>)meta.service_flow, total + lost);
        }
    }
}

// Owner of the rest: ingress. By queue: what had left it when it was looked at, since when
// no more has, and when a frame is let through for that.
register<bytes_t>(QUEUES) standstill_dequeued;
register<time_us_t>(QUEUES) standstill_since;
register<time_us_t>(QUEUES) standstill_until;
// The sub-queue of a service flow that is looked at next, and how many were empty in a row.
register<bit<16>>(SERVICE_FLOWS) standstill_sub_queue;
register<bit<16>>(SERVICE_FLOWS) standstill_empty;

// `over`: frames should have left since so long that it is worth a try.
control QueueStandstill(in bit<32> queue, in bytes_t dequeued, in bool waits, in time_us_t longest,
                        in time_us_t now, out bool over) {
    apply {
        bytes_t seen;
        time_us_t since;
        time_us_t until;
        standstill_dequeued.read(seen, queue);
        standstill_since.read(since, queue);
        standstill_until.read(until, queue);
        over = false;
        if (!waits || dequeued != seen || until == 0) {
            standstill_dequeued.write(queue, dequeued);
            standstill_since.write(queue, now);
            standstill_until.write(queue, now |+| longest);
        } else if (now >= until) {
            over = true;
            standstill_until.write(queue, now + (now - since));
        }
    }
}

// Ingress, of a frame that is to be dropped at the tail. `probe`: it goes to meta.queue
// all the same. `vanished`: whatever the books say, the service flow has no frame.
//
// With sub-queues each such frame looks at one of them, in turn, and a probe goes to
// that one, whoever's it is: the sessions whose frames were lost may be silent for ever.
// Where all are empty and nothing came or left, what the service flow has more than
// they was lost with sub-queues that it had before.
control Standstill(inout metadata_t meta, in bytes_t enqueued, in bytes_t dequeued,
                   in time_us_t now, out bool probe, out bool vanished) {
    SubQueueBytes() sub_queue_bytes;
    QueueStandstill() queue_standstill;
    QueueStandstill() all_standstill;
    time_us_t longest;

    action set_standstill(time_us_t standstill) {
        longest = standstill;
    }

    // An entry is for a service flow that is slower than a frame in that time.
    table patience {
        key = { meta.service_flow: exact @name("service_flow"); }
        actions = { set_standstill; }
        default_action = set_standstill(LONGEST_WAIT);
        size = SERVICE_FLOWS;
    }

    apply {
        bit<32> queue = (bit<32>)meta.service_flow;
        bit<16> sub_queue = 0;
        bytes_t left = dequeued;
        bool waits = enqueued != dequeued;
        vanished = false;
        longest = 0;
        patience.apply();
        if (meta.flow_queuing == 1) {
            bytes_t own_enqueued;
            bit<16> empty;
            standstill_sub_queue.read(sub_queue, queue);
            if ((bit<32>)sub_queue >= meta.queues) {
                sub_queue = 0;
            }
            standstill_sub_queue.write(queue, sub_queue + 1);
            sub_queue_bytes.apply(meta.first_queue + (bit<32>)sub_queue, own_enqueued, left);
            waits = own_enqueued != left;

            standstill_empty.read(empty, queue);
            empty = empty + 1;
            if (waits) {
                empty = 0;
            } else if ((bit<32>)empty > meta.queues) {
                empty = 0;
                // The sum changes with whatever comes or leaves.
                all_standstill.apply(queue, enqueued + dequeued, enqueued != dequeued, longest,
                                     now, vanished);
            }
            standstill_empty.write(queue, empty);
            queue = SERVICE_FLOWS + meta.first_queue + (bit<32>)sub_queue;
        }
        queue_standstill.apply(queue, left, waits, longest, now, probe);
        if (probe) {
            meta.queue = (queue_t)queue;
            meta.sub_queue = sub_queue;
        }
    }
}
