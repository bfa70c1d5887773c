//! The host bridge: requests beyond ACP to a host that declared it, and the host's notifications.
//!
//! One table defines the names, the params that are written, the answers that are read, the advertisement and
//! the schemas. Parsing an answer is pure. This module sends nothing; the host port does that.

pub(crate) mod answer_error;
mod capabilities;
mod process;
mod ranking;
mod skills;
#[cfg(test)]
mod tests;
mod tools;

use std::{collections::HashSet, time::Duration};

use crate::JsonSchema;
use harn_runtime::HostDeadlines;
use serde::Serialize;
use serde_json::Value;

pub use answer_error::BridgeAnswerError;
pub(crate) use capabilities::AskCapabilities;
pub use process::ProcessOperation;
#[cfg(test)]
pub(crate) use process::ShellDiscovery;
pub(crate) use ranking::MatchSkills;
pub(crate) use skills::{FetchSkill, ListSkills};
pub(crate) use tools::ListTools;

use super::{capabilities::SingleMethod, schema};

impl BridgeMethod {
    /// Returns how long a host may take to answer the request.
    #[must_use]
    pub const fn deadline(self, deadlines: &HostDeadlines) -> Duration {
        match self {
            Self::BuiltinCall | Self::Call => deadlines.call,
            Self::Capabilities
            | Self::SkillMatch
            | Self::SkillsFetch
            | Self::SkillsList
            | Self::ToolsList => deadlines.request,
        }
    }
}

/// A request to a host.
pub(crate) trait BridgeRequest: Serialize {
    const METHOD: BridgeMethod;

    /// The parsed answer of the host.
    type Answer;

    /// Parses a host's answer, in any of the accepted forms.
    fn read(answer: Value) -> Result<Self::Answer, BridgeAnswerError>;
}

macro_rules! bridge_methods {
    (
        requests { $($(#[$doc:meta])* $request:ident = $asked:literal $told:literal: $params:ty => $answer:ty;)* }
        notifications { $($(#[$about:meta])* $notification:ident = $heard:literal $why:literal;)* }
    ) => {
        /// A request to a host that declared the bridge.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum BridgeMethod {
            $($(#[$doc])* $request,)*
        }

        impl BridgeMethod {
            /// All requests.
            pub const ALL: &'static [Self] = &[$(Self::$request),*];

            /// Returns the method name.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$request => $asked,)* }
            }

            /// Returns the request with this name.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                match name {
                    $($asked => Some(Self::$request),)*
                    _ => None,
                }
            }
        }

        /// A notification from a host that declared the bridge.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum BridgeNotification {
            $($(#[$about])* $notification,)*
        }

        impl BridgeNotification {
            /// All notifications.
            pub const ALL: &'static [Self] = &[$(Self::$notification),*];

            /// Returns the method name.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$notification => $heard,)* }
            }
        }

        /// The params of every method, for the schema.
        #[cfg(test)]
        #[derive(Serialize, JsonSchema)]
        #[schemars(deny_unknown_fields)]
        #[allow(non_snake_case, reason = "one member a method")]
        pub(crate) struct BridgeParams<'a> {
            $($(#[$doc])* #[serde(rename = $asked)] $request: $params,)*
            $($(#[$about])* #[serde(rename = $heard)] $notification: NoParams,)*
        }

        /// The answers to every request, for the schema.
        #[cfg(test)]
        #[derive(JsonSchema)]
        #[schemars(deny_unknown_fields)]
        #[allow(non_snake_case, reason = "one member a method")]
        #[expect(dead_code, reason = "only its schema is of use")]
        pub(crate) struct BridgeResults {
            $($(#[$doc])* #[serde(rename = $asked)] $request: $answer,)*
        }

        /// The methods as `initialize` advertises them.
        #[derive(Serialize, JsonSchema)]
        #[allow(non_snake_case, reason = "one member a method")]
        #[schemars(rename = "BridgeMethods")]
        pub(crate) struct AdvertisedBridgeMethods {
            $($(#[$doc])* #[serde(rename = $asked)] $request: SingleMethod,)*
            $($(#[$about])* #[serde(rename = $heard)] $notification: SingleMethod,)*
        }

        impl AdvertisedBridgeMethods {
            pub(crate) const ALL: Self = Self {
                $($request: SingleMethod { description: $told, schema: schema::BRIDGE_PARAMS },)*
                $($notification: SingleMethod { description: $why, schema: schema::BRIDGE_PARAMS },)*
            };
        }
    };
}

bridge_methods! {
    requests {
        /// Calls a tool of the host.
        BuiltinCall = "builtin_call" "Calls a tool of the host.":
            CallTool<'a> => Value;
        /// Asks for an operation of the host.
        Call = "host/call" "Asks for an operation of the host.":
            HostCall<'a> => Value;
        /// Asks which operations the host has.
        Capabilities = "host/capabilities" "Asks which operations the host has.":
            AskCapabilities<'a> => tests::CapabilitiesAnswer;
        /// Asks for the tools of the host.
        ToolsList = "host/tools/list" "Asks for the tools of the host.":
            ListTools => tests::ToolsAnswer;
        /// Asks the host to rank skills.
        SkillMatch = "skill/match" "Has the host rank skills.":
            MatchSkills => tests::MatchAnswer;
        /// Asks for a skill of the host.
        SkillsFetch = "skills/fetch" "Asks for a skill of the host.":
            FetchSkill<'a> => tests::SkillAnswer;
        /// Asks for the skills of the host.
        SkillsList = "skills/list" "Asks for the skills of the host.":
            ListSkills => tests::SkillsAnswer;
    }
    notifications {
        /// The skills of the host changed.
        SkillsUpdate = "skills/update" "Reports that the host's skills have changed.";
    }
}

/// The params of a method without parameters.
#[derive(Serialize, serde::Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct NoParams {}

/// The params of `builtin_call`.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct CallTool<'a> {
    /// The name of the tool.
    pub(crate) name: &'a str,
    /// Exactly one value: the object with the tool's arguments.
    pub(crate) args: [Value; 1],
}

impl BridgeRequest for CallTool<'_> {
    const METHOD: BridgeMethod = BridgeMethod::BuiltinCall;
    type Answer = Value;

    fn read(answer: Value) -> Result<Value, BridgeAnswerError> {
        Ok(answer)
    }
}

/// The params of `host/call`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub(crate) struct HostCall<'a> {
    /// The session that the request belongs to.
    pub(crate) session_id: &'a str,
    /// The operation's full name, with its capability.
    pub(crate) name: &'a str,
    /// The operation's arguments; see the schema of the operations.
    pub(crate) args: Value,
}

impl BridgeRequest for HostCall<'_> {
    const METHOD: BridgeMethod = BridgeMethod::Call;
    type Answer = Value;

    fn read(answer: Value) -> Result<Value, BridgeAnswerError> {
        Ok(answer)
    }
}

/// Returns the list at the first of these JSON pointers that has one; "" is the answer itself.
fn take_list(mut answer: Value, places: &[&str]) -> Option<Vec<Value>> {
    places
        .iter()
        .find_map(|place| match answer.pointer_mut(place) {
            Some(Value::Array(list)) => Some(std::mem::take(list)),
            _ => None,
        })
}

/// Parses the entries of a list, counted from one, and drops entries whose name is a duplicate.
fn parse_distinct<T>(
    what: &str,
    list: Vec<Value>,
    read: impl Fn(Value, usize) -> Result<T, BridgeAnswerError>,
    name: impl Fn(&T) -> &String,
) -> Result<Vec<T>, BridgeAnswerError> {
    let mut names = HashSet::new();
    let mut distinct = Vec::with_capacity(list.len());
    for (at, entry) in list.into_iter().enumerate() {
        let entry = read(entry, at + 1)?;
        if names.insert(name(&entry).clone()) {
            distinct.push(entry);
        } else {
            tracing::warn!(name = ?name(&entry), "the host lists a {what} twice; ignored all but the first");
        }
    }
    Ok(distinct)
}

/// Returns a string that is not blank.
fn into_name(value: Option<Value>) -> Option<String> {
    match value {
        Some(Value::String(text)) if !text.trim().is_empty() => Some(text),
        _ => None,
    }
}

fn into_text(value: Option<Value>) -> Option<String> {
    match value {
        Some(Value::String(text)) => Some(text),
        _ => None,
    }
}
