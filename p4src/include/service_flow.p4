// SPDX-License-Identifier: Apache-2.0
//
// The queue of a service flow as both halves of the pipeline see it. The
// backlog is the difference, modulo 2^32, of two counters with one writer each.

// Owner: ingress. Bytes handed to the traffic manager.
register<bytes_t>(SERVICE_FLOWS) sf_enqueued_bytes;
// Owner: egress. Bytes that left the queue.
register<bytes_t>(SERVICE_FLOWS) sf_dequeued_bytes;

// Ingress: what is provisioned for the service flow, and where it is queued.
control ServiceFlowQueue(inout metadata_t meta, inout standard_metadata_t standard_metadata,
                         out queue_config_t queue, out bool provisioned) {
    action set_queue(port_t port, bit<16> queue_id, bit<3> traffic_priority,
                     bytes_t buffer_size, bytes_t max_frame, queue_manager_t queue_manager,
                     generation_t generation, bit<1> flow_queuing,
                     delay_us_t latency_target, delay_us_t controller_timeout,
                     bit<8> tos_and, bit<8> tos_or) {
        meta.rf_port = port;
        meta.queue_id = queue_id;
        meta.tos_and = tos_and;
        meta.tos_or = tos_or;
        // What BMv2 has of it: eight queues a port, 7 before 0.
        standard_metadata.priority = traffic_priority;
        queue.buffer_size = buffer_size;
        queue.max_frame = max_frame;
        meta.queue_manager = queue_manager;
        meta.generation = generation;
        meta.flow_queuing = flow_queuing;
        meta.queue = meta.service_flow;
        queue.latency_target = latency_target;
        queue.controller_timeout = controller_timeout;
    }

    action no_queue() {
        queue = { 0, 0, 0, 0 };
    }

    table service_flow {
        key = { meta.service_flow: exact @name("service_flow"); }
        actions = { set_queue; @defaultonly no_queue; }
        default_action = no_queue();
        size = SERVICE_FLOWS;
    }

    apply {
        provisioned = service_flow.apply().hit;
        if (provisioned && meta.flooded == 0) {
            // The service flow knows its channel; a station only says "to RF".
            standard_metadata.egress_spec = meta.rf_port;
        }
    }
}
