//! The text of a grant file, which a person may read, edit and shorten. Opens no file itself.

use std::time::{Duration, UNIX_EPOCH};

use harn_model::{Grant, GrantEffect, GrantSubject, Timestamp, ToolKind, format_rfc3339};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toml::Spanned;

use super::{sort_members, with_computed_id};
use crate::PolicyError;

const HEADER: &str = "\
# Remembered answers: the server does not ask again about calls exactly like these.
# To revoke one, delete its table, or run: harn-serve grants revoke <id>
";

/// The largest accepted text, in bytes.
const LARGEST: usize = 4 * 1024 * 1024;

/// The content of a grant file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GrantFile {
    /// The grants, each with its time, the oldest first.
    pub grants: Vec<(Grant, Timestamp)>,
}

impl GrantFile {
    /// Parses the text of a file. `origin` names it in errors. Computes each id again, so that it always follows
    /// from the content of the grant; of two equal grants the first stays.
    pub fn parse(origin: &str, text: &str) -> Result<Self, PolicyError> {
        let syntax = |message: String| PolicyError::Syntax {
            origin: origin.to_owned(),
            message,
        };
        if text.len() > LARGEST {
            return Err(syntax(format!("it is larger than {LARGEST} bytes")));
        }
        let file: GrantTables = toml::from_str(text).map_err(|error| syntax(error.to_string()))?;
        let mut grants: Vec<(Grant, Timestamp)> = Vec::new();
        for entry in file.grant {
            let start = entry.span().start;
            let line = 1 + text
                .bytes()
                .take(start)
                .filter(|byte| *byte == b'\n')
                .count();
            let entry = entry.into_inner().into_grant();
            let entry = entry.map_err(|message| syntax(format!("line {line}: {message}")))?;
            if grants.iter().all(|(grant, _)| *grant != entry.0) {
                grants.push(entry);
            }
        }
        Ok(Self { grants })
    }

    /// Returns the text of the file.
    pub fn to_text(&self) -> String {
        let mut text = HEADER.to_owned();
        for (grant, at) in &self.grants {
            let table = GrantTable {
                grant: [GrantEntry::from_grant(grant, *at)],
            };
            // Texts, lists of texts and a time: TOML can express all of it.
            let table = toml::to_string(&table).unwrap_or_default();
            text.push('\n');
            text.push_str(&table);
        }
        text
    }
}

#[derive(Deserialize)]
struct GrantTables {
    #[serde(default)]
    grant: Vec<Spanned<GrantEntry>>,
}

#[derive(Serialize)]
struct GrantTable {
    grant: [GrantEntry; 1],
}

/// One grant as a TOML table.
#[derive(Serialize, Deserialize)]
struct GrantEntry {
    #[serde(default)]
    id: String,
    effect: GrantEffect,
    workspace: String,
    tool: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kind: Option<ToolKind>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    argv: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    line: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    paths: Option<Vec<String>>,
    /// JSON, because TOML cannot express all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    arguments: Option<String>,
    granted_at: GrantTime,
}

/// A time, as a TOML date-time or as text.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum GrantTime {
    Told(toml::value::Datetime),
    Text(String),
}

impl GrantEntry {
    fn from_grant(grant: &Grant, at: Timestamp) -> Self {
        let at = format_rfc3339(at);
        let mut entry = Self {
            id: grant.id.clone(),
            effect: grant.effect,
            workspace: grant.workspace.clone(),
            tool: grant.tool.clone(),
            kind: grant.kind,
            argv: None,
            line: None,
            paths: None,
            arguments: None,
            granted_at: at.parse().map_or(GrantTime::Text(at), GrantTime::Told),
        };
        match &grant.subject {
            GrantSubject::Argv(argv) => entry.argv = Some(argv.clone()),
            GrantSubject::Line(line) => entry.line = Some(line.clone()),
            GrantSubject::Paths(paths) => entry.paths = Some(paths.clone()),
            GrantSubject::Arguments(arguments) => entry.arguments = Some(arguments.to_string()),
        }
        entry
    }

    fn into_grant(self) -> Result<(Grant, Timestamp), String> {
        let subject = match (self.argv, self.line, self.paths, self.arguments) {
            (Some(argv), None, None, None) if !argv.is_empty() => GrantSubject::Argv(argv),
            (None, Some(line), None, None) => GrantSubject::Line(line),
            (None, None, Some(mut paths), None) if !paths.is_empty() => {
                paths.sort_unstable();
                paths.dedup();
                GrantSubject::Paths(paths)
            }
            (None, None, None, Some(text)) => {
                let arguments: Value = serde_json::from_str(&text)
                    .map_err(|error| format!("`arguments` is not JSON: {error}"))?;
                GrantSubject::Arguments(sort_members(&arguments))
            }
            _ => {
                let message = "a grant must have exactly one of `argv`, `line`, `paths` and \
                               `arguments`, and it must not be empty";
                return Err(message.to_owned());
            }
        };
        let at = match self.granted_at {
            GrantTime::Told(at) => at.to_string(),
            GrantTime::Text(at) => at,
        };
        let at = humantime::parse_rfc3339_weak(&at).map_err(|error| {
            format!("`granted_at` is not a time such as 2026-01-31T12:00:00Z: {error}")
        })?;
        let at = at.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        let grant = with_computed_id(Grant {
            id: String::new(),
            effect: self.effect,
            workspace: self.workspace,
            tool: self.tool,
            kind: self.kind,
            subject,
        });
        Ok((
            grant,
            Timestamp::try_from(at.as_millis()).unwrap_or(Timestamp::MAX),
        ))
    }
}
