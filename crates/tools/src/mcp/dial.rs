//! Reaches a server in the way its settings say.

use async_trait::async_trait;
use harn_model::{McpServerSpec, McpTransport, Secret};
use reqwest::header::{HeaderName, HeaderValue};
use rmcp::transport::streamable_http_client::{
    StreamableHttpClientTransport, StreamableHttpClientTransportConfig,
};

use super::{
    McpSettings,
    redact::Secrets,
    stdio::{self, Process},
    streamable::Requests,
    trouble::Trouble,
    wire::Wire,
};
use crate::http;

/// A server that was reached and not greeted yet, and the process behind it, where we started one.
pub(super) type Dialed = (Wire, Option<Process>);

/// Whoever reaches servers; tests have their own.
#[async_trait]
pub(super) trait Dial: Send + Sync {
    async fn dial(&self, spec: &McpServerSpec, secrets: &Secrets) -> Result<Dialed, Trouble>;
}

#[async_trait]
impl Dial for McpSettings {
    async fn dial(&self, spec: &McpServerSpec, secrets: &Secrets) -> Result<Dialed, Trouble> {
        match &spec.transport {
            McpTransport::Stdio { command, args, env } => {
                let what = (command.as_str(), args.as_slice(), env.as_slice());
                let (lines, process) = stdio::start(self, &spec.name, what, secrets)?;
                Ok((Wire::Lines(lines), Some(process)))
            }
            McpTransport::Http { url, headers } => Ok((http_wire(url, headers, secrets)?, None)),
            McpTransport::Unsupported(name) => Err(Trouble::Unsupported(name)),
        }
    }
}

fn http_wire(url: &str, headers: &[(String, Secret)], secrets: &Secrets) -> Result<Wire, Trouble> {
    let parsed = reqwest::Url::parse(url).map_err(|_| Trouble::BadUrl)?;
    if !matches!(parsed.scheme(), "http" | "https") {
        return Err(Trouble::BadUrl);
    }
    let mut sent = Vec::new();
    for (name, value) in headers {
        let bad = || Trouble::BadHeader(name.clone());
        let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad())?;
        let mut value = HeaderValue::from_str(value.reveal()).map_err(|_| bad())?;
        // So that no library shows it.
        value.set_sensitive(true);
        sent.push((key, value));
    }
    let client = http::client().map_err(|error| Trouble::NoClient(error.to_string()))?;
    let requests = Requests {
        client,
        headers: sent.into(),
        secrets: secrets.clone(),
    };
    let config = StreamableHttpClientTransportConfig::with_uri(url);
    let transport = StreamableHttpClientTransport::with_client(requests, config);
    Ok(Wire::Http(Box::new(transport)))
}
