// SPDX-License-Identifier: Apache-2.0
//
// DOCSIS classification: the rule of highest priority that matches names the
// service flow. The primary service flow is the default action.

control Classifier(in headers_t hdr, inout metadata_t meta) {
    direct_counter(CounterType.packets_and_bytes) classifier_counter;

    action set_service_flow(service_flow_t service_flow) {
        classifier_counter.count();
        meta.service_flow = service_flow;
    }

    action no_classifier() {
        classifier_counter.count();
        meta.service_flow = NO_SERVICE_FLOW;
    }

    table classifier {
        key = {
            hdr.ethernet.dst_addr:   ternary @name("dst_mac");
            hdr.ethernet.src_addr:   ternary @name("src_mac");
            hdr.ethernet.ether_type: ternary @name("ether_type");
            hdr.vlan.isValid():      ternary @name("tagged");
            hdr.vlan.pcp:            ternary @name("vlan_priority");
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
            meta.l4_src_port:        range   @name("l4_src_port");
            meta.l4_dst_port:        range   @name("l4_dst_port");
        }
        actions = { set_service_flow; no_classifier; }
        default_action = no_classifier();
        counters = classifier_counter;
        size = CLASSIFIERS;
    }

    apply {
        classifier.apply();
    }
}
