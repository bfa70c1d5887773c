//! The tools of all servers of a session, under unique names that a model can use.

use std::collections::BTreeMap;

use harn_model::{ToolSource, ToolSpec};

use super::listing::OfferedTool;

/// The longest tool name that models accept.
const LONGEST: usize = 64;

/// The tools of a session by their names in the catalogue.
pub(super) type McpCatalogue = BTreeMap<String, McpTool>;

#[derive(Debug)]
pub(super) struct McpTool {
    /// The server's own name for the tool.
    pub(super) tool: String,
    pub(super) server: String,
    pub(super) spec: ToolSpec,
}

/// Builds the catalogue of these servers. A name depends only on the set of servers and tools, not on the order in
/// which they connected, because grants remember names.
pub(super) fn build_catalogue<'a>(
    servers: impl IntoIterator<Item = (&'a str, &'a [OfferedTool])>,
) -> McpCatalogue {
    let mut catalogue = McpCatalogue::new();
    for (server, offered) in servers {
        let mut offered: Vec<_> = offered.iter().collect();
        offered.sort_by(|a, b| a.name.cmp(&b.name));
        // A tool that is listed twice counts once, with its first entry.
        offered.dedup_by(|b, a| a.name == b.name);
        for tool in offered {
            add(&mut catalogue, server, tool);
        }
    }
    catalogue
}

fn add(catalogue: &mut McpCatalogue, server: &str, tool: &OfferedTool) {
    let mut name = sanitize_name(server, &tool.name);
    if name.len() > LONGEST || catalogue.contains_key(&name) {
        name = append_hash(name, server, &tool.name);
    }
    // If two hashes are equal by chance, the first tool wins, as with names.
    catalogue.entry(name).or_insert_with_key(|name| McpTool {
        tool: tool.name.clone(),
        server: server.to_owned(),
        spec: ToolSpec {
            name: name.clone(),
            description: tool.description.clone(),
            schema: Some(tool.schema.clone()),
            annotations: Some(tool.annotations.clone()),
            source: ToolSource::Mcp(server.to_owned()),
            deprecated: false,
        },
    });
}

fn sanitize_name(server: &str, tool: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    format!("mcp__{server}__{tool}").replace(|c| !fits(c), "_")
}

/// Cuts a name and appends a hash of the server and the tool.
fn append_hash(mut name: String, server: &str, tool: &str) -> String {
    // FNV-1a: short, and the same in every version.
    let bytes = server.bytes().chain([0]).chain(tool.bytes());
    let mark = bytes.fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    let mark = format!("_{mark:08x}");
    name.truncate(LONGEST - mark.len());
    name + &mark
}

#[cfg(test)]
mod tests {
    use harn_model::ToolAnnotations;
    use serde_json::Value;

    use super::*;

    fn offered_tool(name: &str) -> OfferedTool {
        OfferedTool {
            name: name.to_owned(),
            description: String::new(),
            schema: Value::Null,
            annotations: ToolAnnotations::default(),
        }
    }

    fn catalogue_names(servers: &[(&str, &[&str])]) -> Vec<String> {
        let servers: Vec<_> = servers
            .iter()
            .map(|(server, tools)| {
                (
                    *server,
                    Vec::from_iter(tools.iter().map(|t| offered_tool(t))),
                )
            })
            .collect();
        let servers = servers
            .iter()
            .map(|(name, tools)| (*name, tools.as_slice()));
        Vec::from_iter(build_catalogue(servers).into_keys())
    }

    #[test]
    fn names_replace_characters_that_models_reject() {
        let made = catalogue_names(&[("my server", &["größe/x", "echo-1", "echo-1"])]);
        assert_eq!(made, ["mcp__my_server__echo-1", "mcp__my_server__gr__e_x"]);
    }

    #[test]
    fn names_are_unique_and_do_not_depend_on_order() {
        let made = catalogue_names(&[("a", &["b.c", "b/c"]), ("a__b", &["x"])]);
        let again = catalogue_names(&[("a", &["b/c", "b.c"]), ("a__b", &["x"])]);
        assert_eq!(made, again);
        assert_eq!(
            made,
            ["mcp__a__b__x", "mcp__a__b_c", "mcp__a__b_c_d6e1e5ac"]
        );
        let made = catalogue_names(&[("a", &["b__x"]), ("a__b", &["x"])]);
        assert_eq!(made.len(), 2, "{made:?}");
    }

    #[test]
    fn long_names_are_cut_and_stay_unique() {
        let (one, two) = ("x".repeat(80) + "1", "x".repeat(80) + "2");
        let made = catalogue_names(&[("server", &[&one, &two])]);
        assert_eq!(made.len(), 2);
        for name in made {
            assert_eq!(name.len(), LONGEST);
            assert!(name.starts_with("mcp__server__xxx"), "{name}");
        }
    }
}
