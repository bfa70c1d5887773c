//! Which dialect a client gets from the binary, by its name, by what it declares and by the flags.
#![allow(clippy::unwrap_used, reason = "a test says what failed by failing")]

mod client;

use serde_json::{Value, json};
use tempfile::TempDir;

use client::Agent;

/// What the agent advertises of Harn to a client that initializes so.
fn advertised(flags: &[&str], name: Option<&str>, harn: Option<Value>) -> Value {
    let state = TempDir::new().unwrap();
    let place = ["acp", "--state-dir", state.path().to_str().unwrap()];
    let mut agent = Agent::harn_serve(&[&place, flags].concat());
    let mut params = json!({"protocolVersion": 1, "clientCapabilities": {}});
    if let Some(name) = name {
        params["clientInfo"] = json!({"name": name, "version": "1"});
    }
    if let Some(harn) = harn {
        params["clientCapabilities"]["_meta"] = json!({"harn": harn});
    }
    let answer = agent.request("initialize", params);
    answer["agentCapabilities"]["_meta"]["harn"].clone()
}

/// Whether it sends updates that plain ACP does not have.
fn has_extensions(flags: &[&str], name: Option<&str>, harn: Option<Value>) -> bool {
    let advertised = advertised(flags, name, harn);
    let extensions = &advertised["sessionUpdateExtensions"];
    extensions.as_array().is_some_and(|list| !list.is_empty())
}

#[test]
fn known_clients_get_plain_acp_and_others_everything() {
    for name in [
        "zed",
        "JetBrains.IntelliJ IDEA",
        "codecompanion.nvim",
        "agent-shell",
        "toad",
        "acpx",
        "agentpool",
    ] {
        assert!(!has_extensions(&[], Some(name), None), "{name}");
    }
    assert!(has_extensions(&[], Some("somebody else"), None));
    assert!(has_extensions(&[], None, None));
    assert!(has_extensions(&[], Some("zed"), Some(json!({}))));
    assert!(has_extensions(&["--profile", "harn"], Some("zed"), None));
    assert!(!has_extensions(&["--profile", "acp"], None, None));
}

#[test]
fn the_bridge_can_be_forced_both_ways() {
    let asked = |flags: &[&str], harn| {
        let advertised = advertised(flags, None, harn);
        advertised["hostCapabilityOperations"].is_object()
    };
    let declared = || Some(json!({"hostBridge": true}));
    assert!(!asked(&[], None) && asked(&[], declared()));
    assert!(asked(&["--host-bridge", "on"], None));
    assert!(!asked(&["--host-bridge", "off"], declared()));
    assert!(asked(&["--host-bridge", "auto"], declared()));
}
