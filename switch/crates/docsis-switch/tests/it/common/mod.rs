// SPDX-License-Identifier: Apache-2.0
//! A running switch, links to send frames over, and `ctl`.

use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Nothing takes that long.
const PATIENCE: Duration = Duration::from_secs(20);

/// What `wire.p4` does: port 1 to port 2 and back.
pub const WIRE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/wire.json");

/// The program under test.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_docsis-switch");

/// Any free port of the loopback interface.
const ANY_PORT: &str = "127.0.0.1:0";

/// The first line of what a program prints; "" where it ends without one.
pub fn first_line(child: &mut Child) -> String {
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap())
        .read_line(&mut line)
        .unwrap();
    line
}

/// A switch that is ready.
pub struct Switch {
    pub child: Child,
    pub address: String,
}

impl Switch {
    /// Starts it on any free gRPC port.
    pub fn start(args: &[&str]) -> Switch {
        Self::start_as(PROGRAM.as_ref(), args, &[])
    }

    /// Starts it by another name, and with options behind `--`.
    pub fn start_as(program: &Path, args: &[&str], target: &[&str]) -> Switch {
        Self::start_at(ANY_PORT, program, args, target)
    }

    /// As [`Self::start_as`], at an address of its own.
    pub fn start_at(address: &str, program: &Path, args: &[&str], target: &[&str]) -> Switch {
        let mut child = Command::new(program)
            .args(args)
            .args(["--", "--grpc-server-addr", address])
            .args(target)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let line = first_line(&mut child);
        if !line.starts_with("docsis-switch: ready") {
            let mut said = String::new();
            let _ = child.stderr.take().unwrap().read_to_string(&mut said);
            panic!("not ready: {line}{said}");
        }
        let address = line.trim_end().rsplit(' ').next().unwrap().to_owned();
        Switch { child, address }
    }

    /// Sends a signal.
    pub fn signal(&self, signal: i32) {
        // SAFETY: no pointers; the child is ours and not yet waited for.
        unsafe { libc::kill(self.child.id() as i32, signal) };
    }

    /// Whether a signal has stopped each of its threads (proc(5), `stat`).
    pub fn stands(&self) -> bool {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.child.id())).unwrap();
        tasks.into_iter().all(|task| {
            let stat = std::fs::read_to_string(task.unwrap().path().join("stat"));
            // The state stands behind the name, which may have any characters.
            stat.is_ok_and(|stat| stat.rsplit(") ").next().is_some_and(|s| s.starts_with('T')))
        })
    }

    /// Waits for the end; the exit status and what was said on standard error.
    pub fn end(mut self) -> (ExitStatus, String) {
        let mut said = String::new();
        let stderr = self.child.stderr.take().unwrap();
        BufReader::new(stderr).read_to_string(&mut said).unwrap();
        (self.child.wait().unwrap(), said)
    }

    /// Ends it with SIGTERM; what it said.
    pub fn stop(self) -> String {
        self.signal(libc::SIGTERM);
        let (status, said) = self.end();
        assert!(status.success(), "{status}: {said}");
        said
    }

    /// `docsis-switch ctl`, and what it printed.
    pub fn ctl(&self, args: &[&str]) -> String {
        let out = Command::new(PROGRAM)
            .args(["ctl", "--address", &self.address])
            .args(args)
            .output()
            .unwrap();
        assert!(out.status.success(), "{args:?}: {out:?}");
        String::from_utf8(out.stdout).unwrap()
    }

    /// As [`Self::ctl`], in JSON.
    pub fn ctl_json(&self, args: &[&str]) -> Value {
        serde_json::from_str(&self.ctl(&[args, &["--json"]].concat())).unwrap()
    }

    /// The first device's port with this number, from `ctl counters`.
    pub fn port(&self, number: u64) -> Value {
        let counters = self.ctl_json(&["counters"]);
        let ports = counters["devices"][0]["ports"].as_array().unwrap().clone();
        let mut ports = ports.into_iter();
        ports.find(|port| port["port"] == number).unwrap()
    }
}

impl Drop for Switch {
    /// A test that failed leaves no switch behind.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A folder for a test's files, which is removed at the end.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Folder {
        let name = format!("docsis-switch-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir(&path).unwrap();
        Folder(path)
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What the program says that does not start with these arguments.
///
/// # Panics
/// It starts.
pub fn refusal(args: &[&str]) -> String {
    refusal_at(ANY_PORT, args)
}

/// As [`refusal`], at an address of its own.
pub fn refusal_at(address: &str, args: &[&str]) -> String {
    let mut child = Command::new(PROGRAM)
        .args(args)
        .args(["--", "--grpc-server-addr", address])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    output.read_line(&mut line).unwrap();
    if !line.is_empty() {
        let _ = child.kill();
    }
    let ended = child.wait_with_output().unwrap();
    assert!(
        line.is_empty() && !ended.status.success(),
        "{args:?}: {line}"
    );
    String::from_utf8(ended.stderr).unwrap()
}

/// Asks again and again until `done`.
pub fn until(what: &str, mut done: impl FnMut() -> bool) {
    until_or(what, || done().then_some(()).ok_or("not yet"));
}

/// Waits until something has been done; an error says what is missing still.
pub fn until_or<E: std::fmt::Display>(what: &str, mut done: impl FnMut() -> Result<(), E>) {
    let end = Instant::now() + PATIENCE;
    while let Err(missing) = done() {
        assert!(Instant::now() < end, "{what} does not happen: {missing}");
        std::thread::yield_now();
    }
}

/// Runs `ip`.
pub fn ip(args: &str) {
    let status = Command::new("ip").args(args.split(' ')).status();
    assert!(status.is_ok_and(|status| status.success()), "ip {args}");
}

/// A link of which the switch gets the end `a` and the test the end `b`.
pub fn link(a: &str, b: &str) {
    ip(&format!("link add {a} type veth peer name {b}"));
    for end in [a, b] {
        // No neighbour discovery between the test's frames.
        let path = format!("/proc/sys/net/ipv6/conf/{end}/disable_ipv6");
        let _ = std::fs::write(path, "1");
        ip(&format!("link set {end} addrgenmode none"));
        ip(&format!("link set {end} up"));
    }
}

/// Runs `test` in a network namespace of its own with two links: s1 and s2 are
/// for the switch, h1 and h2 for the test. Needs root; without it nothing is
/// tested, and it says so.
pub fn with_links(test: impl FnOnce() + Send + 'static) {
    let thread = std::thread::spawn(move || {
        // SAFETY: no pointers; concerns this thread only.
        if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
            eprintln!("not tested: needs root for a network namespace");
            return;
        }
        ip("link set lo up");
        link("s1", "h1");
        link("s2", "h2");
        test();
    });
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

/// The far end of a link.
pub struct Host {
    fd: OwnedFd,
}

impl Host {
    /// Opens an interface.
    pub fn open(name: &str) -> Host {
        let protocol = (libc::ETH_P_ALL as u16).to_be();
        let name = std::ffi::CString::new(name).unwrap();
        // SAFETY: a NUL-terminated name; a sockaddr_ll and its size; the new
        // descriptor is owned here alone.
        unsafe {
            let fd = libc::socket(libc::AF_PACKET, libc::SOCK_RAW, i32::from(protocol));
            assert!(fd >= 0, "{}", std::io::Error::last_os_error());
            let mut address: libc::sockaddr_ll = std::mem::zeroed();
            address.sll_family = libc::AF_PACKET as u16;
            address.sll_protocol = protocol;
            address.sll_ifindex = libc::if_nametoindex(name.as_ptr()) as i32;
            let size = size_of::<libc::sockaddr_ll>() as u32;
            assert_eq!(libc::bind(fd, (&raw const address).cast(), size), 0);
            let on = 1i32;
            let ignore_outgoing = 23;
            libc::setsockopt(
                fd,
                libc::SOL_PACKET,
                ignore_outgoing,
                (&raw const on).cast(),
                4,
            );
            Host {
                fd: OwnedFd::from_raw_fd(fd),
            }
        }
    }

    /// Room for what comes while the test's thread does something else: 64 MB.
    pub fn enlarge_receive_buffer(&self) {
        let bytes = 32i32 << 20;
        // SAFETY: an i32 and its size.
        let status = unsafe {
            libc::setsockopt(
                self.fd.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_RCVBUFFORCE,
                (&raw const bytes).cast(),
                4,
            )
        };
        assert_eq!(status, 0);
    }

    /// Sends a frame; false when the link is down.
    pub fn send(&self, frame: &[u8]) -> bool {
        // SAFETY: the frame's bytes and their number.
        let sent =
            unsafe { libc::send(self.fd.as_raw_fd(), frame.as_ptr().cast(), frame.len(), 0) };
        sent == frame.len() as isize
    }

    /// The next frame, if one comes within `ms` milliseconds.
    pub fn receive(&self, ms: i32) -> Option<Vec<u8>> {
        let mut poll = libc::pollfd {
            fd: self.fd.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: one pollfd.
        if unsafe { libc::poll(&raw mut poll, 1, ms) } != 1 {
            return None;
        }
        let mut frame = vec![0; 2000];
        // SAFETY: the buffer and its size.
        let got = unsafe {
            libc::recv(
                self.fd.as_raw_fd(),
                frame.as_mut_ptr().cast(),
                frame.len(),
                0,
            )
        };
        frame.truncate(usize::try_from(got).ok()?);
        Some(frame)
    }
}

/// A frame of 60 bytes with a number in it; `priority` is what wire.p4 makes of it.
pub fn frame(priority: u8, number: u8) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb0 | priority];
    frame.resize(60, number);
    frame
}
