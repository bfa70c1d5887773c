//! `fetch`: gets a text from the web, with limits on size and time. The rules decide about every address; a
//! redirect to another host is reported, not followed.

mod address;

use std::{
    collections::BTreeMap,
    error::Error,
    sync::{Arc, OnceLock},
    time::Duration,
};

use harn_model::{ErrorCategory, ToolContent, ToolExecutor};
use harn_runtime::{AgentError, ToolError, ToolHandle, ToolOutput, TurnContext};
use reqwest::{
    Client, NoProxy, Proxy, Response, StatusCode,
    header::{ACCEPT, CONTENT_TYPE, LOCATION},
    redirect::Policy,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::address::{FetchAddress, is_text};
use super::{
    BuiltinTool, BuiltinToolkit, builtin_call,
    execution::{fail_by, parse, run_unless_cancelled, to_json},
};
use crate::markdown::{fence, shorten};

/// The default deadline of a fetch; the constant below is the maximum.
const TIMEOUT: Duration = Duration::from_secs(30);
pub(super) const MAX_TIMEOUT_MS: u64 = 2 * 60 * 1000;
/// The most bytes read of a text.
const MAX_BYTES: usize = 64 * 1024;
/// The most redirects followed on one host.
const MAX_HOPS: usize = 5;
/// The error for arguments without a `url`.
const NO_ADDRESS: &str = "the arguments have no address";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FetchInput {
    url: String,
    timeout_ms: Option<u64>,
}

/// A server's response, and the part of it that the journal stores.
#[derive(Serialize)]
struct FetchResponse {
    status: u16,
    url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    content_type: Option<String>,
    bytes: usize,
    truncated: bool,
    #[serde(skip)]
    text: String,
    #[serde(skip)]
    full_status: StatusCode,
}

impl BuiltinToolkit {
    /// Fetches a text if it is allowed.
    pub(super) async fn fetch(
        &self,
        cx: &TurnContext,
        input: Value,
    ) -> Result<ToolOutput, AgentError> {
        let FetchInput { url, .. } = parse(&input, NO_ADDRESS)?;
        let tool = builtin_call(cx, BuiltinTool::Fetch).input(input);
        // The reason may be a password in the address, so no title contains it.
        let address = match FetchAddress::parse(&url) {
            Ok(address) => address,
            Err(error) => return Err(tool.title("Fetch").refuse(error).await?),
        };
        let title = format!("Fetch {}", shorten(address.as_str(), 120));
        let call = tool.title(title).start().await?;
        let input = call.input().clone();
        let work = async {
            // The permission answer may have replaced the address.
            let FetchInput { url, timeout_ms } = parse(&input, NO_ADDRESS)?;
            let address = FetchAddress::parse(&url)?;
            let given = timeout_ms.map(|ms| Duration::from_millis(ms.min(MAX_TIMEOUT_MS)));
            let limit = given.unwrap_or(TIMEOUT);
            let answer = tokio::time::timeout(limit, self.get(address)).await;
            answer.unwrap_or_else(|_| {
                let late = format!("no complete answer within {} ms", limit.as_millis());
                Err(ToolError::with_category(ErrorCategory::Timeout, late))
            })
        };
        match run_unless_cancelled(cx, work).await? {
            Ok(answer) => answer.finish_call(call).await,
            Err(error) => Err(fail_by(call, ToolExecutor::HarnBuiltin, error).await?),
        }
    }

    async fn get(&self, mut address: FetchAddress) -> Result<FetchResponse, ToolError> {
        let client = self.web.client().map_err(network_error)?;
        for _ in 0..=MAX_HOPS {
            let request = client.get(address.url());
            let request = request.header(ACCEPT, "text/*, application/json;q=0.9, */*;q=0.1");
            let response = request.send().await.map_err(network_error)?;
            let location = response.headers().get(LOCATION);
            let location = location.and_then(|location| location.to_str().ok());
            match location.filter(|_| response.status().is_redirection()) {
                Some(location) => address = address.follow(location)?,
                None => return read_response(response).await,
            }
        }
        Err(ToolError::new(format!(
            "the server redirects more than {MAX_HOPS} times"
        )))
    }
}

/// Reads a response if it is text, up to the size limit.
async fn read_response(mut response: Response) -> Result<FetchResponse, ToolError> {
    let header = response.headers().get(CONTENT_TYPE);
    let content_type = header.and_then(|header| header.to_str().ok());
    let content_type = content_type.map(str::to_owned);
    if let Some(kind) = content_type.as_deref().filter(|kind| !is_text(kind)) {
        return Err(ToolError::new(format!("the answer is {kind:?}, not text")));
    }
    let mut bytes = Vec::new();
    while bytes.len() <= MAX_BYTES
        && let Some(chunk) = response.chunk().await.map_err(network_error)?
    {
        bytes.extend_from_slice(&chunk);
    }
    let truncated = bytes.len() > MAX_BYTES;
    bytes.truncate(MAX_BYTES);
    if bytes.contains(&0) {
        return Err(ToolError::new("the answer is binary, not text"));
    }
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Ok(FetchResponse {
        status: response.status().as_u16(),
        url: response.url().to_string(),
        content_type,
        bytes: text.len(),
        truncated,
        text,
        full_status: response.status(),
    })
}

impl FetchResponse {
    /// Ends the call. A response with an error status is a failure, with its text.
    async fn finish_call(self, call: ToolHandle) -> Result<ToolOutput, AgentError> {
        let mut shown = match self.text.trim().is_empty() {
            true => "The answer is empty.\n".to_owned(),
            false => fence("", &self.text, 0),
        };
        if self.truncated {
            shown.push_str(&format!("\nThese are its first {MAX_BYTES} bytes.\n"));
        }
        let output = ToolOutput {
            raw: Some(to_json(&self)),
            content: Some(vec![ToolContent::text(shown.clone())]),
            executor: Some(ToolExecutor::HarnBuiltin),
            ..ToolOutput::default()
        };
        if self.full_status.is_success() {
            call.complete(output.clone()).await?;
            return Ok(output);
        }
        let failed = format!("the server answered {}", self.full_status);
        call.fail_with(&failed, ErrorCategory::ToolError, output)
            .await?;
        Err(AgentError::Tool(format!("{failed}\n\n{shown}")))
    }
}

/// The client for web servers.
pub(super) struct WebClient {
    /// The environment, which may name proxies.
    env: Arc<BTreeMap<String, String>>,
    client: OnceLock<Client>,
}

impl WebClient {
    pub(super) fn new(env: Arc<BTreeMap<String, String>>) -> Self {
        let client = OnceLock::new();
        Self { env, client }
    }

    /// Returns the client, created on first use because it reads this machine's certificate authorities.
    fn client(&self) -> reqwest::Result<Client> {
        if let Some(client) = self.client.get() {
            return Ok(client.clone());
        }
        let made = build_client(&self.env)?;
        Ok(self.client.get_or_init(|| made).clone())
    }
}

/// Creates a client that follows no redirects and uses the proxies in the environment.
fn build_client(env: &BTreeMap<String, String>) -> reqwest::Result<Client> {
    // TLS needs a crypto provider; one that is already installed will do.
    let _ = tokio_rustls::rustls::crypto::ring::default_provider().install_default();
    let named = |name: &str| {
        let value = env.get(name).or_else(|| env.get(&name.to_uppercase()));
        value.filter(|value| !value.is_empty())
    };
    let mut builder = Client::builder()
        .no_proxy()
        .redirect(Policy::none())
        .user_agent(concat!("harn-serve/", env!("CARGO_PKG_VERSION")));
    let not = named("no_proxy").and_then(|hosts| NoProxy::from_string(hosts));
    if let Some(proxy) = named("https_proxy").or(named("all_proxy")) {
        builder = builder.proxy(Proxy::https(proxy)?.no_proxy(not.clone()));
    }
    if let Some(proxy) = named("http_proxy").or(named("all_proxy")) {
        builder = builder.proxy(Proxy::http(proxy)?.no_proxy(not));
    }
    builder.build()
}

/// Describes a network error without its address.
fn network_error(error: reqwest::Error) -> ToolError {
    let error = error.without_url();
    let mut message = error.to_string();
    let mut cause = error.source();
    while let Some(deeper) = cause {
        message = format!("{message}: {deeper}");
        cause = deeper.source();
    }
    ToolError::with_category(ErrorCategory::Network, message)
}
