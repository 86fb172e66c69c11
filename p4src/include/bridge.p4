// SPDX-License-Identifier: Apache-2.0
//
// Layer 2 forwarding. The controller provisions the stations; a frame to any
// other address is flooded to the multicast group of its ingress port, which
// leaves that port out.
//
// A station is looked up for the modem of the ingress port. So one switch
// holds the bridges of many modems, which share nothing but the RF port, and
// on a CMTS the station tells the modem.

control Bridge(in headers_t hdr, inout metadata_t meta,
               inout standard_metadata_t standard_metadata, out bool routed) {
    direct_counter(CounterType.packets_and_bytes) interface_counter;
    direct_counter(CounterType.packets_and_bytes) station_counter;

    // to_rf: the flood group contains the RF port (a CPE port of a modem, a
    // network port of a CMTS). modem: whose CPE port it is; 0 at other ports.
    action provision(bit<16> flood_group, bit<1> to_rf, modem_t modem) {
        interface_counter.count();
        standard_metadata.mcast_grp = flood_group;
        meta.to_rf = to_rf;
        meta.modem = modem;
        meta.flooded = 1;
    }

    action unknown_interface() {
        interface_counter.count();
        mark_to_drop(standard_metadata);
    }

    table interface {
        key = { standard_metadata.ingress_port: exact @name("port"); }
        actions = { provision; @defaultonly unknown_interface; }
        default_action = unknown_interface();
        counters = interface_counter;
        size = INTERFACES;
    }

    // modem: whose rules classify the frame towards the RF port.
    action forward(port_t port, bit<1> to_rf, modem_t modem) {
        station_counter.count();
        standard_metadata.egress_spec = port;
        standard_metadata.mcast_grp = 0;
        meta.to_rf = to_rf;
        meta.modem = modem;
        meta.flooded = 0;
    }

    action flood() {
        station_counter.count();
    }

    table station {
        key = {
            meta.modem:            exact @name("modem");
            hdr.ethernet.dst_addr: exact @name("address");
        }
        actions = { forward; flood; }
        default_action = flood();
        counters = station_counter;
        size = STATIONS;
    }

    apply {
        routed = false;
        if (interface.apply().hit) {
            station.apply();
            // A group of 0 floods to nobody.
            routed = meta.flooded == 0 || standard_metadata.mcast_grp != 0;
        }
    }
}
