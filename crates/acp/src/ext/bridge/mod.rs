//! The host bridge: what a host that declared it is asked for beyond ACP, and what it may say.
//!
//! One table gives the names, the params we write, the answers we read, what is advertised and the schemas.
//! Reading an answer is pure. Nothing here asks: that is the host port's business.

mod capabilities;
pub(crate) mod misfit;
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

pub(crate) use capabilities::AskCapabilities;
pub use misfit::BridgeAnswerError;
pub use process::ProcessOperation;
#[cfg(test)]
pub(crate) use process::ShellDiscovery;
pub(crate) use ranking::MatchSkills;
pub(crate) use skills::{FetchSkill, ListSkills};
pub(crate) use tools::ListTools;

use super::{capabilities::SingleMethod, schema};

impl BridgeMethod {
    /// How long a host may take to answer it.
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
    /// Which.
    const METHOD: BridgeMethod;

    /// What comes of it.
    type Answer;

    /// Reads a host's answer, in any of the forms that are accepted.
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
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$request),*];

            /// Its name.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$request => $asked,)* }
            }

            /// The request of this name.
            #[must_use]
            pub fn named(name: &str) -> Option<Self> {
                match name {
                    $($asked => Some(Self::$request),)*
                    _ => None,
                }
            }
        }

        /// What a host that declared the bridge may tell us.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum BridgeNotification {
            $($(#[$about])* $notification,)*
        }

        impl BridgeNotification {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$notification),*];

            /// Its name.
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

        /// The methods as `initialize` tells of them.
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
        /// Asks which operations there are.
        Capabilities = "host/capabilities" "Asks which operations the host has.":
            AskCapabilities<'a> => tests::CapabilitiesAnswer;
        /// Asks for the tools of the host.
        ToolsList = "host/tools/list" "Asks for the tools of the host.":
            ListTools => tests::ToolsAnswer;
        /// Has the host rank skills.
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
        /// The host has other skills than before.
        SkillsUpdate = "skills/update" "Tells that the host has other skills than before.";
    }
}

/// No params.
#[derive(Serialize, serde::Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct NoParams {}

/// The params of `builtin_call`.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct CallTool<'a> {
    /// Which tool.
    pub(crate) name: &'a str,
    /// One: the object of its arguments.
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
    /// For which session.
    pub(crate) session_id: &'a str,
    /// The operation, capability and all.
    pub(crate) name: &'a str,
    /// What it takes; see the schema of the operations.
    pub(crate) args: Value,
}

impl BridgeRequest for HostCall<'_> {
    const METHOD: BridgeMethod = BridgeMethod::Call;
    type Answer = Value;

    fn read(answer: Value) -> Result<Value, BridgeAnswerError> {
        Ok(answer)
    }
}

/// The list at the first of these places that has one; the answer itself is the place "".
fn list(mut answer: Value, places: &[&str]) -> Option<Vec<Value>> {
    places
        .iter()
        .find_map(|place| match answer.pointer_mut(place) {
            Some(Value::Array(list)) => Some(std::mem::take(list)),
            _ => None,
        })
}

/// The entries of a list, counted from one, each name once.
fn distinct<T>(
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
            tracing::warn!(name = ?name(&entry), "the host lists a {what} twice; the first one counts");
        }
    }
    Ok(distinct)
}

/// A text that says something.
fn name(value: Option<Value>) -> Option<String> {
    match value {
        Some(Value::String(text)) if !text.trim().is_empty() => Some(text),
        _ => None,
    }
}

/// A text, or nothing.
fn text(value: Option<Value>) -> Option<String> {
    match value {
        Some(Value::String(text)) => Some(text),
        _ => None,
    }
}
