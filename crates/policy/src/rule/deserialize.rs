//! Parses rules in every supported form. An unknown entry is an error that states what would be right: a
//! rule without it would mean something else.

use std::{fmt, marker::PhantomData};

use harn_model::PolicyAction;
use serde::{
    Deserialize, Deserializer,
    de::{self, DeserializeOwned, IntoDeserializer, MapAccess, SeqAccess, Visitor, value},
};

use super::{PolicyRule, RuleMatcher};
use crate::word_table::WordTable;

const KEYS: WordTable =
    WordTable("id name action match matches when reason deny ask allow require_approval");

const MATCHERS: WordTable = WordTable(
    "tool tool_kind side_effect path command command_identity agent mode capability sandbox",
);

/// Keys that other implementations of such rules support and this one does not.
const UNJUDGED: WordTable =
    WordTable("url domain http_method mcp_server mcp_tool persona env_mode repeat_count_at_least");

impl<'de> Deserialize<'de> for PolicyRule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(RuleVisitor)
    }
}

struct RuleVisitor;

impl<'de> Visitor<'de> for RuleVisitor {
    type Value = PolicyRule;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a rule: `action` and `match`, or one of `deny`, `ask`, `allow`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<PolicyRule, A::Error> {
        let mut id: Option<String> = None;
        let mut action: Option<PolicyAction> = None;
        let mut matcher: Option<RuleMatcher> = None;
        let mut short: Option<(PolicyAction, RuleMatcher)> = None;
        let mut reason: Option<String> = None;
        while let Some(key) = map.next_key::<String>()? {
            let again = match key.as_str() {
                "id" | "name" => id.replace(map.next_value()?).is_some(),
                "action" => action.replace(map.next_value::<ActionWord>()?.0).is_some(),
                "match" | "matches" | "when" => matcher.replace(map.next_value()?).is_some(),
                "reason" => reason.replace(map.next_value()?).is_some(),
                "deny" | "ask" | "allow" | "require_approval" => {
                    let action = parse_action(&key).unwrap_or(PolicyAction::Deny);
                    let RuleShorthand(matcher) = map.next_value()?;
                    short.replace((action, matcher)).is_some()
                }
                "approval" => {
                    let message =
                        "`approval` is not supported yet: remove it, or use `action = \"ask\"`";
                    return Err(de::Error::custom(message));
                }
                _ => return Err(unknown_key_error("a rule", &key, KEYS)),
            };
            if again {
                let message = format!(
                    "`{key}` sets a value that this rule has already set; remove one of them"
                );
                return Err(de::Error::custom(message));
            }
        }
        let (action, matcher) = match (action, matcher, short) {
            (Some(action), Some(matcher), None) => (action, matcher),
            (None, None, Some(short)) => short,
            (Some(_), None, None) => {
                let message = "a rule with an `action` needs a `match`; `match = { tool = \"*\" }` \
                               matches every call";
                return Err(de::Error::custom(message));
            }
            (None, _, None) => {
                let message =
                    "a rule needs an action: `action = \"allow\"`, `\"ask\"` or `\"deny\"`";
                return Err(de::Error::custom(message));
            }
            (_, _, Some(_)) => {
                let message = "`deny`, `ask` and `allow` already contain the action and the match; \
                               remove `action` and `match`";
                return Err(de::Error::custom(message));
            }
        };
        if matcher.is_empty() {
            let message = "a rule needs a condition: write `tool = \"*\"` to match every call";
            return Err(de::Error::custom(message));
        }
        Ok(PolicyRule {
            id,
            action,
            matcher,
            reason,
        })
    }
}

/// An action, parsed from any of its names.
struct ActionWord(PolicyAction);

impl<'de> Deserialize<'de> for ActionWord {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = String::deserialize(deserializer)?;
        parse_action(&word).map(Self).ok_or_else(|| {
            let message = format!("unknown action `{word}`; use `allow`, `ask` or `deny`");
            de::Error::custom(message)
        })
    }
}

fn parse_action(word: &str) -> Option<PolicyAction> {
    match word {
        "allow" | "approve" | "auto_approve" => Some(PolicyAction::Allow),
        "ask" | "approval" | "require_approval" | "requires_approval" => Some(PolicyAction::Ask),
        "deny" | "block" | "auto_deny" => Some(PolicyAction::Deny),
        _ => None,
    }
}

impl<'de> Deserialize<'de> for RuleMatcher {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MatcherVisitor)
    }
}

struct MatcherVisitor;

impl<'de> Visitor<'de> for MatcherVisitor {
    type Value = RuleMatcher;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table of conditions, such as `{ tool = \"edit_*\" }`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RuleMatcher, A::Error> {
        let mut matcher = RuleMatcher::default();
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "tool" => matcher.tool = next_list(&mut map)?,
                "tool_kind" => matcher.tool_kind = next_list(&mut map)?,
                "side_effect" => matcher.side_effect = next_list(&mut map)?,
                "path" => matcher.path = next_list(&mut map)?,
                "command" => matcher.command = next_list(&mut map)?,
                "command_identity" => matcher.command_identity = next_list(&mut map)?,
                "agent" => matcher.agent = next_list(&mut map)?,
                "mode" => matcher.mode = next_list(&mut map)?,
                "capability" => matcher.capability = next_list(&mut map)?,
                "sandbox" => matcher.sandbox = Some(map.next_value()?),
                key if UNJUDGED.has(key) => {
                    let message = format!(
                        "`{key}` is not supported yet, and without it the rule would match other calls; \
                         remove the rule"
                    );
                    return Err(de::Error::custom(message));
                }
                key => return Err(unknown_key_error("what a rule matches", key, MATCHERS)),
            }
        }
        Ok(matcher)
    }
}

fn next_list<'de, T: DeserializeOwned, A: MapAccess<'de>>(map: &mut A) -> Result<Vec<T>, A::Error> {
    map.next_value::<OneOrMany<T>>().map(|entries| entries.0)
}

/// One entry or a list of at least one: an empty list could mean all or none.
struct OneOrMany<T>(Vec<T>);

impl<'de, T: DeserializeOwned> Deserialize<'de> for OneOrMany<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OneOrManyVisitor(PhantomData))
    }
}

struct OneOrManyVisitor<T>(PhantomData<T>);

impl<'de, T: DeserializeOwned> Visitor<'de> for OneOrManyVisitor<T> {
    type Value = OneOrMany<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or a list of texts")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
        let text: value::StrDeserializer<'_, E> = text.into_deserializer();
        T::deserialize(text).map(|entry| OneOrMany(vec![entry]))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
        let entries: Vec<T> = Vec::deserialize(value::SeqAccessDeserializer::new(seq))?;
        if entries.is_empty() {
            let message = "an empty list matches nothing: remove it, or write `\"*\"`";
            return Err(de::Error::custom(message));
        }
        Ok(OneOrMany(entries))
    }
}

/// The value of `deny`, `ask` or `allow`: tool names, or a full matcher.
struct RuleShorthand(RuleMatcher);

impl<'de> Deserialize<'de> for RuleShorthand {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ShorthandVisitor)
    }
}

struct ShorthandVisitor;

impl ShorthandVisitor {
    fn from_tools(entries: OneOrMany<String>) -> RuleShorthand {
        RuleShorthand(RuleMatcher {
            tool: entries.0,
            ..RuleMatcher::default()
        })
    }
}

impl<'de> Visitor<'de> for ShorthandVisitor {
    type Value = RuleShorthand;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a tool, a list of names, or a table of conditions")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<RuleShorthand, E> {
        OneOrManyVisitor(PhantomData)
            .visit_str(text)
            .map(Self::from_tools)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<RuleShorthand, A::Error> {
        OneOrManyVisitor(PhantomData)
            .visit_seq(seq)
            .map(Self::from_tools)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<RuleShorthand, A::Error> {
        MatcherVisitor.visit_map(map).map(RuleShorthand)
    }
}

/// Returns the error for an unknown key, with the key that was probably meant.
fn unknown_key_error<E: de::Error>(place: &str, key: &str, known: WordTable) -> E {
    let plain = |word: &str| word.to_ascii_lowercase().replace('-', "_");
    let near = known.words().find(|known| {
        let (key, known) = (plain(key), plain(known));
        let plural = |long: &str, short: &str| long.strip_suffix('s') == Some(short);
        key == known || plural(&key, &known) || differs_by_one_edit(&key, &known)
    });
    let hint = match near {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("known keys: {}", known.0.replace(' ', ", ")),
    };
    let shown: String = key.chars().take(40).collect();
    E::custom(format!("unknown key `{shown}` in {place}; {hint}"))
}

/// Whether one letter was added, removed or changed, or two neighbours were swapped.
fn differs_by_one_edit(a: &str, b: &str) -> bool {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let start = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[start..], &b[start..]);
    let end = a
        .iter()
        .rev()
        .zip(b.iter().rev())
        .take_while(|(a, b)| a == b)
        .count();
    let (a, b) = (&a[..a.len() - end], &b[..b.len() - end]);
    match (a, b) {
        ([p, q], [r, s]) => p == s && q == r,
        _ => a.len() <= 1 && b.len() <= 1,
    }
}
