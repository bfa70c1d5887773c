//! Parses the MCP servers of a request that opens a session. An error names only the index in the list: the
//! values may be secrets, and are not repeated.

use std::collections::HashSet;

use agent_client_protocol::Error;
use harn_model::{McpServerSpec, McpTransport, Secret};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use crate::error;

const LIST: &str = "mcpServers";

/// Takes the list out of the params, and leaves an empty one. A missing list is an empty one.
pub(crate) fn take_servers(method: &str, params: &mut Value) -> Result<Vec<McpServerSpec>, Error> {
    let Value::Object(params) = params else {
        return Ok(Vec::new());
    };
    let list = params.insert(LIST.to_owned(), Value::Array(Vec::new()));
    read(list.unwrap_or_default()).map_err(|e| error::bad_params(&format!("{method}: {e}")))
}

fn read(list: Value) -> Result<Vec<McpServerSpec>, String> {
    let list = match list {
        Value::Null => Vec::new(),
        Value::Array(list) => list,
        _ => return Err(format!("{LIST} must be a list")),
    };
    let mut names = HashSet::new();
    let servers = list.into_iter().enumerate().map(|(at, entry)| {
        let bad = |why: String| format!("{LIST}[{at}]: {why}");
        let server = parse_server(entry).map_err(bad)?;
        if !names.insert(server.name.clone()) {
            return Err(bad(
                "an earlier server has the same `name`; names must be unique".to_owned(),
            ));
        }
        Ok(server)
    });
    servers.collect()
}

fn parse_server(entry: Value) -> Result<McpServerSpec, String> {
    let Value::Object(mut entry) = entry else {
        return Err("must be an object".to_owned());
    };
    let name = take_text(&mut entry, "name")?;
    let kind: Option<String> = take_member(&mut entry, "type", "a text")?;
    let transport = match kind.as_deref() {
        None | Some("stdio") => McpTransport::Stdio {
            command: take_text(&mut entry, "command")?,
            args: take_member(&mut entry, "args", "a list of texts")?.unwrap_or_default(),
            env: take_pairs(&mut entry, "env")?,
        },
        Some("http") => McpTransport::Http {
            url: take_text(&mut entry, "url")?,
            headers: take_pairs(&mut entry, "headers")?,
        },
        Some("sse") => McpTransport::Unsupported("sse"),
        Some(_) => return Err("`type` must be `stdio`, `http`, `sse` or left out".to_owned()),
    };
    Ok(McpServerSpec { name, transport })
}

/// A variable or a header.
#[derive(Deserialize)]
struct NameValuePair {
    name: String,
    value: String,
}

fn take_pairs(entry: &mut Map<String, Value>, name: &str) -> Result<Vec<(String, Secret)>, String> {
    let pairs: Option<Vec<NameValuePair>> =
        take_member(entry, name, "a list of objects with `name` and `value`")?;
    let pairs = pairs.unwrap_or_default().into_iter();
    Ok(pairs.map(|it| (it.name, Secret::new(it.value))).collect())
}

fn take_text(entry: &mut Map<String, Value>, name: &str) -> Result<String, String> {
    let wanted = "a text that is not blank";
    let text: Option<String> = take_member(entry, name, wanted)?;
    let text = text.filter(|text| !text.trim().is_empty());
    text.ok_or_else(|| format!("`{name}` must be {wanted}"))
}

fn take_member<T: DeserializeOwned>(
    entry: &mut Map<String, Value>,
    name: &str,
    wanted: &str,
) -> Result<Option<T>, String> {
    match entry.remove(name) {
        None | Some(Value::Null) => Ok(None),
        // Serde's error would repeat the value.
        Some(value) => T::deserialize(value)
            .map(Some)
            .map_err(|_| format!("`{name}` must be {wanted}")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_transport_is_read() {
        let list = json!([
            {"name": "files", "command": "/bin/files", "args": ["--all"], "env": [{"name": "TOKEN", "value": "t"}]},
            {"type": "stdio", "name": "bare", "command": "bare"},
            {"type": "http", "name": "web", "url": "http://127.0.0.1/mcp", "headers": [{"name": "a", "value": "b"}]},
            {"type": "sse", "name": "old", "url": "http://127.0.0.1/sse", "headers": []},
        ]);
        let servers = read(list).unwrap();
        let transports: Vec<_> = servers
            .iter()
            .map(|it| (&*it.name, &it.transport))
            .collect();
        let stdio = |command: &str, args: &[&str], env| McpTransport::Stdio {
            command: command.to_owned(),
            args: args.iter().map(|&it| it.to_owned()).collect(),
            env,
        };
        let secret = |name: &str, value: &str| vec![(name.to_owned(), Secret::new(value))];
        let web = McpTransport::Http {
            url: "http://127.0.0.1/mcp".to_owned(),
            headers: secret("a", "b"),
        };
        assert_eq!(
            transports,
            [
                (
                    "files",
                    &stdio("/bin/files", &["--all"], secret("TOKEN", "t"))
                ),
                ("bare", &stdio("bare", &[], Vec::new())),
                ("web", &web),
                ("old", &McpTransport::Unsupported("sse")),
            ]
        );
    }

    #[test]
    fn missing_list_is_an_empty_list() {
        for mut params in [
            json!({}),
            json!({"mcpServers": null}),
            json!({"mcpServers": []}),
        ] {
            assert_eq!(take_servers("session/new", &mut params).unwrap(), []);
            assert_eq!(params, json!({"mcpServers": []}));
        }
    }

    #[test]
    fn error_names_the_index_and_no_value() {
        const SECRET: &str = "hunter2";
        let good = json!({"name": "a", "command": "a"});
        let cases = [
            (json!(SECRET), "mcpServers must be a list"),
            (json!([SECRET]), "mcpServers[0]: must be an object"),
            (
                json!([{"command": "a"}]),
                "mcpServers[0]: `name` must be a text that is not blank",
            ),
            (
                json!([{"name": " ", "command": "a"}]),
                "mcpServers[0]: `name` must be a text that is not blank",
            ),
            (
                json!([good, good]),
                "mcpServers[1]: an earlier server has the same `name`; names must be unique",
            ),
            (
                json!([good, {"name": "b"}]),
                "mcpServers[1]: `command` must be a text that is not blank",
            ),
            (
                json!([{"name": "a", "command": "a", "args": SECRET}]),
                "mcpServers[0]: `args` must be a list of texts",
            ),
            (
                json!([{"name": "a", "command": "a", "env": {"TOKEN": SECRET}}]),
                "mcpServers[0]: `env` must be a list of objects with `name` and `value`",
            ),
            (
                json!([{"type": "http", "name": "a", "url": "http://x", "headers": [SECRET]}]),
                "mcpServers[0]: `headers` must be a list of objects with `name` and `value`",
            ),
            (
                json!([{"type": "http", "name": "a"}]),
                "mcpServers[0]: `url` must be a text that is not blank",
            ),
            (
                json!([{"type": SECRET, "name": "a"}]),
                "mcpServers[0]: `type` must be `stdio`, `http`, `sse` or left out",
            ),
        ];
        for (list, expected) in cases {
            let mut params = json!({"mcpServers": list});
            let refused = take_servers("session/new", &mut params).unwrap_err();
            assert_eq!(i32::from(refused.code), -32602);
            assert_eq!(refused.message, format!("session/new: {expected}"));
        }
    }
}
