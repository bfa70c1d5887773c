//! TLS from a certificate and a key in PEM files.

use std::{path::Path, sync::Arc};

use anyhow::{Context, Result, ensure};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        ServerConfig,
        crypto::ring,
        pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    },
};

/// Reads both files now, so that an error appears at the start.
pub(super) fn load_acceptor(cert: &Path, key: &Path) -> Result<TlsAcceptor> {
    let certs = CertificateDer::pem_file_iter(cert)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .with_context(|| format!("--tls-cert {}", cert.display()))?;
    ensure!(
        !certs.is_empty(),
        "--tls-cert {}: no certificate in PEM",
        cert.display()
    );
    // The error repeats nothing of the key.
    let key_der = PrivateKeyDer::from_pem_file(key)
        .with_context(|| format!("--tls-key {}: no private key in PEM", key.display()))?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(certs, key_der)
        .with_context(|| format!("{} and {}", cert.display(), key.display()))?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}
