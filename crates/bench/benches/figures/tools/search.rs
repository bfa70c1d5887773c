//! A thousand tools, ranked in each way. The floor searches the words of the query in the same bytes and ranks
//! nothing. Building the index is a separate figure: it happens when the tools change, not at each search.

use std::hint::black_box;

use anyhow::{Result, ensure};
use harn_model::{ToolSource, ToolSpec};
use harn_tools::tool_search::{ToolIndex, ToolRanking};
use memchr::memmem;
use serde_json::{Map, Value, json};

use super::time_work;
use crate::{
    least,
    setup::Setup,
    table::{Bar, Figure, Table, Unit},
};

const TOOLS: usize = 1000;
const QUERY: &str = "create an issue in the repository";
const PATTERN: &str = "(create|open)_?(issue|ticket)s?";

pub(super) fn measure(setup: &Setup, table: &mut Table) -> Result<()> {
    let tools = tools();
    let index = ToolIndex::new(&tools);
    let texts: Vec<_> = index.names().filter_map(|name| index.text(name)).collect();
    let text = texts.join("\n").to_lowercase();
    let finders: Vec<_> = QUERY.split(' ').map(memmem::Finder::new).collect();
    let ways = [
        (ToolRanking::Bm25, QUERY, "by words"),
        (ToolRanking::Regex, PATTERN, "by a pattern"),
        (ToolRanking::Hybrid, QUERY, "by both and place"),
    ];
    for (ranking, query, name) in ways {
        ensure!(
            index.rank(ranking, query).tool_names.len() == 20,
            "{name}: too few"
        );
        let mut floor = Vec::new();
        let mut built = Vec::new();
        let mut cold = Vec::new();
        for _ in 0..setup.searches {
            floor.push(time_work(|| {
                let hits = |finder: &memmem::Finder<'_>| finder.find_iter(text.as_bytes()).count();
                black_box(finders.iter().map(hits).sum::<usize>());
            }));
            built.push(time_work(|| {
                black_box(index.rank(ranking, black_box(query)));
            }));
            cold.push(time_work(|| {
                let index = ToolIndex::new(black_box(&tools));
                black_box(index.rank(ranking, query));
            }));
        }
        let floor = Some(("memchr", least(&floor)));
        for (which, samples, bar) in [("", built, Bar::AtMost(2e-3)), (", cold", cold, Bar::Told)] {
            table.add(&Figure {
                name: format!("{TOOLS} tools {name}{which}"),
                unit: Unit::Micros,
                value: least(&samples),
                against: floor,
                bar,
            });
        }
    }
    Ok(())
}

/// Returns tools like those of servers: up to three sentences, and some parameters with a sentence each.
fn tools() -> Vec<ToolSpec> {
    const VERBS: [&str; 10] = [
        "create", "open", "list", "delete", "update", "search", "assign", "merge", "export",
        "watch",
    ];
    const THINGS: [&str; 10] = [
        "issue",
        "ticket",
        "pull_request",
        "repository",
        "comment",
        "label",
        "milestone",
        "release",
        "branch",
        "webhook",
    ];
    let tool = |place: usize| {
        let (verb, thing) = (VERBS[place % 10], THINGS[place / 10 % 10]);
        let server = format!("server{}", place / 100);
        let properties = ["owner", "title", "body", "cursor", "limit"].map(|name| {
            let about = format!(
                "The {name} of the {thing}, as {server} spells it; left out, the usual one"
            );
            (
                name.to_owned(),
                json!({"type": "string", "description": about}),
            )
        });
        let properties: Map<String, Value> = properties.into_iter().collect();
        // Rare words: the more there are, the more words a part of a word is compared with.
        let own: String = (0..6)
            .map(|turn| format!(" w{}ord", place * 6 + turn))
            .collect();
        ToolSpec {
            name: format!("{server}__{verb}_{thing}"),
            description: format!(
                "Lets you {verb} a {thing} in the repository of {server}. Needs the right to do so. \
                 Returns what became of number {place} and where to look at it:{own}."
            ),
            schema: Some(json!({"type": "object", "properties": properties})),
            annotations: None,
            source: ToolSource::Mcp(server),
            deprecated: false,
        }
    };
    (0..TOOLS).map(tool).collect()
}
