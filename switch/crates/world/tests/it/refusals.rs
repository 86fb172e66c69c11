// SPDX-License-Identifier: Apache-2.0
//! What cannot be is refused in a sentence, and changes nothing.

use crate::common::{SECOND, Shape, flow, host, world};
use world::{
    DeviceOptions, Flow, HostOptions, LinkConfig, ProbesOptions, RateLimitId, TcpOptions, Times,
    TransferOptions, UdpStreamOptions, WorldError,
};

fn words<T>(result: Result<T, WorldError>) -> String {
    match result {
        Err(error @ WorldError::Invalid(_)) => error.to_string(),
        Err(error) => panic!("another kind: {error}"),
        Ok(_) => panic!("it was done"),
    }
}

fn device<'a>(name: &'a str, device_id: u64, ports: &[u16]) -> DeviceOptions<'a> {
    DeviceOptions {
        name,
        device_id,
        ports: ports.to_vec(),
        ..DeviceOptions::default()
    }
}

#[test]
fn devices_links_and_hosts() {
    let mut world = world(&Shape::default());
    let mut says = |options: DeviceOptions<'_>, expected: &str| {
        assert_eq!(words(world.add_device(&options)), expected);
    };
    says(
        device("near", 9, &[1]),
        "there is a device \"near\" already",
    );
    says(
        device("new", 1, &[1]),
        "device \"near\" has device_id 1 already",
    );
    says(
        device("new", 0, &[1]),
        "a device_id of 0 is none: P4Runtime keeps it",
    );
    says(
        device("new", 9, &[1, 1]),
        "device \"new\" is given port 1 twice",
    );
    says(
        device("new", 9, &[511]),
        "port 511 of device \"new\" is not within 1 to 510",
    );
    says(
        device("", 9, &[1]),
        "a device's name has 1 to 64 bytes, not 0",
    );

    let wire = LinkConfig::default();
    let mut says = |one: (&str, u16), other: (&str, u16), expected: &str| {
        assert_eq!(words(world.connect(one, other, wire)), expected);
    };
    says(
        ("near", 1),
        ("far", 9),
        "port 1 of device \"near\" has a link already",
    );
    says(
        ("near", 11),
        ("far", 9),
        "device \"near\" has no port 11 for a link",
    );
    says(
        ("here", 1),
        ("far", 9),
        "there is no device \"here\"; there are far, near",
    );
    says(
        ("near", 9),
        ("near", 9),
        "port 9 of device \"near\" cannot be connected with itself",
    );

    let base = HostOptions {
        name: "new",
        mac: [2, 0, 0, 0, 9, 9],
        address: [10, 0, 0, 99],
        device: "near",
        port: 9,
        ..HostOptions::default()
    };
    let mut says = |options: HostOptions<'_>, expected: &str| {
        assert_eq!(words(world.add_host(&options)), expected);
    };
    let known = host(0, 1);
    says(
        HostOptions {
            name: &known,
            ..base.clone()
        },
        "there is a host \"near1\" already",
    );
    says(
        HostOptions {
            mac: [2, 0, 0, 0, 1, 1],
            ..base.clone()
        },
        "host \"new\" cannot have the MAC address of host \"near1\"",
    );
    says(
        HostOptions {
            address: [10, 0, 1, 2],
            ..base.clone()
        },
        "host \"new\" cannot have the IPv4 address of host \"far2\"",
    );
    says(
        HostOptions {
            port: 2,
            ..base.clone()
        },
        "port 2 of device \"near\" has a link already",
    );
    world.add_host(&base).unwrap();
}

#[test]
fn time_and_traffic() {
    let mut world = world(&Shape::default());
    world.run_until(SECOND).unwrap();
    assert_eq!(
        words(world.run_until(SECOND - 1)),
        "time does not go back: it is 1000000000 ns, and 999999999 ns is before that"
    );
    let (near, far) = (host(0, 1), host(1, 1));
    let fine = flow(&near, &far, 5000);
    let transfer = TransferOptions::default();
    let mut says = |flow: Flow<'_>, options: TransferOptions, expected: &str| {
        let said = words(world.add_transfer(&flow, &options));
        assert!(said.contains(expected), "{said}");
    };
    says(
        Flow {
            source: "x",
            ..fine
        },
        transfer,
        "there is no host \"x\"",
    );
    says(
        Flow {
            destination: &near,
            ..fine
        },
        transfer,
        "cannot send to itself",
    );
    says(
        Flow { port: 0, ..fine },
        transfer,
        "port 0 is no destination",
    );
    says(
        Flow { one_in: 3, ..fine },
        transfer,
        "one packet in 3 cannot be recorded",
    );
    let times = |start, stop| TransferOptions {
        times: Times { start, stop },
        ..transfer
    };
    says(
        fine,
        times(Some(5), None),
        "cannot start at 5 ns: it is 1000000000 ns already",
    );
    says(
        fine,
        times(None, Some(SECOND)),
        "cannot stop at 1000000000 ns",
    );
    says(
        fine,
        TransferOptions {
            size: Some(0),
            ..transfer
        },
        "not 0",
    );
    says(
        fine,
        TransferOptions {
            pause: Some(1),
            ..transfer
        },
        "give a size",
    );
    says(
        fine,
        TransferOptions {
            kept: true,
            ..transfer
        },
        "give a size",
    );
    says(
        fine,
        TransferOptions {
            rate: Some(0),
            ..transfer
        },
        "a rate of transfers is 1 to 100000000000 bit/s, not 0",
    );
    says(
        fine,
        TransferOptions {
            shared_limit: Some(RateLimitId(0)),
            ..transfer
        },
        "there is no rate limit 0",
    );
    says(
        fine,
        TransferOptions {
            rate: Some(1),
            shared_limit: Some(RateLimitId(0)),
            ..transfer
        },
        "leave one out",
    );
    let ledbat = |ledbat_target| TransferOptions {
        tcp: TcpOptions {
            ledbat_target,
            ..TcpOptions::default()
        },
        ..transfer
    };
    says(fine, ledbat(0), "not 0 ns");
    let timeout = |least_timeout| TransferOptions {
        tcp: TcpOptions {
            least_timeout: Some(least_timeout),
            ..TcpOptions::default()
        },
        ..transfer
    };
    says(fine, timeout(999_999), "1 ms to a minute, not 999999 ns");
    let window = |receive_window| TransferOptions {
        tcp: TcpOptions {
            receive_window: Some(receive_window),
            ..TcpOptions::default()
        },
        ..transfer
    };
    says(fine, window(2047), "2048 to 1073741824 bytes, not 2047");
    says(fine, window((1 << 30) + 1), "bytes, not 1073741825");
    says(fine, ledbat(100_000_001), "at most 100 ms (RFC 6817 2.5)");
    let tcp = |initial_window, segment| TransferOptions {
        tcp: TcpOptions {
            initial_window,
            segment,
            ..TcpOptions::default()
        },
        ..transfer
    };
    says(
        fine,
        tcp(0, 1448),
        "an initial window has 1 to 1000 segments, not 0",
    );
    says(fine, tcp(10, 1449), "not 1449");
    let ports = Flow {
        source_port: 60_000,
        ..fine
    };
    let series = TransferOptions {
        size: Some(1),
        pause: Some(1),
        ..transfer
    };
    says(ports, series, "source port 60000 is too high");

    let own = Flow {
        source_port: 77,
        ..fine
    };
    world.add_transfer(&own, &transfer).unwrap();
    let said = words(world.add_transfer(&own, &transfer));
    assert!(
        said.starts_with("there is a flow from TCP port 77 of host \"near1\""),
        "{said}"
    );

    let probes = ProbesOptions {
        start: None,
        interval: 0,
        count: 1,
        frame_length: 218,
    };
    assert!(words(world.add_probes(&fine, &probes)).contains("not 0 ns"));
    let probes = ProbesOptions {
        interval: 1,
        frame_length: 63,
        ..probes
    };
    assert!(words(world.add_probes(&fine, &probes)).contains("64 to 1518 bytes"));
    let stream = UdpStreamOptions {
        times: Times::default(),
        frame_length: 1000,
        interval: 1,
        train: 1,
        on_off: (0, 5),
        at: None,
    };
    assert!(words(world.add_udp_stream(&fine, stream.clone())).contains("give both"));
    let stream = UdpStreamOptions {
        on_off: (0, 0),
        at: Some(vec![2 * SECOND, SECOND]),
        ..stream
    };
    let both = words(world.add_udp_stream(&fine, stream.clone()));
    assert!(
        both.starts_with("datagrams at given times have no interval"),
        "{both}"
    );
    let stream = UdpStreamOptions {
        interval: 0,
        ..stream
    };
    assert_eq!(
        words(world.add_udp_stream(&fine, stream)),
        "times of datagrams are given in order"
    );
    let unknown = words(world.counts(99));
    assert_eq!(
        unknown,
        "there is no application 99; there are 1, counted from 0"
    );
}

/// What begins so late that its times would wrap around would begin at once.
#[test]
fn traffic_behind_the_end() {
    let mut world = world(&Shape::default());
    let (near, far) = (host(0, 1), host(1, 1));
    let times = Times {
        start: Some(u64::MAX - 1),
        stop: None,
    };
    let stream = UdpStreamOptions {
        times,
        frame_length: 200,
        interval: SECOND,
        train: 1,
        on_off: (0, 0),
        at: None,
    };
    let expected = format!(
        "traffic cannot start at {} ns: a world ends at {} ns",
        u64::MAX - 1,
        1_u64 << 60
    );
    assert_eq!(
        words(world.add_udp_stream(&flow(&near, &far, 5000), stream)),
        expected
    );
    let transfer = TransferOptions {
        times,
        ..TransferOptions::default()
    };
    assert_eq!(
        words(world.add_transfer(&flow(&near, &far, 5201), &transfer)),
        expected
    );
}
