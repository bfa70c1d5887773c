//! Connects to a server over the transport in its settings.

use async_trait::async_trait;
use harn_model::{McpServerSpec, McpTransport, Secret};
use reqwest::header::{HeaderName, HeaderValue};
use rmcp::transport::streamable_http_client::{
    StreamableHttpClientTransport, StreamableHttpClientTransportConfig,
};

use super::{
    McpSettings,
    connection_error::McpConnectionError,
    http_client::McpHttpClient,
    redact::Secrets,
    stdio::{self, McpProcess},
    wire::McpWire,
};
use crate::http;

/// A connection without a handshake yet, and its process if we started one.
pub(super) type DialedServer = (McpWire, Option<McpProcess>);

/// Connects to servers; tests have their own implementation.
#[async_trait]
pub(super) trait McpDialer: Send + Sync {
    async fn dial(
        &self,
        spec: &McpServerSpec,
        secrets: &Secrets,
    ) -> Result<DialedServer, McpConnectionError>;
}

#[async_trait]
impl McpDialer for McpSettings {
    async fn dial(
        &self,
        spec: &McpServerSpec,
        secrets: &Secrets,
    ) -> Result<DialedServer, McpConnectionError> {
        match &spec.transport {
            McpTransport::Stdio { command, args, env } => {
                let what = (command.as_str(), args.as_slice(), env.as_slice());
                let (lines, process) = stdio::start(self, &spec.name, what, secrets).await?;
                Ok((McpWire::Lines(lines), Some(process)))
            }
            McpTransport::Http { url, headers } => Ok((http_wire(url, headers, secrets)?, None)),
            McpTransport::Unsupported(name) => Err(McpConnectionError::Unsupported(name)),
        }
    }
}

fn http_wire(
    url: &str,
    headers: &[(String, Secret)],
    secrets: &Secrets,
) -> Result<McpWire, McpConnectionError> {
    let parsed = reqwest::Url::parse(url).map_err(|_| McpConnectionError::BadUrl)?;
    if !matches!(parsed.scheme(), "http" | "https") {
        return Err(McpConnectionError::BadUrl);
    }
    let mut sent = Vec::new();
    for (name, value) in headers {
        let bad = || McpConnectionError::BadHeader(name.clone());
        let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad())?;
        let mut value = HeaderValue::from_str(value.reveal()).map_err(|_| bad())?;
        // Libraries then leave the value out of their debug output.
        value.set_sensitive(true);
        sent.push((key, value));
    }
    let client = http::client().map_err(|error| McpConnectionError::NoClient(error.to_string()))?;
    let requests = McpHttpClient {
        client,
        headers: sent.into(),
        secrets: secrets.clone(),
    };
    let config = StreamableHttpClientTransportConfig::with_uri(url);
    let transport = StreamableHttpClientTransport::with_client(requests, config);
    Ok(McpWire::Http(Box::new(transport)))
}
