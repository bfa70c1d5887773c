//! The TLS configuration: which servers the client trusts.

use std::{fs, io, path::Path, sync::Arc};

use tokio_rustls::rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, ServerName, pem::PemObject},
};

/// Returns a configuration that trusts the system's authorities and those in a file.
pub(super) fn config(ca: Option<&Path>) -> io::Result<ClientConfig> {
    let mut roots = RootCertStore::empty();
    // Unreadable or outdated certificates of the system are skipped.
    let native = rustls_native_certs::load_native_certs();
    roots.add_parsable_certificates(native.certs);
    if let Some(path) = ca {
        let wrong = |what: String| io::Error::other(format!("--ca {}: {what}", path.display()));
        let pem = fs::read(path).map_err(|error| wrong(error.to_string()))?;
        let mut found = false;
        for certificate in CertificateDer::pem_slice_iter(&pem) {
            let certificate = certificate.map_err(|error| wrong(error.to_string()))?;
            roots
                .add(certificate)
                .map_err(|error| wrong(error.to_string()))?;
            found = true;
        }
        if !found {
            return Err(wrong("no certificate in PEM".to_owned()));
        }
    }
    let provider = Arc::new(ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(config)
}

/// Returns the name that the server's certificate must prove.
pub(super) fn server_name(host: &str) -> io::Result<ServerName<'static>> {
    ServerName::try_from(host.to_owned()).map_err(io::Error::other)
}
