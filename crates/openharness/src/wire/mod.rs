//! The envelope of an answer, as it is written. The directives in it are in `directive`; requests are read by
//! `from_wire`.

pub(crate) mod directive;

use std::collections::BTreeMap;

use crate::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::{
    asked::CapabilityDenial, asked::EchoedIds, capabilities, ext::ResponseExtensions, version,
};
use directive::Directive;

/// An answer.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "Answer")]
pub(crate) struct OpenHarnessResponse<'a> {
    /// The version it is written in.
    #[schemars(extend("const" = "1.0.0"))]
    protocol_version: &'static str,
    /// That of the request, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 256))]
    request_id: Option<&'a str>,
    /// That of the request, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 256))]
    correlation_id: Option<&'a str>,
    /// The versions that are spoken, every 1.x.y among them.
    supported_protocol_versions: [&'static str; 1],
    /// What there is; every value is true.
    supported_capabilities: BTreeMap<&'static str, bool>,
    /// What the Shell asked for and does not get.
    capability_denials: &'a [CapabilityDenial],
    /// What came of it.
    response: ResponsePayload<'a>,
}

impl<'a> OpenHarnessResponse<'a> {
    /// An answer to whoever sent these ids.
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

/// What came of a request.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "Response")]
pub(crate) struct ResponsePayload<'a> {
    pub(crate) status: ResponseStatus,
    /// How long the run has taken, until the last of what is told here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) engine_latency_ms: Option<u64>,
    /// What the Shell is to do, in this order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) action_directives: Option<Vec<Directive<'a>>>,
    /// What went wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<ResponseError>,
    /// Names the run, and what of it has been told: sent back, it goes on from there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) continuation: Option<Continuation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) extensions: Option<ResponseExtensions<'a>>,
}

/// Whether it went well.
#[derive(Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Status")]
pub(crate) enum ResponseStatus {
    /// It did, or it does so far.
    Success,
    /// `error` says what went wrong.
    Error,
}

/// What went wrong.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "Error")]
pub(crate) struct ResponseError {
    /// For machines.
    #[schemars(length(min = 1))]
    pub(crate) code: &'static str,
    /// For people.
    pub(crate) message: String,
    /// Whether the same request may succeed later.
    pub(crate) retryable: bool,
    /// `field` of what is wrong in a request, `limit_bytes` of a body that is too long.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) details: Option<Map<String, Value>>,
}

/// A place in a run.
#[derive(Clone, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Continuation {
    /// The run.
    pub(crate) run_id: String,
    /// What of it has been told.
    pub(crate) continuation_token: String,
}
