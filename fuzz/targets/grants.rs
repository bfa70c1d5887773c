//! Files of grants: any text is parsed or rejected, and a parsed file survives writing and parsing again.
#![no_main]

use harn_fuzz::seeds;
use harn_model::{Grant, GrantEffect, GrantSubject};
use harn_policy::{GrantFile, describe, with_effect};
use libfuzzer_sys::fuzz_target;
use serde_json::json;

fuzz_target!(init: seeds::write(files()), |data: &[u8]| {
    if let Ok(text) = std::str::from_utf8(data) {
        check(text);
    }
});

fn check(text: &str) {
    let Ok(file) = GrantFile::parse("grants.toml", text) else {
        return;
    };
    let written = file.to_text();
    let again = GrantFile::parse("grants.toml", &written);
    let again = again.unwrap_or_else(|error| panic!("{error}\n{written}"));
    assert_eq!(file, again, "{written}");
    assert_eq!(written, again.to_text());
    for (grant, _) in &file.grants {
        assert!(!describe(grant).is_empty());
        let turned = with_effect(&with_effect(grant, GrantEffect::Deny), grant.effect);
        assert_eq!(*grant, turned);
        let same = file.grants.iter().filter(|(other, _)| other.id == grant.id);
        assert_eq!(same.count(), 1, "two of one name: {written}");
    }
}

/// Returns one file for each kind, and one with all of them.
fn files() -> Vec<Vec<u8>> {
    let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
    let subjects = [
        GrantSubject::Argv(words(&["cargo", "test", "-p", "a \"b\" 'c'"])),
        GrantSubject::Line("cd src && ls > out.txt".to_owned()),
        GrantSubject::Line("a\nb\u{7f}\u{202e}\\".to_owned()),
        GrantSubject::Paths(words(&["src/lib.rs", "größe"])),
        GrantSubject::Arguments(json!({"b": [1, 2.5, null], "a": {"c": true}})),
    ];
    let mut all = GrantFile::default();
    let mut files = Vec::new();
    for (place, subject) in (0..).zip(subjects) {
        let grant = Grant {
            id: String::new(),
            effect: GrantEffect::Allow,
            workspace: "/w/app".to_owned(),
            kind: None,
            tool: "run".to_owned(),
            subject,
        };
        // `with_effect` computes the id that follows from the content.
        let entry = (
            with_effect(&grant, GrantEffect::Deny),
            1_767_225_600_000 + place,
        );
        let grants = vec![entry.clone()];
        files.push(GrantFile { grants }.to_text().into_bytes());
        all.grants.push(entry);
    }
    files.push(all.to_text().into_bytes());
    // All of them twice: the same grant again is one grant.
    files.push(all.to_text().repeat(2).into_bytes());
    files
}
