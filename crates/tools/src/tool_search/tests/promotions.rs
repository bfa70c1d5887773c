//! Tests of the tools that a model sees, before and after a search.

use std::collections::BTreeMap;

use harn_model::{SideEffectLevel, ToolKind, ToolSource, ToolSpec};
use serde_json::json;

use super::tool;
use crate::tool_search::{
    ToolPromotions, ToolSearch, ToolSearchError, ToolSearchOptions, ToolSearchSwitch,
    catalogue_tokens, is_search_needed, tool_tokens,
};

/// Promotes these names; the sizes of `a` to `e` are fixed.
fn promote(promotions: &mut ToolPromotions, names: &str) -> String {
    let sizes: BTreeMap<_, _> = [("a", 10), ("b", 20), ("c", 30), ("d", 40), ("e", 101)].into();
    let names: Vec<_> = names.split_whitespace().map(str::to_owned).collect();
    promotions
        .promote(&names, |name| sizes.get(name).copied())
        .join(" ")
}

fn promoted_names(promotions: &ToolPromotions) -> String {
    let all = ["a", "b", "c", "d", "e", "nobody"].into_iter();
    all.filter(|name| promotions.contains(name))
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn a_promotion_is_in_effect_from_the_next_boundary_on() {
    let mut promotions = ToolPromotions::new(None);
    assert_eq!(promote(&mut promotions, "b nobody a"), "b a");
    assert!(promotions.contains("a") && !promotions.is_in_effect("a"));
    promotions.apply_promotions();
    assert!(promotions.is_in_effect("a") && promotions.is_in_effect("b"));
    assert!(!promotions.contains("nobody"));
    // Found again, it is reported as promoted but not added twice.
    let before = promotions.clone();
    assert_eq!(promote(&mut promotions, "a"), "a");
    assert_eq!(promotions, before);
}

#[test]
fn the_oldest_promotions_are_removed_first() {
    let mut promotions = ToolPromotions::new(Some(100));
    assert_eq!(promote(&mut promotions, "a b"), "a b");
    assert_eq!(promote(&mut promotions, "c d"), "c d");
    promotions.apply_promotions();
    assert_eq!(promoted_names(&promotions), "a b c d");
    // A tool larger than the budget does not fit, and none is removed for it.
    assert_eq!(promote(&mut promotions, "e"), "");
    assert_eq!(promoted_names(&promotions), "a b c d");
    let mut promotions = ToolPromotions::new(Some(70));
    promote(&mut promotions, "a b");
    promotions.apply_promotions();
    promote(&mut promotions, "c");
    assert_eq!(promoted_names(&promotions), "a b c");
    // 60 are spent and 40 are needed: removing a and b makes just enough room.
    assert_eq!(promote(&mut promotions, "d"), "d");
    assert_eq!(promoted_names(&promotions), "c d");
    // The model sees the same tools until the boundary.
    assert!(promotions.is_in_effect("a"));
    promotions.apply_promotions();
    assert!(!promotions.is_in_effect("a") && promotions.is_in_effect("d"));
}

#[test]
fn results_of_one_search_do_not_displace_each_other() {
    let mut promotions = ToolPromotions::new(Some(50));
    promote(&mut promotions, "a");
    // d is best and fits together with a; c would fit only in place of d.
    assert_eq!(promote(&mut promotions, "d c"), "d");
    assert_eq!(promoted_names(&promotions), "a d");
    // A tool that is found again also stays: c does not fit, regardless of age.
    assert_eq!(promote(&mut promotions, "d c a"), "d a");
}

#[test]
fn sizes_are_estimated_from_json() {
    let bare = ToolSpec {
        schema: None,
        ..tool("ping", "Is up", &[])
    };
    // {"name":"ping","description":"Is up"} has 37 bytes.
    assert_eq!(tool_tokens(&bare), 37 / 4 + 1);
    let with = ToolSpec {
        schema: Some(json!({})),
        ..bare.clone()
    };
    // ,"parameters":{} adds 16 bytes.
    assert_eq!(tool_tokens(&with), 53 / 4 + 1);
    assert_eq!(catalogue_tokens(&[bare, with]), 10 + 14);
}

#[test]
fn search_is_needed_above_a_tenth_of_the_context() {
    assert!(!is_search_needed(20_000, 200_000));
    assert!(is_search_needed(20_001, 200_000));
    assert!(!is_search_needed(0, 0));
    assert!(is_search_needed(u64::MAX, u64::MAX));
}

fn builtin(name: &str) -> ToolSpec {
    ToolSpec {
        source: ToolSource::Builtin,
        ..tool(name, "", &[])
    }
}

fn search(switch: ToolSearchSwitch, always_loaded: &[&str]) -> ToolSearch {
    let always_loaded = always_loaded.iter().map(|name| (*name).to_owned());
    let options = ToolSearchOptions {
        switch,
        always_loaded: always_loaded.collect(),
        ..ToolSearchOptions::default()
    };
    ToolSearch::new(options)
}

fn names(tools: &[&ToolSpec]) -> String {
    let names: Vec<_> = tools.iter().map(|tool| &*tool.name).collect();
    names.join(" ")
}

#[test]
fn auto_mode_switches_on_for_a_large_catalogue() {
    let tools = [builtin("read_file"), tool("issue", "Opens an issue", &[])];
    let tokens = catalogue_tokens(&tools);
    let search = search(ToolSearchSwitch::Auto, &[]);
    assert!(search.spec().is_none());
    search.set_catalogue(&tools, tokens * 10).unwrap();
    assert!(search.spec().is_none());
    assert_eq!(
        names(&search.visible_tools(&tools).loaded),
        "read_file issue"
    );
    search.set_catalogue(&tools, tokens * 10 - 1).unwrap();
    assert!(search.spec().is_some());
    let visible = search.visible_tools(&tools);
    assert_eq!(names(&visible.loaded), "read_file");
    assert_eq!(names(&visible.deferred), "issue");
}

#[test]
fn tools_of_hosts_and_servers_are_deferred() {
    let of = |name: &str, source| ToolSpec {
        source,
        ..tool(name, "", &[])
    };
    let tools = [
        builtin("read_file"),
        of("host", ToolSource::Host),
        of("kept", ToolSource::Host),
        of("remote", ToolSource::Mcp("s".to_owned())),
        of("skill", ToolSource::Skill("k".to_owned())),
        of("web", ToolSource::Provider),
    ];
    let on = search(ToolSearchSwitch::On, &["kept", "not there"]);
    on.set_catalogue(&tools, 1_000_000).unwrap();
    let visible = on.visible_tools(&tools);
    assert_eq!(names(&visible.loaded), "read_file kept skill web");
    assert_eq!(names(&visible.deferred), "host remote");
    let off = search(ToolSearchSwitch::Off, &[]);
    off.set_catalogue(&tools, 1).unwrap();
    assert_eq!(off.visible_tools(&tools).deferred, Vec::<&ToolSpec>::new());
}

#[test]
fn set_catalogue_rejects_a_catalogue_without_a_visible_tool() {
    let tools = [tool("issue", "", &[])];
    let search_all = search(ToolSearchSwitch::On, &[]);
    let refused = search_all.set_catalogue(&tools, 1_000);
    assert_eq!(refused, Err(ToolSearchError::AllDeferred));
    assert_eq!(names(&search_all.visible_tools(&tools).loaded), "issue");
    // Without deferred tools there is nothing to search.
    let kept = search(ToolSearchSwitch::On, &["issue"]);
    kept.set_catalogue(&tools, 1_000).unwrap();
    assert!(kept.spec().is_none());
    let taken = [builtin("read_file"), tool("__harn_tool_search", "", &[])];
    let refused = kept.set_catalogue(&taken, 1_000);
    assert!(matches!(refused, Err(ToolSearchError::NameTaken(_))));
}

#[cfg(feature = "argument-checks")]
#[test]
fn the_search_tool_is_read_only_and_has_a_schema() {
    let options = ToolSearchOptions {
        switch: ToolSearchSwitch::On,
        name: "find_tool".to_owned(),
        include_stub_listing: true,
        ..ToolSearchOptions::default()
    };
    let search = ToolSearch::new(options);
    let tools = [builtin("read_file"), tool("b", "", &[]), tool("a", "", &[])];
    search.set_catalogue(&tools, 1_000).unwrap();
    let spec = search.spec().unwrap();
    assert_eq!(spec.name, "find_tool");
    assert!(spec.description.contains("2 more tools") && spec.description.ends_with("a, b"));
    let annotations = spec.annotations.unwrap();
    assert_eq!(annotations.kind, ToolKind::Search);
    assert_eq!(annotations.side_effect_level, SideEffectLevel::ReadOnly);
    let schema = jsonschema::validator_for(&spec.schema.unwrap()).unwrap();
    assert!(schema.is_valid(&json!({"query": "issues"})));
    assert!(!schema.is_valid(&json!({})) && !schema.is_valid(&json!({"query": 1})));
}
