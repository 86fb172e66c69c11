// SPDX-License-Identifier: Apache-2.0
//! Options of the switch in front of `--`: simple_switch_grpc's and our own.

use super::channel_pcap::ChannelPcapArgs;
use super::device_address::{self, DeviceAddressArg};
use super::device_trace::{self, DeviceTraceArg};
use super::port::{self, PortArg};
use super::rf_link::{self, RfLinkArg};
use super::target::TargetArgs;
use crate::record::RecordArgs;
use crate::trace::TraceArgs;
use clap::{Args, ValueEnum};
use device::ModelKind;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// The traffic manager between ingress and egress.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TrafficManagerKind {
    /// Service-flow queues with dual token buckets.
    Docsis,
    /// Queues in packets with strict priority, as BMv2 has them.
    Bmv2,
}

/// How much is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum LogLevel {
    /// Everything.
    Trace,
    /// Also what log_msg says.
    Debug,
    /// Normal events.
    Info,
    /// What needs attention.
    #[value(alias = "warning")]
    Warn,
    /// Failures.
    #[value(alias = "critical")]
    Error,
    /// Nothing.
    Off,
}

/// Options of the switch.
#[derive(Debug, Args)]
pub struct SwitchArgs {
    /// The program, as p4c compiled it (BMv2 JSON); every device runs it.
    #[arg(value_name = "PIPELINE.json")]
    pub program: Option<PathBuf>,
    /// Attach a network interface to a port; may be repeated. DEVICE is a
    /// device_id, by default that of --device-id; each has a thread of its own.
    #[arg(short, long = "interface", value_name = "[DEVICE:]PORT@INTERFACE", value_parser = port::parse)]
    pub interface: Vec<PortArg>,
    /// Join two ports by an RF link in memory, instead of interfaces; may be repeated. One thread
    /// runs the devices of all of them, in due order, and upstream channels can be configured there
    /// (docsis.mac.v1).
    #[arg(long, value_name = "DEVICE:PORT,DEVICE:PORT", value_parser = rf_link::parse)]
    pub rf_link: Vec<RfLinkArg>,
    /// Serve a device at an address of its own; the others are at --grpc-server-addr. May be repeated.
    #[arg(long, value_name = "DEVICE@ADDRESS:PORT|unix:PATH", value_parser = device_address::parse)]
    pub device_grpc_addr: Vec<DeviceAddressArg>,
    /// P4Runtime's device_id [default: 0].
    #[arg(long, value_name = "DEVICE")]
    pub device_id: Option<u64>,
    /// Start without a program; a P4Runtime client pushes one.
    #[arg(long)]
    pub no_p4: bool,
    /// The program's P4Info (text protobuf), so that P4Runtime clients need not push it.
    #[arg(long, value_name = "FILE")]
    pub p4info: Option<PathBuf>,
    /// The traffic manager between ingress and egress [default: docsis, and
    /// bmv2 where the program's name is simple_switch_grpc].
    #[arg(long, value_enum)]
    pub traffic_manager: Option<TrafficManagerKind>,
    /// Do as BMv2 does where that contradicts the specifications.
    #[arg(long)]
    pub bmv2_quirks: bool,
    /// Determines what programs, and links with loss or jitter, draw at random.
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Capture frames into DIR/INTERFACE_in.pcap and DIR/INTERFACE_out.pcap.
    #[arg(long, value_name = "DIR", num_args = 0..=1, default_missing_value = ".")]
    pub pcap: Option<PathBuf>,
    /// Capturing upstream channels.
    #[command(flatten)]
    pub channel_pcap: ChannelPcapArgs,
    /// Tracing.
    #[command(flatten)]
    pub trace: TraceArgs,
    /// As --trace, of one device; may be repeated.
    #[arg(long, value_name = "DEVICE=FILE", value_parser = device_trace::parse, group = "traced")]
    pub device_trace: Vec<DeviceTraceArg>,
    /// Recording.
    #[command(flatten)]
    pub record: RecordArgs,
    /// Switch the interfaces' offloads off, as `ethtool -K` does.
    #[arg(long)]
    pub offloads_off: bool,
    /// On SIGTERM, how long queues may take to empty, in milliseconds.
    #[arg(long, value_name = "MS", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(..=3_600_000))]
    pub drain_ms: u64,
    /// Log normal events to standard error, not warnings only.
    #[arg(long)]
    pub log_console: bool,
    /// Log to a file instead.
    #[arg(long, value_name = "FILE")]
    pub log_file: Option<PathBuf>,
    /// How much to log; `docsis-switch ctl log-level` changes it later.
    #[arg(short = 'L', long, value_enum)]
    pub log_level: Option<LogLevel>,
    /// Nice value of the threads that forward, -20 to 19 [default: -20 where permitted].
    #[arg(long, allow_negative_numbers = true, value_parser = clap::value_parser!(i32).range(-20..=19))]
    pub nice: Option<i32>,
    /// Run the threads that forward under SCHED_RR with this priority. They wait
    /// awake for departures: give each a processor of its own.
    #[arg(long, value_name = "PRIORITY", value_parser = clap::value_parser!(i32).range(1..=99))]
    pub realtime: Option<i32>,
    /// How late the switch may be and still make up for it, in milliseconds. When it
    /// is later, its time jumps, nothing is earned for the gap, and the run is not
    /// valid. Interfaces' buffers hold what comes at line rate in that time.
    #[arg(long, value_name = "MS", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub lateness_bound_ms: u64,
    /// TLS for gRPC: the server's certificate chain (PEM).
    #[arg(long, value_name = "FILE", requires = "grpc_tls_key")]
    pub grpc_tls_cert: Option<PathBuf>,
    /// TLS for gRPC: the key of the certificate (PEM).
    #[arg(long, value_name = "FILE", requires = "grpc_tls_cert")]
    pub grpc_tls_key: Option<PathBuf>,
    /// TLS for gRPC: clients need a certificate that one of these signed (PEM).
    #[arg(long, value_name = "FILE", requires = "grpc_tls_cert")]
    pub grpc_tls_client_ca: Option<PathBuf>,
    /// Print the version of BMv2's JSON format that is read, and end.
    #[arg(long, hide = true)]
    pub json_version: bool,

    /// BMv2's; without effect.
    #[arg(long, hide = true)]
    pub thrift_port: Option<String>,
    /// BMv2's; without effect.
    #[arg(long, hide = true)]
    pub nanolog: Option<String>,
    /// BMv2's; without effect.
    #[arg(long, hide = true)]
    pub notifications_addr: Option<String>,
    /// BMv2's; without effect.
    #[arg(long, hide = true)]
    pub packet_in: Option<String>,
    /// BMv2's; without effect.
    #[arg(long, hide = true)]
    pub debugger: bool,
    /// BMv2's; without effect.
    #[arg(long, hide = true)]
    pub debugger_addr: Option<String>,
    /// BMv2's; without effect.
    #[arg(long, hide = true)]
    pub dump_packet_data: Option<String>,
    /// BMv2's; without effect.
    #[arg(long, hide = true)]
    pub restore_state: Option<String>,
    /// BMv2's; without effect.
    #[arg(long, hide = true)]
    pub use_files: Option<String>,
    /// BMv2's; without effect.
    #[arg(long, hide = true)]
    pub max_port_count: Option<String>,
    /// BMv2's; without effect.
    #[arg(long, hide = true)]
    pub log_file_max_size: Option<String>,
    /// BMv2's; without effect.
    #[arg(long, hide = true)]
    pub log_file_max_files: Option<String>,
    /// BMv2's; without effect: logs are not buffered.
    #[arg(long, hide = true)]
    pub log_flush: bool,
    /// The name that the program was started by, without its folder; from
    /// `cli::parse`.
    #[arg(skip)]
    pub invoked_as: Option<String>,
    /// A device's thread fails, to test what happens then.
    #[cfg(debug_assertions)]
    #[arg(long, hide = true)]
    pub test_defect: bool,
}

impl SwitchArgs {
    /// BMv2's options that were given and have no effect, and why.
    pub fn ignored(&self) -> Vec<(&'static str, &'static str)> {
        let debugger = "this switch has no debugger";
        let files = "log files are not rotated";
        [
            (
                "--thrift-port",
                self.thrift_port.is_some(),
                "this switch has P4Runtime and no Thrift",
            ),
            (
                "--nanolog",
                self.nanolog.is_some(),
                "this switch has no nanomsg events",
            ),
            (
                "--notifications-addr",
                self.notifications_addr.is_some(),
                "digests and idle timeouts go over P4Runtime",
            ),
            (
                "--packet-in",
                self.packet_in.is_some(),
                "packets come from interfaces, and from the CPU port over P4Runtime",
            ),
            ("--debugger", self.debugger, debugger),
            ("--debugger-addr", self.debugger_addr.is_some(), debugger),
            (
                "--dump-packet-data",
                self.dump_packet_data.is_some(),
                "--pcap has whole packets",
            ),
            (
                "--restore-state",
                self.restore_state.is_some(),
                "the state starts empty; the controller writes it",
            ),
            (
                "--use-files",
                self.use_files.is_some(),
                "`docsis-switch stf` runs packets from files",
            ),
            (
                "--max-port-count",
                self.max_port_count.is_some(),
                "there are 512 ports",
            ),
            (
                "--log-file-max-size",
                self.log_file_max_size.is_some(),
                files,
            ),
            (
                "--log-file-max-files",
                self.log_file_max_files.is_some(),
                files,
            ),
        ]
        .into_iter()
        .filter_map(|(name, given, why)| given.then_some((name, why)))
        .collect()
    }

    /// The name that the program was started by.
    pub fn invoked_as(&self) -> String {
        let name = self.invoked_as.clone();
        name.unwrap_or_else(|| env!("CARGO_BIN_NAME").to_owned())
    }

    /// The traffic manager of all devices.
    pub fn model(&self, target: &TargetArgs) -> ModelKind {
        let default = if self.invoked_as.as_deref() == Some(super::BMV2) {
            TrafficManagerKind::Bmv2
        } else {
            TrafficManagerKind::Docsis
        };
        match self.traffic_manager.unwrap_or(default) {
            TrafficManagerKind::Docsis => ModelKind::Docsis,
            TrafficManagerKind::Bmv2 => ModelKind::Bmv2 {
                priorities: target.priority_queues.unwrap_or(1),
            },
        }
    }

    /// The devices with their ports and interfaces. That of `--device-id` is
    /// there when it has an interface, is asked for, or would be the only one.
    pub fn devices(&self) -> BTreeMap<u64, Vec<(u16, String)>> {
        let mut devices: BTreeMap<u64, Vec<_>> = BTreeMap::new();
        let default = self.device_id.unwrap_or(0);
        if self.device_id.is_some() || (self.interface.is_empty() && self.rf_link.is_empty()) {
            devices.entry(default).or_default();
        }
        for (device, _) in self.rf_ends() {
            devices.entry(device).or_default();
        }
        for arg in &self.interface {
            let ports = devices.entry(arg.device.unwrap_or(default)).or_default();
            ports.push((arg.port, arg.interface.clone()));
        }
        devices
    }

    /// Devices and ports at the ends of RF links.
    pub fn rf_ends(&self) -> impl Iterator<Item = (u64, u16)> + '_ {
        self.rf_link.iter().flat_map(|link| link.0)
    }

    /// Checks what RF links and devices' own addresses are.
    fn check_devices(&self, target: &TargetArgs) -> Result<(), String> {
        let devices = self.devices();
        let mut joined = BTreeSet::new();
        for (device, port) in self.rf_ends() {
            if !joined.insert((device, port)) {
                return Err(format!(
                    "port {port} of device {device} is given two RF links"
                ));
            }
            let mut interfaces = devices.get(&device).into_iter().flatten();
            if let Some((_, name)) = interfaces.find(|(number, _)| *number == port) {
                return Err(format!(
                    "port {port} of device {device} is given an RF link and interface {name}"
                ));
            }
            if Some(port) == target.cpu_port || port == target.drop_port {
                return Err(format!(
                    "port {port} is the CPU port or means \"drop\", and cannot have an RF link"
                ));
            }
        }
        if !joined.is_empty() && self.model(target) != ModelKind::Docsis {
            return Err("--rf-link needs --traffic-manager docsis".into());
        }
        let mut known = BTreeSet::new();
        for DeviceAddressArg { device, .. } in &self.device_grpc_addr {
            if !devices.contains_key(device) || !known.insert(device) {
                return Err(format!(
                    "--device-grpc-addr: there is no device {device}, or it is named twice"
                ));
            }
        }
        let mut traced = BTreeSet::new();
        for DeviceTraceArg { device, .. } in &self.device_trace {
            if !devices.contains_key(device) || !traced.insert(device) {
                return Err(format!(
                    "--device-trace: there is no device {device}, or it is named twice"
                ));
            }
        }
        let mut captured = BTreeSet::new();
        let mut channels = self.channel_pcap.channel_pcap.iter();
        if let Some(twice) = channels.find(|one| !captured.insert(&one.channel)) {
            return Err(format!(
                "--channel-pcap: channel {} is named twice",
                twice.channel
            ));
        }
        Ok(())
    }

    /// Checks what clap cannot.
    ///
    /// # Errors
    /// One sentence.
    pub fn check(&self, target: &TargetArgs) -> Result<(), String> {
        if self.program.is_none() && !self.no_p4 {
            return Err("no program: give PIPELINE.json, or --no-p4 to wait for one".into());
        }
        if self.program.is_some() && self.no_p4 {
            return Err("both PIPELINE.json and --no-p4 are given; leave one out".into());
        }
        if self.p4info.is_some() && self.program.is_none() {
            return Err("--p4info needs PIPELINE.json".into());
        }
        let mut names = BTreeSet::new();
        for (device, ports) in self.devices() {
            let mut numbers = BTreeSet::new();
            for (port, name) in ports {
                if !numbers.insert(port) {
                    return Err(format!(
                        "port {port} of device {device} is given two interfaces"
                    ));
                }
                if Some(port) == target.cpu_port {
                    return Err(format!(
                        "port {port} is the CPU port and cannot have interface {name}"
                    ));
                }
                if port == target.drop_port {
                    return Err(format!(
                        "port {port} means \"drop\" and cannot have interface {name}; see --drop-port"
                    ));
                }
                if let Some(name) = names.replace(name) {
                    return Err(format!("interface {name} is given two ports"));
                }
            }
        }
        self.check_devices(target)?;
        if self.record.record.is_some() {
            if !self.rf_link.is_empty() {
                return Err(
                    "--record is for one device by itself, and not for those that --rf-link joins; \
                     leave one of them out"
                        .into(),
                );
            }
            if self.devices().len() > 1 {
                return Err("--record is for one device: start a process for each".into());
            }
            if self.model(target) != ModelKind::Docsis {
                return Err("--record needs --traffic-manager docsis".into());
            }
        }
        if target.cpu_port == Some(target.drop_port) {
            return Err(format!(
                "port {} cannot be both CPU port and drop port",
                target.drop_port
            ));
        }
        Ok(())
    }
}
