// SPDX-License-Identifier: Apache-2.0
//! TLS, with and without certificates of clients.

use std::path::Path;

use grpc_services::proto::p4::v1 as p4;
use grpc_services::proto::p4::v1::p4_runtime_client::P4RuntimeClient;
use grpc_services::{Server, ServerError, ServerOptions, TlsOptions};
use rcgen::{CertificateParams, CertifiedIssuer, KeyPair};
use tokio::sync::oneshot;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Identity};

struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        Authority(CertifiedIssuer::self_signed(params, key).unwrap())
    }

    fn pem(&self) -> String {
        self.0.pem()
    }

    /// A certificate for localhost, and its key.
    fn sign(&self) -> (String, String) {
        let params = CertificateParams::new(vec!["localhost".into()]).unwrap();
        let key = KeyPair::generate().unwrap();
        let cert = params.signed_by(&key, &self.0).unwrap();
        (cert.pem(), key.serialize_pem())
    }
}

async fn capabilities(port: u16, tls: ClientTlsConfig) -> Result<(), Box<dyn std::error::Error>> {
    let channel = Channel::from_shared(format!("https://localhost:{port}"))?
        .tls_config(tls.domain_name("localhost"))?
        .connect()
        .await?;
    let mut client = P4RuntimeClient::new(channel);
    client
        .capabilities(p4::CapabilitiesRequest::default())
        .await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_clients_with_a_certificate_are_let_in() {
    let (ours, other) = (Authority::new(), Authority::new());
    let (cert, key) = ours.sign();
    for client_ca in [None, Some(ours.pem().into_bytes())] {
        let is_open = client_ca.is_none();
        let options = ServerOptions {
            tls: Some(TlsOptions {
                cert: cert.clone().into_bytes(),
                key: key.clone().into_bytes(),
                client_ca,
            }),
            ..ServerOptions::default()
        };
        let any_port = "127.0.0.1:0".parse().unwrap();
        let server = Server::bind_with(any_port, Vec::new(), &options)
            .await
            .unwrap();
        let port = server.local_address().tcp().unwrap().port();
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = tokio::spawn(server.serve(async {
            let _ = stopped.await;
        }));

        let trusting = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(ours.pem()));
        assert_eq!(capabilities(port, trusting.clone()).await.is_ok(), is_open);
        let with = |(cert, key): (String, String)| {
            trusting.clone().identity(Identity::from_pem(cert, key))
        };
        capabilities(port, with(ours.sign())).await.unwrap();
        if !is_open {
            assert!(capabilities(port, with(other.sign())).await.is_err());
        }
        // A server that the client does not trust, and no TLS at all.
        let wary = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(other.pem()));
        assert!(capabilities(port, wary).await.is_err());
        let plain = P4RuntimeClient::connect(format!("http://127.0.0.1:{port}")).await;
        if let Ok(mut client) = plain {
            let request = p4::CapabilitiesRequest::default();
            assert!(client.capabilities(request).await.is_err());
        }
        drop(stop);
        serving.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn bad_certificates_are_refused_in_words() {
    let options = ServerOptions {
        tls: Some(TlsOptions {
            cert: b"no PEM".to_vec(),
            key: b"nor this".to_vec(),
            client_ca: None,
        }),
        ..ServerOptions::default()
    };
    let any_port = "127.0.0.1:0".parse().unwrap();
    let error = Server::bind_with(any_port, Vec::new(), &options).await;
    let error = error.unwrap_err();
    assert!(matches!(error, ServerError::Tls(_)));
    assert!(error.to_string().contains("--grpc-tls-cert"), "{error}");

    let missing = Path::new("/nowhere/cert.pem");
    let error = TlsOptions::from_files(missing, missing, None).unwrap_err();
    assert!(error.contains("/nowhere/cert.pem"), "{error}");
}
