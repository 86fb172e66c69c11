// SPDX-License-Identifier: Apache-2.0
//! gRPC over TLS by our flags and by simple_switch_grpc's, and `ctl` with both.

use crate::common::{PROGRAM, Switch};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use std::path::{Path, PathBuf};
use std::process::Command;

/// PEM files of an authority and of one certificate for localhost, which
/// serves both ends.
struct Files {
    ca: PathBuf,
    cert: PathBuf,
    key: PathBuf,
}

impl Files {
    fn new(name: &str) -> Files {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec!["localhost".into()]).unwrap();
        let cert = params.signed_by(&key, &issuer).unwrap();
        let files = Files {
            ca: folder.join("ca.pem"),
            cert: folder.join("cert.pem"),
            key: folder.join("key.pem"),
        };
        std::fs::write(&files.ca, issuer.pem()).unwrap();
        std::fs::write(&files.cert, cert.pem()).unwrap();
        std::fs::write(&files.key, key.serialize_pem()).unwrap();
        files
    }

    fn paths(&self) -> [&str; 3] {
        [&self.ca, &self.cert, &self.key].map(|path| path.to_str().unwrap())
    }
}

/// Whether `ctl info` with these options gets an answer.
fn answers(switch: &Switch, options: &[&str]) -> bool {
    let out = Command::new(PROGRAM)
        .args(["ctl", "info", "--address", &switch.address])
        .args(options)
        .output()
        .unwrap();
    out.status.success()
}

#[test]
fn clients_need_a_certificate_where_they_are_asked_for_one() {
    let files = Files::new("tls");
    let [ca, cert, key] = files.paths();
    let without = ["--tls-ca", ca, "--tls-name", "localhost"];
    let with = [&without[..], &["--tls-cert", cert, "--tls-key", key]].concat();

    let ours = ["--no-p4", "--grpc-tls-cert", cert, "--grpc-tls-key", key];
    let switch = Switch::start(&ours);
    assert!(answers(&switch, &without) && !answers(&switch, &[]));
    switch.stop();

    let mutual = [&ours[..], &["--grpc-tls-client-ca", ca]].concat();
    let switch = Switch::start(&mutual);
    assert!(answers(&switch, &with) && !answers(&switch, &without));
    switch.stop();

    let theirs = [
        "--grpc-server-ssl",
        "--grpc-server-cert",
        cert,
        "--grpc-server-key",
        key,
        "--grpc-server-cacert",
        ca,
        "--grpc-server-with-client-auth",
    ];
    let switch = Switch::start_as(PROGRAM.as_ref(), &["--no-p4"], &theirs);
    assert!(answers(&switch, &with) && !answers(&switch, &without));
    switch.stop();
}

#[test]
fn missing_files_are_named() {
    let out = Command::new(PROGRAM)
        .args(["--no-p4", "--", "--grpc-server-ssl"])
        .output()
        .unwrap();
    let said = String::from_utf8(out.stderr).unwrap();
    assert!(
        !out.status.success() && said.contains("--grpc-server-cert"),
        "{said}"
    );
    let out = Command::new(PROGRAM)
        .args([
            "--no-p4",
            "--grpc-tls-cert",
            "/nonexistent.pem",
            "--grpc-tls-key",
            "/x",
        ])
        .output()
        .unwrap();
    let said = String::from_utf8(out.stderr).unwrap();
    assert!(
        !out.status.success() && said.contains("/nonexistent.pem"),
        "{said}"
    );
}
