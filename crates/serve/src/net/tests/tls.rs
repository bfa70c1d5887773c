//! TLS, and when it is required.

use std::path::PathBuf;

use super::{
    super::{ListenOptions, OpenPort},
    server::{CountingAgent, HttpTestClient, OWNER, TestServer, TestServerConfig, client_builder},
};
use crate::{ServeOptions, hub};

fn write_certificate(dir: &std::path::Path) -> (PathBuf, PathBuf, reqwest::Certificate) {
    let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
    let made = rcgen::generate_simple_self_signed(names).unwrap();
    let (cert, key) = (dir.join("cert.pem"), dir.join("key.pem"));
    std::fs::write(&cert, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    let root = reqwest::Certificate::from_pem(made.cert.pem().as_bytes()).unwrap();
    (cert, key, root)
}

#[tokio::test]
async fn session_works_over_tls_with_both_http_versions() {
    let dir = tempfile::tempdir().unwrap();
    let (cert, key, root) = write_certificate(dir.path());
    let server = TestServer::start(TestServerConfig {
        tls: Some((cert, key)),
        ..TestServerConfig::default()
    })
    .await;
    let url = format!("https://localhost:{}/acp", server.address.port());
    for http_1 in [true, false] {
        let builder = client_builder().tls_certs_only([root.clone()]);
        let builder = match http_1 {
            true => builder.http1_only(),
            false => builder,
        };
        let client = builder
            .resolve("localhost", server.address)
            .build()
            .unwrap();
        let mut http = HttpTestClient::initialize(client, url.clone(), OWNER).await;
        let (_, _own) = http.create_session(server.dir.path()).await;
    }
    // Plain HTTP fails.
    let plain = client_builder().build().unwrap();
    let plain = plain.get(url.replace("https", "http")).send().await;
    assert!(plain.is_err());
}

async fn open_error(listen: ListenOptions) -> String {
    let dir = tempfile::tempdir().unwrap();
    let options = ServeOptions::new(dir.path());
    let hub = hub(CountingAgent::default(), &options);
    let door = OpenPort::open_here(hub, &options, listen).await;
    format!("{:#}", door.err().expect("it should not open"))
}

#[tokio::test]
async fn listening_beyond_loopback_needs_tls_or_insecure() {
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
        let said = open_error(ListenOptions::new(address)).await;
        assert!(said.contains("--insecure-listen"), "{said}");
    }
    let dir = tempfile::tempdir().unwrap();
    let options = ServeOptions::new(dir.path());
    let hub = hub(CountingAgent::default(), &options);
    let listen = ListenOptions {
        insecure: true,
        ..ListenOptions::new("0.0.0.0:0")
    };
    OpenPort::open_here(hub, &options, listen).await.unwrap();
}

#[tokio::test]
async fn invalid_options_fail_before_the_port_opens() {
    let dir = tempfile::tempdir().unwrap();
    let (cert, key, _) = write_certificate(dir.path());
    let missing = dir.path().join("missing.pem");
    let with = |tls: (PathBuf, PathBuf)| ListenOptions {
        tls: Some(tls),
        ..ListenOptions::new("127.0.0.1:0")
    };
    let said = open_error(with((missing.clone(), key.clone()))).await;
    assert!(said.starts_with("--tls-cert "), "{said}");
    let said = open_error(with((key.clone(), key.clone()))).await;
    assert!(said.starts_with("--tls-cert "), "{said}");
    let said = open_error(with((cert.clone(), cert))).await;
    assert!(
        said.starts_with("--tls-key ") && !said.contains("BEGIN"),
        "{said}"
    );
    for odd in [
        "",
        "7433",
        "localhost",
        "localhost:70000",
        "example.com:80",
        "127.0.0.1",
    ] {
        let said = open_error(ListenOptions::new(odd)).await;
        assert!(said.contains("such as 127.0.0.1:7433"), "{odd}: {said}");
    }
    let said = open_error(ListenOptions {
        hosts: vec!["http://x".to_owned()],
        ..ListenOptions::new("127.0.0.1:0")
    })
    .await;
    assert!(said.starts_with("--allow-host http://x: "), "{said}");
    let said = open_error(ListenOptions {
        origins: vec!["x".to_owned()],
        ..ListenOptions::new("127.0.0.1:0")
    })
    .await;
    assert!(said.starts_with("--allow-origin x: "), "{said}");
    let said = open_error(ListenOptions {
        token: Some("short".to_owned()),
        ..ListenOptions::new("127.0.0.1:0")
    })
    .await;
    assert!(
        said.starts_with("HARN_SERVE_TOKEN: ") && !said.contains("short"),
        "{said}"
    );
}
