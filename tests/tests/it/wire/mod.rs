//! Every line we send can be read: by the pinned ACP schema, by the newest one, and, for an extension, by
//! `spec/schemas`.
//!
//! The lines are those of `fixtures/acp`, and those of a loaded session with every event. `naming` checks the
//! spelling and the positions of names.

pub(crate) mod checks;
mod editions;
mod extensions;
pub(crate) mod lines;
mod naming;
mod newest;

use std::collections::BTreeSet;

use serde_json::Value;

use checks::{BESIDE, STANDARD, WHOLE_MESSAGE, check, is_extension};
use extensions::Extensions;
use lines::{Line, What};

#[test]
fn every_transcript_decodes() {
    for (name, lines) in lines::read_transcripts() {
        for line in lines {
            check(&name, &line);
        }
    }
}

/// The same for single messages. Except in the profile `harn`, every line is plain ACP: anything outside its
/// schema is in `_meta`, or a notification whose name begins with `_`.
#[test]
fn every_single_message_decodes() {
    for single in lines::read_single_messages() {
        check(&single.name, &single.line);
        let plain = match single.profile {
            "harn" => continue,
            "meta" => single.line.what != What::AgentEvent,
            _ => true,
        };
        assert!(
            !(plain && is_extension(&single.line)),
            "{}: an extension",
            single.name
        );
        assert_ne!(
            single.line.value["update"]["sessionUpdate"], WHOLE_MESSAGE,
            "{}",
            single.name
        );
        for member in BESIDE {
            assert_eq!(single.line.value.get(member), None, "{}", single.name);
        }
    }
}

/// Complete: there is a message for every update, kind, request and response with vendor data.
#[test]
fn single_messages_show_every_update_and_request() {
    let extensions = Extensions::load();
    let singles = lines::read_single_messages();
    let updates = singles.iter().filter(|single| single.profile == "harn");
    let updates =
        updates.filter_map(|single| single.line.value["update"]["sessionUpdate"].as_str());
    // One kind is for typed clients only.
    let kinds = singles.iter().filter(|single| single.profile != "acp");
    let kinds = kinds.filter_map(|single| single.line.value["kind"].as_str());
    let expected = extensions
        .discriminators()
        .chain(STANDARD.map(str::to_owned));
    let expected: BTreeSet<_> = expected.chain([WHOLE_MESSAGE.to_owned()]).collect();
    let updates: BTreeSet<_> = updates.map(str::to_owned).collect();
    assert_eq!(updates, expected);
    let kinds: BTreeSet<_> = kinds.map(str::to_owned).collect();
    assert_eq!(kinds, extensions.kinds().collect());
    let carried = singles.iter().filter(|single| single.profile == "meta");
    let carried = carried.filter_map(|single| {
        single.line.value["update"]["_meta"]["harn"]["sessionUpdate"].as_str()
    });
    let carried: BTreeSet<_> = carried.map(str::to_owned).collect();
    assert_eq!(carried, extensions.discriminators().collect());
    // The requested operations are the advertised ones.
    let find = |name: &str| singles.iter().find(|single| single.name == name).unwrap();
    let told =
        &find("initialize-result-host-bridge").line.value["agentCapabilities"]["_meta"]["harn"];
    let told = told["hostCapabilityOperations"]["process"]
        .as_array()
        .unwrap()
        .iter();
    let told: BTreeSet<_> = told
        .map(|name| format!("process.{}", name.as_str().unwrap()))
        .collect();
    let asked = singles
        .iter()
        .filter(|single| single.name.starts_with("host_call-"));
    let asked = asked.map(|single| single.line.value["name"].as_str().unwrap().to_owned());
    assert_eq!(asked.collect::<BTreeSet<_>>(), told);
    // The fixtures have every request of the bridge, except the notification of the host.
    let asked = singles.iter().filter_map(|single| match &single.line.what {
        What::Request(method) => Some(method.as_str()),
        _ => None,
    });
    let asked: BTreeSet<_> = asked.collect();
    for method in extensions.bridge_methods() {
        assert!(
            method == "skills/update" || asked.contains(&*method),
            "{method}"
        );
    }
}

#[tokio::test]
async fn every_replayed_event_decodes() {
    for profile in ["harn", "meta", "acp"] {
        let lines = lines::replay_every_event(profile).await;
        assert!(lines.len() > 10, "{profile}: {} lines", lines.len());
        for line in &lines {
            check(&format!("a replay for {profile}"), line);
        }
        if profile != "harn" {
            let may = |line: &Line| profile == "meta" && line.what == What::AgentEvent;
            let strange = lines.iter().find(|line| is_extension(line) && !may(line));
            assert!(strange.is_none(), "{strange:?}");
        }
    }
}

#[test]
fn plain_client_receives_no_extension() {
    let plain: Vec<_> = lines::read_transcripts()
        .into_iter()
        .filter(|(name, _)| name.ends_with("-plain"))
        .collect();
    assert_eq!(plain.len(), 6);
    for (name, lines) in plain {
        let strange = lines.iter().find(|line| is_extension(line));
        assert!(strange.is_none(), "{name}: {strange:?}");
    }
}

/// No error has the code for "authentication required", and each has its message where Toad looks for it.
#[test]
fn every_error_has_details_and_none_requires_a_login() {
    let transcripts = lines::read_transcripts().into_iter();
    let all =
        transcripts.flat_map(|(name, lines)| lines.into_iter().map(move |l| (name.clone(), l)));
    let errors: Vec<_> = all.filter(|(_, line)| line.what == What::Error).collect();
    assert!(errors.len() > 20, "{}", errors.len());
    for (name, Line { value: error, .. }) in errors {
        assert_ne!(error["code"], -32000, "{name}: {error}");
        let (message, details) = (error["message"].as_str(), error["data"]["details"].as_str());
        let has_message = message.zip(details).is_some_and(|(m, d)| d.starts_with(m));
        assert!(has_message, "{name}: {error}");
    }
}

/// The page about the extensions shows each of them, and no line that would not be sent.
#[test]
fn docs_page_shows_every_extension() {
    let (page, examples) = lines::read_page_examples();
    let extensions = Extensions::load();
    let mut shown = BTreeSet::new();
    for line in &examples {
        check("the page", line);
        shown.insert(line.value["update"]["sessionUpdate"].to_string());
    }
    for name in extensions.discriminators() {
        let quoted = Value::from(name.as_str()).to_string();
        assert!(shown.contains(&quoted), "no example of {name}");
    }
    for name in extensions.discriminators().chain(extensions.kinds()) {
        assert!(page.contains(&format!("`{name}`")), "no word of {name}");
    }
}

/// Complete: the transcripts together show every update we can send.
#[test]
fn transcripts_show_every_update_and_kind() {
    let extensions = Extensions::load();
    let mut updates = BTreeSet::new();
    let mut kinds = BTreeSet::new();
    for line in lines::read_transcripts()
        .into_iter()
        .flat_map(|(_, lines)| lines)
    {
        match line.what {
            What::Update => updates.insert(line.value["update"]["sessionUpdate"].to_string()),
            What::AgentEvent => kinds.insert(line.value["kind"].to_string()),
            What::Notification(_) | What::Request(_) | What::Response(_) | What::Error => false,
        };
    }
    let expected = extensions
        .discriminators()
        .chain(STANDARD.map(str::to_owned))
        .chain([WHOLE_MESSAGE.to_owned()]);
    let expected = expected.map(|name| Value::from(name).to_string());
    assert_eq!(updates, expected.collect());
    let expected = extensions.kinds().map(|name| Value::from(name).to_string());
    assert_eq!(kinds, expected.collect());
}
