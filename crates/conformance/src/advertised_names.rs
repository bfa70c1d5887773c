//! The extensions that the answer to `initialize` advertises, and whether a message keeps to them.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{
    ConformanceRule, MessageFindings,
    extensions::{REPLAYED, RecordedUpdate},
    list_names,
    permission::MemberPlacement,
    quote_name,
};
use harn_acp::ext::VENDOR;

/// The advertised names. Without any, the client receives plain ACP.
#[derive(Default)]
pub(super) struct AdvertisedNames {
    updates: BTreeSet<String>,
    kinds: BTreeSet<String>,
    methods: BTreeSet<String>,
    tool_fields: BTreeSet<String>,
    content_fields: BTreeSet<String>,
    /// The client asked for a profile that puts extensions under `_meta`.
    only_meta: bool,
    /// The client asked for the profile in which extensions have their own names.
    own_names: bool,
}

impl AdvertisedNames {
    /// Reads the result of `initialize`; `wish` is the profile that the client asked for.
    pub(super) fn read(result: &Value, wish: Option<&str>) -> Self {
        let harn = &result["agentCapabilities"]["_meta"][VENDOR];
        let words = |list: &Value| {
            let words = list.as_array().into_iter().flatten();
            words.filter_map(Value::as_str).map(str::to_owned).collect()
        };
        let names = |object: &Value| {
            let names = object.as_object().into_iter().flatten();
            names.map(|(name, _)| name.clone()).collect()
        };
        Self {
            updates: words(&harn["sessionUpdateExtensions"]),
            kinds: words(&harn["extensionMethods"][harn_acp::ext::agent_event::METHOD]["kinds"]),
            methods: names(&harn["extensionMethods"]),
            tool_fields: words(&harn["toolLifecycleExtensionFields"]),
            content_fields: words(&harn["contentExtensionFields"]),
            only_meta: wish == Some("meta"),
            // The profile has the vendor's name.
            own_names: wish == Some(VENDOR),
        }
    }

    /// Returns where a permission request has the members that the contract adds.
    pub(super) fn approval_placement(&self) -> MemberPlacement {
        if self.tool_fields.is_empty() {
            // This agent does not implement the contract.
            MemberPlacement::Anything
        } else if self.only_meta || self.updates.is_empty() {
            MemberPlacement::UnderMeta
        } else if self.own_names {
            MemberPlacement::Beside
        } else {
            MemberPlacement::Either
        }
    }

    pub(super) fn check_update(&self, update: &RecordedUpdate<'_>) -> MessageFindings {
        let name = update.name;
        let mut found = MessageFindings::new();
        let mut not = |what: String| found.push((ConformanceRule::NotAdvertised, what));
        if update.is_extension() {
            if !self.updates.contains(name) {
                not(format!(
                    "the update {} was not advertised",
                    quote_name(name)
                ));
            } else if self.only_meta && !update.carried {
                not(format!(
                    "the update {} has a discriminator of its own, and the client asked for the profile `meta`",
                    quote_name(name)
                ));
            }
        }
        // Whole user messages belong to the contract; only a client that receives extensions gets them.
        if name == "user_message" && (self.only_meta || self.updates.is_empty()) {
            not("`user_message` is unknown to ACP, and no extensions were advertised".to_owned());
        }
        let tool = update.harn.as_deref().filter(|_| update.is_tool());
        let content = update.root["content"]["_meta"].get(VENDOR);
        for (fields, advertised, what) in [
            (tool, &self.tool_fields, "tool lifecycle fields"),
            (content, &self.content_fields, "content fields"),
        ] {
            if let Some(names) = unadvertised_fields(fields, advertised) {
                not(format!("{what} that were not advertised: {names}"));
            }
        }
        found
    }

    /// Checks that a notification of the contract was advertised.
    pub(super) fn check_method(&self, name: &str) -> MessageFindings {
        if self.methods.contains(name) {
            return MessageFindings::new();
        }
        let what = format!("{} was not advertised", quote_name(name));
        vec![(ConformanceRule::NotAdvertised, what)]
    }

    pub(super) fn check_event(&self, kind: &str) -> MessageFindings {
        if self.kinds.contains(kind) {
            return MessageFindings::new();
        }
        let what = format!("the agent event {} was not advertised", quote_name(kind));
        vec![(ConformanceRule::NotAdvertised, what)]
    }
}

/// Returns the names of the fields that were not advertised, if any.
fn unadvertised_fields(fields: Option<&Value>, advertised: &BTreeSet<String>) -> Option<String> {
    let names = fields?.as_object()?.keys().map(String::as_str);
    let names = names.filter(|name| *name != REPLAYED && !advertised.contains(*name));
    let mut names = names.peekable();
    names.peek().is_some().then(|| list_names(names))
}
