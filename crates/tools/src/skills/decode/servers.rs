//! Decodes `mcp_servers`: in a card, servers that run while the skill is active; in a manifest, those of the
//! workspace.

use harn_model::{McpServerSpec, McpTransport, Secret};

use super::{read_list, read_nonempty_text, read_text, type_fault};
use crate::{
    skills::card::check_name,
    yaml::{YamlEntry, YamlFault, YamlNode, YamlValue},
};

const FORMS: &str = "a map with command, args and env, or with url and headers";

/// Reads a map from names to servers.
pub(super) fn read_servers(node: &YamlNode) -> Result<Vec<McpServerSpec>, YamlFault> {
    let YamlValue::Map(entries) = &node.data else {
        return Err(type_fault(
            node,
            "mcp_servers",
            "a map from names to servers",
        ));
    };
    entries.iter().map(read_server).collect()
}

pub(in crate::skills) fn read_server(entry: &YamlEntry) -> Result<McpServerSpec, YamlFault> {
    let what = format!("mcp_servers.{}", entry.key);
    if check_name(&entry.key).is_err() {
        let reason = format!("{what}: a server's name has letters, digits, `-`, `_` and `.`");
        return Err(YamlFault::new(entry.key_at, reason));
    }
    let YamlValue::Map(fields) = &entry.value.data else {
        return Err(type_fault(&entry.value, &what, FORMS));
    };
    let (mut command, mut args, mut env, mut url, mut headers) = (None, None, None, None, None);
    for field in fields {
        let name = format!("{what}.{}", field.key);
        match field.key.as_str() {
            "command" => command = Some(read_nonempty_text(&field.value, &name)?),
            // Unlike the entries of other lists, arguments may be empty.
            "args" => args = Some(read_list(&field.value, &name, read_text)?),
            "env" => env = Some(read_secrets(&field.value, &name)?),
            "url" => url = Some(read_url(&field.value, &name)?),
            "headers" => headers = Some(read_secrets(&field.value, &name)?),
            other => {
                let reason = format!("unknown field {other:?} in {what}; it is {FORMS}");
                return Err(YamlFault::new(field.key_at, reason));
            }
        }
    }
    let transport = match (command, url) {
        (Some(command), None) if headers.is_none() => McpTransport::Stdio {
            command,
            args: args.unwrap_or_default(),
            env: env.unwrap_or_default(),
        },
        (None, Some(url)) if args.is_none() && env.is_none() => McpTransport::Http {
            url,
            headers: headers.unwrap_or_default(),
        },
        _ => {
            let reason = format!("{what} must be {FORMS}");
            return Err(YamlFault::new(entry.key_at, reason));
        }
    };
    Ok(McpServerSpec {
        name: entry.key.clone(),
        transport,
    })
}

fn read_url(node: &YamlNode, what: &str) -> Result<String, YamlFault> {
    let url = read_nonempty_text(node, what)?;
    match url.starts_with("http://") || url.starts_with("https://") {
        true => Ok(url),
        false => Err(type_fault(
            node,
            what,
            "an address that begins with http:// or https://",
        )),
    }
}

fn read_secrets(node: &YamlNode, what: &str) -> Result<Vec<(String, Secret)>, YamlFault> {
    let YamlValue::Map(entries) = &node.data else {
        return Err(type_fault(node, what, "a map of names and values"));
    };
    let secret = |entry: &YamlEntry| {
        let YamlValue::Text(value) = &entry.value.data else {
            // The value may be a secret, also if it is a number, so the message omits it.
            let reason = format!("{what}.{} must be text, in quotes if need be", entry.key);
            return Err(YamlFault::new(entry.value.at, reason));
        };
        Ok((entry.key.clone(), Secret::new(value.clone())))
    };
    entries.iter().map(secret).collect()
}
