// SPDX-License-Identifier: Apache-2.0
//
// DOCSIS classification: the modem's rule that matches and has the highest
// priority names the service flow. A frame that matches no rule belongs to the
// modem's primary service flow. The primary service flow of modem 0 is the CMTS's
// group service flow, to which frames belong that are flooded downstream.

control Classifier(in headers_t hdr, inout metadata_t meta) {
    direct_counter(CounterType.packets_and_bytes) classifier_counter;
    direct_counter(CounterType.packets_and_bytes) primary_counter;

    action set_service_flow(service_flow_t service_flow) {
        classifier_counter.count();
        meta.service_flow = service_flow;
    }

    action no_classifier() {
        classifier_counter.count();
    }

    table classifier {
        key = {
            meta.modem:              exact   @name("modem");
            hdr.ethernet.dst_addr:   ternary @name("dst_mac");
            hdr.ethernet.src_addr:   ternary @name("src_mac");
            meta.ether_type:         ternary @name("ether_type");
            meta.is_llc:             ternary @name("is_llc");
            meta.llc_dsap:           ternary @name("llc_dsap");
            hdr.vlan.isValid():      ternary @name("tagged");
            hdr.vlan.pcp:            range   @name("vlan_priority");
            hdr.vlan.vid:            ternary @name("vlan_id");
            hdr.ipv4.isValid():      ternary @name("is_ipv4");
            hdr.ipv4.src_addr:       ternary @name("ipv4_src");
            hdr.ipv4.dst_addr:       ternary @name("ipv4_dst");
            hdr.ipv6.isValid():      ternary @name("is_ipv6");
            hdr.ipv6.src_addr:       ternary @name("ipv6_src");
            hdr.ipv6.dst_addr:       ternary @name("ipv6_dst");
            hdr.ipv6.flow_label:     ternary @name("ipv6_flow_label");
            meta.ip_tos:             ternary @name("ip_tos");
            meta.ip_protocol:        ternary @name("ip_protocol");
            meta.has_ports:          ternary @name("has_ports");
            meta.l4_src_port:        range   @name("l4_src_port");
            meta.l4_dst_port:        range   @name("l4_dst_port");
        }
        actions = { @tableonly set_service_flow; @defaultonly no_classifier; }
        default_action = no_classifier();
        counters = classifier_counter;
        size = CLASSIFIERS;
    }

    action set_primary(service_flow_t service_flow) {
        primary_counter.count();
        meta.service_flow = service_flow;
    }

    action no_service_flow() {
        primary_counter.count();
    }

    table primary {
        key = { meta.modem: exact @name("modem"); }
        actions = { @tableonly set_primary; @defaultonly no_service_flow; }
        default_action = no_service_flow();
        counters = primary_counter;
        size = MODEMS;
    }

    apply {
        meta.service_flow = NO_SERVICE_FLOW;
        if (!classifier.apply().hit) {
            primary.apply();
        }
    }
}
