// SPDX-License-Identifier: Apache-2.0
//
// Flow queues: which sub-queue of its service flow a frame goes to. The traffic
// manager serves a service flow's sub-queues by deficit round robin. A session is
// known by the hash of its 5-tuple, all fragments of a datagram without ports, and its
// sub-queue is
//
//   hashed    session * multiplier, as a share of 2^32, of all of them (SFQ; DRR
//             with as many sub-queues as it is given)
//   searched  the same of the groups of GROUP sub-queues, and within the group by
//             serial search (001, "SFQ with Hashing/Serial Searching"): the one
//             that the session had last, else the first that is empty; with all
//             taken, it shares one, and stays there until its frames have left,
//             so that it never overtakes itself
//
// queue_limit is what a sub-queue may hold of the service flow's buffer: all of it where
// they share it, or a part each (002's DRR), so that what does not give way fills its own.
//
// The multiplier is odd. Another one puts sessions together differently, which
// adding to what crc32 is taken of would not.

// Owner: ingress. Bytes handed to the traffic manager, by sub-queue.
register<bytes_t>(SUB_QUEUES) queue_enqueued_bytes;
// Owner: egress. Bytes that left.
register<bytes_t>(SUB_QUEUES) queue_dequeued_bytes;
// Owner: ingress. The session that a search gave the sub-queue to.
register<bit<32>>(SUB_QUEUES) queue_owner;
// Owner: ingress. Of sessions that share the sub-queue of another: queue_enqueued_bytes
// behind the last frame of theirs; while that has not left they stay. Which they are, by
// a bit each (session[6:2]): another one has the same by chance, once in 32, and shares too.
register<bytes_t>(SUB_QUEUES) queue_shared_until;
register<bit<32>>(SUB_QUEUES) queue_sharers;
// Owner: ingress. The service flow's longest sub-queue, as far as frames came to it:
// one that is longer shows when the next frame comes to that. What is scaled by its
// depth is meanwhile scaled by less than the longest's. Bits 23..16 are the generation
// that it was found in.
register<bit<24>>(SERVICE_FLOWS) flow_queue_longest;

const bit<32> GROUP = 4;

// How far a search has come.
const bit<2> SEARCH_NONE  = 0;
const bit<2> SEARCH_EMPTY = 1;   // found one that is empty
const bit<2> SEARCH_OWN   = 2;   // found the session's own

// The bytes that came to a sub-queue and that left it, in ingress. More left than came where
// the order was believed too early (resynchronize.p4): then the sub-queue is empty.
control SubQueueBytes(in bit<32> index, out bytes_t enqueued, out bytes_t dequeued) {
    apply {
        queue_enqueued_bytes.read(enqueued, index);
        queue_dequeued_bytes.read(dequeued, index);
        if (queued_bytes(enqueued, dequeued) == 0) {
            enqueued = dequeued;
        }
    }
}

control SearchSlot(in bit<32> index, in bit<32> session, inout bit<2> found, inout bit<32> chosen) {
    SubQueueBytes() sub_queue_bytes;

    apply {
        if (found != SEARCH_OWN) {
            bit<32> owner;
            queue_owner.read(owner, index);
            if (owner == session) {
                found = SEARCH_OWN;
                chosen = index;
            } else if (found == SEARCH_NONE) {
                bytes_t enqueued;
                bytes_t dequeued;
                sub_queue_bytes.apply(index, enqueued, dequeued);
                if (enqueued == dequeued) {
                    found = SEARCH_EMPTY;
                    chosen = index;
                }
            }
        }
    }
}

// Whether a session has frames in a sub-queue that it shares; its bit among the sharers,
// and those who have.
control Sharing(in bit<32> index, in bit<32> session, out bool waits, out bit<32> bit_of_session,
                out bit<32> sharers) {
    SubQueueBytes() sub_queue_bytes;

    apply {
        bytes_t enqueued;
        bytes_t dequeued;
        bytes_t until;
        sub_queue_bytes.apply(index, enqueued, dequeued);
        queue_shared_until.read(until, index);
        queue_sharers.read(sharers, index);
        // Modulo 2^32: behind the last byte that left, and not behind the last that came.
        if (until == dequeued || until - dequeued > enqueued - dequeued) {
            sharers = 0;
        }
        bit_of_session = (bit<32>)1 << session[6:2];
        waits = (sharers & bit_of_session) != 0;
    }
}

control FlowQueue(in headers_t hdr, inout metadata_t meta, out bytes_t limit) {
    SearchSlot() search_slot;
    Sharing() sharing;

    bit<32> first;
    bit<32> places;       // sub-queues, or groups of them
    bit<32> odd;
    bool    searched;

    action set_hashed(queue_t first_queue, bit<16> queues, bit<32> multiplier,
                      bytes_t queue_limit) {
        first = (bit<32>)first_queue;
        places = (bit<32>)queues;
        odd = multiplier;
        limit = queue_limit;
        searched = false;
    }

    action set_searched(queue_t first_queue, bit<16> groups, bit<32> multiplier,
                        bytes_t queue_limit) {
        first = (bit<32>)first_queue;
        places = (bit<32>)groups;
        odd = multiplier;
        limit = queue_limit;
        searched = true;
    }

    table flow_queues {
        key = { meta.service_flow: exact @name("service_flow"); }
        actions = { set_hashed; set_searched; @defaultonly NoAction; }
        default_action = NoAction();
        size = SERVICE_FLOWS;
    }

    apply {
        first = 0;
        places = 0;
        odd = 0;
        limit = 0;
        searched = false;
        if (flow_queues.apply().hit) {
            bit<32> session;
            bit<16> src_port = meta.l4_src_port;
            bit<16> dst_port = meta.l4_dst_port;
            // Later fragments have no ports, so the first goes without them, too.
            if (hdr.ipv4.isValid() && hdr.ipv4.flags[0:0] == 1) {
                src_port = 0;
                dst_port = 0;
            }
            hash(session, HashAlgorithm.crc32, (bit<32>)0,
                 { meta.ether_type, hdr.ipv4.src_addr, hdr.ipv4.dst_addr,
                   hdr.ipv6.src_addr, hdr.ipv6.dst_addr, meta.ip_protocol,
                   src_port, dst_port },
                 (bit<64>)0x100000000);
            bit<32> spread = session * odd;
            bit<32> place = (bit<32>)(((bit<64>)spread * (bit<64>)places) >> 32);
            bit<32> chosen = first + place;
            meta.first_queue = first;
            meta.queues = places;
            if (searched) {
                meta.queues = places * GROUP;
                bit<2> found = SEARCH_NONE;
                bit<32> group = first + place * GROUP;
                bit<32> shared = group + (session & (GROUP - 1));
                chosen = shared;
                search_slot.apply(group, session, found, chosen);
                search_slot.apply(group + 1, session, found, chosen);
                search_slot.apply(group + 2, session, found, chosen);
                search_slot.apply(group + 3, session, found, chosen);
                if (found != SEARCH_OWN) {
                    bit<32> bit_of_session;
                    bool waits;
                    sharing.apply(shared, session, waits, bit_of_session, meta.sharers);
                    if (waits) {
                        chosen = shared;
                    } else if (found == SEARCH_EMPTY) {
                        meta.sharers = 0;
                        queue_owner.write(chosen, session);
                    } else {
                        meta.sharers = meta.sharers | bit_of_session;
                    }
                }
            }
            meta.sub_queue = (bit<16>)(chosen - first);
            meta.queue = (queue_t)(SERVICE_FLOWS + chosen);
        } else {
            meta.flow_queuing = 0;
        }
    }
}

// Depth of the longest sub-queue of a service flow, that of the frame's own among them.
control LongestQueue(in metadata_t meta, in bytes_t own_depth, out bytes_t depth) {
    SubQueueBytes() sub_queue_bytes;

    apply {
        bit<24> longest;
        flow_queue_longest.read(longest, (bit<32>)meta.service_flow);
        depth = own_depth;
        bool found = false;
        if (longest[23:16] == meta.generation && (bit<32>)longest[15:0] >= SERVICE_FLOWS) {
            bytes_t enqueued;
            bytes_t dequeued;
            bit<32> index = (bit<32>)longest[15:0] - SERVICE_FLOWS;
            sub_queue_bytes.apply(index, enqueued, dequeued);
            if (enqueued - dequeued >= own_depth) {
                found = true;
                depth = enqueued - dequeued;
            }
        }
        if (!found) {
            flow_queue_longest.write((bit<32>)meta.service_flow, meta.generation ++ meta.queue);
        }
    }
}
