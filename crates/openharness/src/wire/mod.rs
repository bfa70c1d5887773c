//! The envelope of a response, as it is written. `directive` has the directives in it; `from_wire` reads
//! requests.

pub(crate) mod directive;

use std::collections::BTreeMap;

use crate::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::{
    capabilities, ext::ResponseExtensions, request::CapabilityDenial, request::EchoedIds, version,
};
use directive::Directive;

/// A response to a request.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "Answer")]
pub(crate) struct OpenHarnessResponse<'a> {
    /// The protocol version of the response.
    #[schemars(extend("const" = "1.0.0"))]
    protocol_version: &'static str,
    /// The id of the request, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 256))]
    request_id: Option<&'a str>,
    /// The correlation id of the request, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 256))]
    correlation_id: Option<&'a str>,
    /// The supported versions. The server accepts every 1.x.y.
    supported_protocol_versions: [&'static str; 1],
    /// The supported capabilities; every value is true.
    supported_capabilities: BTreeMap<&'static str, bool>,
    /// The requested capabilities that the server denies.
    capability_denials: &'a [CapabilityDenial],
    /// The result of the request.
    response: ResponsePayload<'a>,
}

impl<'a> OpenHarnessResponse<'a> {
    /// Creates a response with these ids.
    pub(crate) fn new(
        echo: &'a EchoedIds,
        denied: &'a [CapabilityDenial],
        response: ResponsePayload<'a>,
    ) -> Self {
        let supported = capabilities::SUPPORTED.into_iter();
        Self {
            protocol_version: version::OURS,
            request_id: echo.request_id.as_deref(),
            correlation_id: echo.correlation_id.as_deref(),
            supported_protocol_versions: version::SUPPORTED,
            supported_capabilities: supported.map(|key| (key, true)).collect(),
            capability_denials: denied,
            response,
        }
    }
}

/// The result of a request.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "Response")]
pub(crate) struct ResponsePayload<'a> {
    pub(crate) status: ResponseStatus,
    /// How long the run has taken, up to the last event in this response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) engine_latency_ms: Option<u64>,
    /// The directives for the Shell, in order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) action_directives: Option<Vec<Directive<'a>>>,
    /// The error, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<ResponseError>,
    /// The run, and the position up to which it has been reported. A request with it continues from there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) continuation: Option<Continuation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) extensions: Option<ResponseExtensions<'a>>,
}

/// Whether the request succeeded.
#[derive(Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Status")]
pub(crate) enum ResponseStatus {
    /// The request succeeded, or has no error so far.
    Success,
    /// The request failed; `error` has the reason.
    Error,
}

/// The error of a request.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "Error")]
pub(crate) struct ResponseError {
    /// The code, for programs.
    #[schemars(length(min = 1))]
    pub(crate) code: &'static str,
    /// The text, for people.
    pub(crate) message: String,
    /// Whether the same request may succeed later.
    pub(crate) retryable: bool,
    /// `field` names what is wrong in a request, `limit_bytes` is the limit of a body that is too long.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) details: Option<Map<String, Value>>,
}

/// A position in a run.
#[derive(Clone, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Continuation {
    /// The id of the run.
    pub(crate) run_id: String,
    /// The position up to which the run has been reported.
    pub(crate) continuation_token: String,
}
