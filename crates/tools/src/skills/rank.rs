//! Ranks skills for a prompt by their cards: shared words, the name, and the files in use.

use std::collections::HashSet;

use harn_model::SkillCandidate;

use super::{card::Skill, glob};
use crate::tool_search::tokens;

/// How many different words of a prompt count, from its beginning. Long prompts quote files.
const MAX_WORDS: usize = 256;

/// Function words. They occur in every prompt and in every description, and do not show what either is about. Words of
/// one or two letters never count.
const STOP_WORDS: &[&str] = &[
    "about", "after", "all", "also", "and", "any", "are", "asks", "been", "before", "but", "can",
    "could", "did", "does", "for", "from", "had", "has", "have", "her", "here", "him", "his",
    "how", "into", "its", "just", "may", "not", "now", "one", "only", "our", "out", "please",
    "shall", "she", "should", "some", "such", "than", "that", "the", "their", "them", "then",
    "there", "these", "they", "this", "those", "too", "use", "used", "user", "uses", "using",
    "want", "wants", "was", "were", "what", "when", "where", "which", "while", "who", "why",
    "will", "with", "would", "you", "your",
];

/// Returns the matching skills that a model may use, the best first; equal ones in the order of the registry.
pub(super) fn rank<'s>(
    skills: impl IntoIterator<Item = &'s Skill>,
    prompt: &str,
    working_files: &[String],
) -> Vec<SkillCandidate> {
    let prompt = prompt.to_lowercase();
    let said = PromptWords::from_prompt(&prompt);
    let mut ranked: Vec<_> = skills
        .into_iter()
        .filter(|skill| !skill.card.disable_model_invocation)
        .filter_map(|skill| score(skill, &said, working_files))
        .collect();
    ranked.sort_by(|a, b| b.score.total_cmp(&a.score));
    ranked
}

fn score(
    skill: &Skill,
    said: &PromptWords<'_>,
    working_files: &[String],
) -> Option<SkillCandidate> {
    let mut reasons = Vec::new();
    let mut score = 0.0;
    let hits = said.count_hits(skill.purpose()) + said.count_hits(&skill.card.when_to_use);
    if hits > 0 {
        let count = f64::from(hits);
        score += count / (count + 1.5);
        let plural = if hits > 1 { "s" } else { "" };
        reasons.push(format!("{hits} keyword hit{plural}"));
    }
    if said.contains_name(&skill.id) {
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

/// The words of a prompt, in lower case.
struct PromptWords<'p> {
    /// All tokens, to find names.
    tokens: HashSet<&'p str>,
    /// The words that count.
    words: HashSet<&'p str>,
}

impl<'p> PromptWords<'p> {
    fn from_prompt(prompt: &'p str) -> Self {
        let mut words = HashSet::new();
        for word in tokens(prompt).filter(|token| is_word(token)) {
            if words.len() == MAX_WORDS {
                break;
            }
            words.insert(word);
        }
        Self {
            tokens: tokens(prompt).collect(),
            words,
        }
    }

    /// Counts the different words of the prompt that occur in a text as whole words.
    fn count_hits(&self, text: &str) -> u32 {
        let text = text.to_lowercase();
        let there: HashSet<_> = tokens(&text).collect();
        let hits = there.into_iter().filter(|token| self.words.contains(token));
        u32::try_from(hits.count()).unwrap_or(u32::MAX)
    }

    /// Whether the prompt contains all parts of an id. An id without a word that counts never matches, as any prompt
    /// could.
    fn contains_name(&self, id: &str) -> bool {
        let id = id.to_lowercase();
        tokens(&id).any(is_word) && tokens(&id).all(|token| self.tokens.contains(token))
    }
}

/// Whether a token shows what a text is about.
fn is_word(token: &str) -> bool {
    token.chars().nth(2).is_some() && STOP_WORDS.binary_search(&token).is_err()
}

#[cfg(test)]
mod tests;
