//! Which skills fit what was said, by what their cards say: words in common, the name, and files in use.

use std::collections::HashMap;

use harn_model::SkillCandidate;

use super::{card::Skill, glob};

/// How many different words of a prompt count; the first ones. Long prompts quote files.
const MAX_WORDS: usize = 256;

/// Skills that a model may use and that fit, the best first; equals as they stand in the registry.
pub(super) fn rank<'s>(
    skills: impl IntoIterator<Item = &'s Skill>,
    prompt: &str,
    working_files: &[String],
) -> Vec<SkillCandidate> {
    let prompt = prompt.to_lowercase();
    let words = words(&prompt);
    let mut ranked: Vec<_> = skills
        .into_iter()
        .filter(|skill| !skill.card.disable_model_invocation)
        .filter_map(|skill| score(skill, &prompt, &words, working_files))
        .collect();
    ranked.sort_by(|a, b| b.score.total_cmp(&a.score));
    ranked
}

fn score(
    skill: &Skill,
    prompt: &str,
    words: &[(&str, u32)],
    working_files: &[String],
) -> Option<SkillCandidate> {
    let mut reasons = Vec::new();
    let mut score = 0.0;
    let hits = hits(skill.about(), words) + hits(&skill.card.when_to_use, words);
    if hits > 0 {
        let hits = f64::from(hits);
        score += hits / (hits + 1.5);
        reasons.push(format!("{hits} keyword {}", plural(hits, "hit")));
    }
    if prompt.contains(&skill.card.name.to_lowercase()) {
        score += 2.0;
        reasons.push("name in the prompt".to_owned());
    }
    let globs = skill.card.paths.iter();
    let globs = globs.filter(|glob| working_files.iter().any(|file| glob::matches(glob, file)));
    let globs: Vec<_> = globs.map(String::as_str).collect();
    if !globs.is_empty() {
        let count = u32::try_from(globs.len()).unwrap_or(u32::MAX);
        score += 1.5 * f64::from(count);
        reasons.push(format!("working files match {}", globs.join(", ")));
    }
    (score > 0.0).then(|| SkillCandidate {
        name: skill.id.clone(),
        score,
        reason: reasons.join("; "),
    })
}

fn plural(count: f64, word: &str) -> String {
    match count > 1.0 {
        true => format!("{word}s"),
        false => word.to_owned(),
    }
}

/// How often words of the prompt stand in a text, also as a part of its words.
fn hits(text: &str, words: &[(&str, u32)]) -> u32 {
    if text.is_empty() {
        return 0;
    }
    let text = text.to_lowercase();
    let hits = words.iter().filter(|(word, _)| text.contains(word));
    hits.map(|(_, times)| times)
        .fold(0, |sum, times| sum.saturating_add(*times))
}

/// Words longer than two characters, with how often each is said.
fn words(prompt: &str) -> Vec<(&str, u32)> {
    let mut words: Vec<(&str, u32)> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    let all = prompt.split(|c: char| !c.is_alphanumeric());
    for word in all.filter(|word| word.chars().nth(2).is_some()) {
        match places.get(word) {
            Some(at) => words[*at].1 += 1,
            None if words.len() == MAX_WORDS => {}
            None => {
                places.insert(word, words.len());
                words.push((word, 1));
            }
        }
    }
    words
}

#[cfg(test)]
mod tests;
