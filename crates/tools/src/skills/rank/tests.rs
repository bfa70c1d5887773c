//! Compares scores with values that were computed by hand.

use std::path::PathBuf;

use super::*;
use crate::skills::card::{SkillCard, SkillLayer, SkillOrigin};

fn skill(name: &str, description: &str, when_to_use: &str, paths: &[&str]) -> Skill {
    let mut card = SkillCard::with_name(name);
    card.short = "Helps".to_owned();
    card.description = description.to_owned();
    card.when_to_use = when_to_use.to_owned();
    card.paths = paths.iter().map(|&glob| glob.to_owned()).collect();
    Skill {
        id: name.to_owned(),
        card,
        layer: SkillLayer::Project,
        origin: SkillOrigin::File(PathBuf::from(name)),
        hash: None,
    }
}

fn skills() -> Vec<Skill> {
    let mut hidden = skill("hidden", "release release", "", &["**"]);
    hidden.card.disable_model_invocation = true;
    vec![
        hidden,
        skill(
            "review",
            "Review existing code for correctness",
            "User asks to review/audit",
            &[],
        ),
        skill(
            "ship",
            "Ship a production release",
            "User says ship/release/deploy",
            &["infra/**", "Dockerfile"],
        ),
        skill("twin", "Review existing code for correctness", "", &[]),
    ]
}

fn ranked(prompt: &str, files: &[&str]) -> Vec<(String, f64, String)> {
    let skills = skills();
    let files: Vec<_> = files.iter().map(|&file| file.to_owned()).collect();
    let ranked = rank(&skills, prompt, &files);
    ranked
        .into_iter()
        .map(|one| (one.name, one.score, one.reason))
        .collect()
}

fn row(name: &str, score: f64, reason: &str) -> (String, f64, String) {
    (name.to_owned(), score, reason.to_owned())
}

#[test]
fn words_name_and_files_add_up() {
    // "new", "release", "production": the last two in the description, one in when_to_use. No "the", no "to".
    assert_eq!(
        ranked("the new Release to production", &[]),
        [row("ship", 3.0 / 4.5, "3 keyword hits")]
    );
    // "ship" counts once, however often it occurs: it is in both texts, and it is the name.
    assert_eq!(
        ranked("ship, SHIP", &[]),
        [row(
            "ship",
            2.0 / 3.5 + 2.0,
            "2 keyword hits; name in the prompt"
        )]
    );
    // Two globs, however many files.
    assert_eq!(
        ranked("go on", &["infra/a.tf", "infra/b.tf", "Dockerfile"]),
        [row("ship", 3.0, "working files match infra/**, Dockerfile")]
    );
    assert_eq!(
        ranked("go on", &["infra/a.tf"]),
        [row("ship", 1.5, "working files match infra/**")]
    );
}

#[test]
fn best_skills_are_first_and_equal_ones_keep_their_order() {
    let found = ranked("code and a release", &[]);
    assert_eq!(
        found,
        [
            // "release" in both texts.
            row("ship", 2.0 / 3.5, "2 keyword hits"),
            row("review", 1.0 / 2.5, "1 keyword hit"),
            row("twin", 1.0 / 2.5, "1 keyword hit"),
        ]
    );
}

#[test]
fn skills_that_do_not_match_are_left_out() {
    assert_eq!(ranked("", &[]), []);
    assert_eq!(ranked("so be it", &["src/a.rs"]), []);
    // Neither a name nor a word matches inside another word.
    assert_eq!(ranked("shipwreck, codes and reviewers", &[]), []);
}

#[test]
fn stop_words_do_not_count() {
    let talkative = skill(
        "config-for-use",
        "Use this when the user asks for the settings",
        "When you want to use it with your own files and this is not from them",
        &[],
    );
    let found = |prompt| rank([&talkative], prompt, &[]);
    assert_eq!(found("where is the configuration?"), []);
    assert_eq!(found("Can you use this for the user, and when?"), []);
    // "settings" in the description, "files" in when_to_use.
    assert_eq!(found("The settings of these files")[0].score, 2.0 / 3.5);
    assert!(STOP_WORDS.is_sorted());
}

#[test]
fn name_matches_only_with_all_its_parts() {
    let named = |id: &str, prompt| {
        let skill = skill(id, "", "", &[]);
        let found = rank([&skill], prompt, &[]);
        found.first().map(|one| one.score)
    };
    assert_eq!(named("code-review", "a Code-Review"), Some(2.0));
    assert_eq!(named("code-review", "review that code"), Some(2.0));
    assert_eq!(named("code-review", "review that"), None);
    assert_eq!(named("acme/ops/review", "review"), None);
    assert_eq!(named("acme/ops/review", "acme:ops:review"), Some(2.0));
    // The prompt must also contain short parts.
    assert_eq!(named("ci-fix", "fix it"), None);
    assert_eq!(named("ci-fix", "fix the CI"), Some(2.0));
    // Such names never match.
    assert_eq!(named("go", "go on"), None);
    assert_eq!(named("use", "use it"), None);
}

#[test]
fn short_line_replaces_a_missing_description() {
    let bare = skill("bare", "", "", &[]);
    assert_eq!(rank([&bare], "helps me", &[])[0].score, 1.0 / 2.5);
}

#[test]
fn long_prompt_is_ranked_in_bounded_time() {
    let skills: Vec<_> = (0..100)
        .map(|n| {
            skill(
                &format!("skill-{n}"),
                "Does this and that",
                "often",
                &["src/**"],
            )
        })
        .collect();
    let prompt = (0..100_000)
        .map(|n| format!("word{n} "))
        .collect::<String>();
    // Would take for ever if every word counted.
    assert!(rank(&skills, &prompt, &[]).is_empty());
}
