// SPDX-License-Identifier: Apache-2.0
//! Tests the flags that scripts for simple_switch_grpc pass, and those that are refused.

use super::port::PortArg;
use super::*;
use device::ModelKind;

fn parsed(line: &str) -> Result<(Cli, TargetArgs), clap::Error> {
    parse(line.split_whitespace().map(OsString::from))
}

fn names(ignored: Vec<(&'static str, &'static str)>) -> Vec<&'static str> {
    ignored.into_iter().map(|(name, _)| name).collect()
}

#[test]
fn takes_what_mininet_scripts_pass() {
    let (cli, target) = parsed(
        "/opt/bin/simple_switch_grpc -i 1@s1-eth1 -i 2@s1-eth2 --pcap /tmp/pcaps --nanolog \
         ipc:///tmp/bm-0-log.ipc --device-id 0 build/basic.json --debugger --log-console \
         --thrift-port 9090 -- --grpc-server-addr 0.0.0.0:50051 --cpu-port 255 --priority-queues 8",
    )
    .unwrap();
    let switch = cli.switch;
    switch.check(&target).unwrap();
    let ports = vec![(1, "s1-eth1".into()), (2, "s1-eth2".into())];
    assert_eq!(switch.devices(), [(0, ports)].into());
    assert_eq!(switch.program.as_deref(), Some("build/basic.json".as_ref()));
    assert_eq!(
        names(switch.ignored()),
        ["--thrift-port", "--nanolog", "--debugger"]
    );
    assert_eq!(target.cpu_port, Some(255));
    assert_eq!(target.grpc_server_addr.to_string(), "0.0.0.0:50051");
    assert_eq!(switch.model(&target), ModelKind::Bmv2 { priorities: 8 });
}

#[test]
fn every_option_of_bmv2_is_known() {
    let (cli, target) = parsed(
        "docsis-switch --interface=3@eth0 --no-p4 --pcap -L warning --log-file /tmp/x --log-flush \
         --log-file-max-size 1 --log-file-max-files 2 --notifications-addr ipc:x --packet-in ipc:y \
         --debugger-addr ipc:z --dump-packet-data 64 --restore-state f --use-files 0 \
         --max-port-count 20 -- --disable-swap --dp-grpc-server-addr 0.0.0.0:1 --max-mc-groups 1 \
         --max-l1-entries 2 --max-l2-entries 3 --load-modules a.so --drop-port 7",
    )
    .unwrap();
    let switch = &cli.switch;
    switch.check(&target).unwrap();
    assert_eq!(switch.log_level, Some(LogLevel::Warn));
    assert_eq!(switch.pcap.as_deref(), Some(Path::new(".")));
    assert_eq!(switch.ignored().len(), 9);
    assert_eq!(target.ignored().len(), 6);
    assert_eq!((target.drop_port, target.cpu_port), (7, None));
    assert_eq!(switch.model(&target), ModelKind::Docsis);
}

#[test]
fn tls_as_bmv2_and_as_ours() {
    let (_, target) = parsed(
        "x --no-p4 -- --grpc-server-ssl --grpc-server-cacert a --grpc-server-cert c \
         --grpc-server-key k --grpc-server-with-client-auth",
    )
    .unwrap();
    assert!(target.grpc_server_ssl && target.grpc_server_with_client_auth);
    let (cli, _) = parsed("x --no-p4 --grpc-tls-cert c --grpc-tls-key k").unwrap();
    assert!(cli.switch.grpc_tls_cert.is_some() && cli.switch.grpc_tls_client_ca.is_none());
    assert!(parsed("x --no-p4 --grpc-tls-cert c").is_err());
    assert!(parsed("x --no-p4 --grpc-tls-client-ca c").is_err());
}

#[test]
fn several_devices() {
    let devices = |line: &str| -> Vec<(u64, usize)> {
        let (cli, target) = parsed(line).unwrap();
        cli.switch.check(&target).unwrap();
        let devices = cli.switch.devices();
        devices
            .into_iter()
            .map(|(id, ports)| (id, ports.len()))
            .collect()
    };
    assert_eq!(devices("x --no-p4"), [(0, 0)]);
    assert_eq!(devices("x --no-p4 --device-id 7"), [(7, 0)]);
    assert_eq!(
        devices("x --no-p4 -i 1:1@a -i 2:1@b -i 1:2@c"),
        [(1, 2), (2, 1)]
    );
    assert_eq!(devices("x --no-p4 -i 1:1@a -i 1@b"), [(0, 1), (1, 1)]);
    assert_eq!(
        devices("x --no-p4 --device-id 5 -i 1:1@a -i 1@b"),
        [(1, 1), (5, 1)]
    );
    let (cli, _) = parsed("x --no-p4 -i 1:4@a").unwrap();
    let port = PortArg {
        device: Some(1),
        port: 4,
        interface: "a".into(),
    };
    assert_eq!(cli.switch.interface, [port]);
}

#[test]
fn devices_that_an_rf_link_joins() {
    let line = "x --no-p4 --device-id 1 -i 1:2@a -i 2:2@b --rf-link 1:1,2:1 --device-grpc-addr \
                2@127.0.0.1:5";
    let (cli, target) = parsed(line).unwrap();
    cli.switch.check(&target).unwrap();
    assert_eq!(cli.switch.rf_link, [RfLinkArg([(1, 1), (2, 1)])]);
    assert_eq!(cli.switch.device_grpc_addr[0].device, 2);
    // A device may have nothing but its RF link.
    let (cli, _) = parsed("x --no-p4 --rf-link 3:1,4:1").unwrap();
    let devices: Vec<u64> = cli.switch.devices().into_keys().collect();
    assert_eq!(devices, [3, 4]);
    for (line, words) in [
        (
            "x --no-p4 -i 1:1@a --rf-link 1:1,2:1",
            "is given an RF link and interface a",
        ),
        (
            "x --no-p4 --rf-link 1:1,2:1 --rf-link 1:1,3:1",
            "is given two RF links",
        ),
        (
            "x --no-p4 --rf-link 1:9,2:1 -- --cpu-port 9",
            "is the CPU port",
        ),
        (
            "x --no-p4 --rf-link 1:1,2:1 --record f",
            "--record is for one device by itself",
        ),
        (
            "x --no-p4 --rf-link 1:1,2:1 --traffic-manager bmv2",
            "--rf-link needs",
        ),
        (
            "x --no-p4 --device-grpc-addr 5@127.0.0.1:5",
            "there is no device 5",
        ),
    ] {
        let (cli, target) = parsed(line).unwrap();
        let refused = cli.switch.check(&target).unwrap_err();
        assert!(refused.contains(words), "{refused}");
    }
}

#[test]
fn the_name_chooses_the_default_only() {
    let model = |line: &str| {
        let (cli, target) = parsed(line).unwrap();
        cli.switch.model(&target)
    };
    assert_eq!(model("docsis-switch --no-p4"), ModelKind::Docsis);
    assert_eq!(
        model("simple_switch_grpc --no-p4"),
        ModelKind::Bmv2 { priorities: 1 }
    );
    assert_eq!(
        model("bin/simple_switch_grpc --no-p4 --traffic-manager docsis"),
        ModelKind::Docsis
    );
    assert_eq!(
        model("x --no-p4 --traffic-manager bmv2 -- --priority-queues 3"),
        ModelKind::Bmv2 { priorities: 3 }
    );
}

#[test]
fn sub_commands_are_not_programs() {
    let (cli, _) = parsed("docsis-switch forward a b").unwrap();
    assert!(matches!(cli.command, Some(Command::Forward { .. })));
    let (cli, _) = parsed("docsis-switch bench pipeline --program cm.json --json").unwrap();
    assert!(matches!(cli.command, Some(Command::Bench { .. })));
    let (cli, _) = parsed("docsis-switch ctl counters --address 127.0.0.1:1 --json").unwrap();
    match cli.command {
        Some(Command::Ctl(ctl)) => assert!(ctl.json && ctl.address.to_string() == "127.0.0.1:1"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn refuses_what_cannot_be() {
    for line in [
        "x",
        "x a.json --no-p4",
        "x --no-p4 --p4info f",
        "x --no-p4 -i 1@a -i 1@b",
        "x --no-p4 -i 1@a -i 2@a",
        "x --no-p4 -i 1:1@a -i 2:1@a",
        "x --no-p4 --device-id 3 -i 1@a -i 3:1@b",
        "x --no-p4 -i 511@a",
        "x --no-p4 -i 255@a -- --cpu-port 255",
        "x --no-p4 -i 5@a -- --drop-port 5",
    ] {
        let (cli, target) = parsed(line).unwrap();
        assert!(cli.switch.check(&target).is_err(), "{line}");
    }
    for line in [
        "x --no-p4 -i 1",
        "x --no-p4 -- --cpu-port 0",
        "x --no-p4 -- --grpc-server-addr nonsense",
        "x --no-p4 -- --priority-queues 0",
        "x --no-p4 --traffic-manager other",
        "x --no-p4 --log-level loud",
    ] {
        assert!(parsed(line).is_err(), "{line}");
    }
}

#[test]
fn an_option_on_the_wrong_side_is_told_where_it_goes() {
    let words = |line: &str| parsed(line).unwrap_err().to_string();
    let front = words("simple_switch_grpc -i 0@veth0 a.json --grpc-server-addr 0.0.0.0:50051");
    assert!(
        front.contains("--grpc-server-addr goes behind `--`"),
        "{front}"
    );
    let back = words("simple_switch_grpc -i 0@veth0 a.json -- --thrift-port 9090");
    assert!(
        back.contains("--thrift-port goes in front of `--`"),
        "{back}"
    );
    let unknown = words("simple_switch_grpc --no-such-flag a.json");
    assert!(
        unknown.contains("unexpected argument '--no-such-flag'"),
        "{unknown}"
    );
}

#[test]
fn captures_of_channels_and_traces_of_devices() {
    let joined = "x --no-p4 --device-id 1 --rf-link 1:1,2:1";
    let (cli, target) = parsed(&format!(
        "{joined} --channel-pcap us1=a.pcap --channel-pcap us2=b.pcap --device-trace 1=cm.txt \
         --device-trace 2=cmts.txt --trace-format json"
    ))
    .unwrap();
    cli.switch.check(&target).unwrap();
    assert_eq!(cli.switch.channel_pcap.channel_pcap.len(), 2);
    assert_eq!(cli.switch.channel_pcap.channel_pcap_limit, 64);
    assert_eq!(cli.switch.device_trace[1].file, Path::new("cmts.txt"));
    let refused = |line: &str| -> String {
        match parsed(line) {
            Ok((cli, target)) => cli.switch.check(&target).unwrap_err(),
            Err(error) => error.to_string(),
        }
    };
    assert!(refused("x --no-p4 --channel-pcap us1=a.pcap").contains("--rf-link"));
    assert_eq!(
        refused(&format!("{joined} --channel-pcap a=1 --channel-pcap a=2")),
        "--channel-pcap: channel a is named twice"
    );
    for traces in [
        "--device-trace 3=a",
        "--device-trace 2=a --device-trace 2=b",
    ] {
        assert_eq!(
            refused(&format!("{joined} {traces}")).split(':').next(),
            Some("--device-trace")
        );
    }
    assert!(refused(&format!("{joined} --trace f --device-trace 1=a")).contains("cannot be used"));
    assert!(refused(&format!("{joined} --trace-format json")).contains("--trace"));
    assert!(refused(&format!("{joined} --channel-pcap-limit 1")).contains("--channel-pcap"));
}
