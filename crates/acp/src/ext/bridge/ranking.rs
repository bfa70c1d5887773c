//! `skill/match`: a host ranks skills. The ranking is advice: malformed parts count as absent.

use std::collections::HashSet;

use crate::JsonSchema;
use harn_model::{SkillCandidate, SkillMatchRequest};
use serde::Serialize;
use serde_json::Value;

use super::{BridgeAnswerError, BridgeMethod, BridgeRequest, into_name, take_list};

/// The params of `skill/match`.
#[derive(Serialize, JsonSchema)]
#[serde(transparent)]
pub(crate) struct MatchSkills(pub(crate) SkillMatchRequest);

impl BridgeRequest for MatchSkills {
    const METHOD: BridgeMethod = BridgeMethod::SkillMatch;
    type Answer = Vec<SkillCandidate>;

    /// Returns the candidates, best first, without duplicate names.
    fn read(answer: Value) -> Result<Vec<SkillCandidate>, BridgeAnswerError> {
        let matches = take_list(answer, &["/matches", "/skills", "/result/matches", ""]);
        let matches = matches.unwrap_or_default().into_iter();
        let mut ranked: Vec<_> = matches.filter_map(parse_candidate).collect();
        ranked.sort_by(|a, b| b.score.total_cmp(&a.score));
        let mut names = HashSet::new();
        ranked.retain(|candidate| names.insert(candidate.name.clone()));
        Ok(ranked)
    }
}

fn parse_candidate(entry: Value) -> Option<SkillCandidate> {
    let Value::Object(mut entry) = entry else {
        return None;
    };
    let score = entry.get("score").and_then(Value::as_f64);
    Some(SkillCandidate {
        name: into_name(entry.remove("name"))?,
        score: score
            .filter(|it| it.is_finite())
            .map_or(1.0, |it| it.max(0.0)),
        reason: into_name(entry.remove("reason")).unwrap_or_else(|| "host match".to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(answer: Value) -> Vec<(String, f64, String)> {
        let read = MatchSkills::read(answer).unwrap();
        let parts = |it: SkillCandidate| (it.name, it.score, it.reason);
        read.into_iter().map(parts).collect()
    }

    fn names(answer: Value) -> Vec<String> {
        read(answer).into_iter().map(|(name, ..)| name).collect()
    }

    #[test]
    fn first_member_with_a_list_counts() {
        let a = json!([{"name": "a"}]);
        let b = json!([{"name": "b"}]);
        assert_eq!(names(json!({"matches": a, "skills": b})), ["a"]);
        assert_eq!(
            names(json!({"matches": 7, "skills": b, "result": {"matches": a}})),
            ["b"]
        );
        assert_eq!(names(json!({"result": {"matches": a}})), ["a"]);
        assert_eq!(names(b), ["b"]);
        for nothing in [
            json!(null),
            json!({}),
            json!("a"),
            json!({"result": a}),
            json!([]),
        ] {
            assert_eq!(names(nothing), Vec::<String>::new());
        }
    }

    #[test]
    fn scores_are_clamped_and_sorted_best_first() {
        let ranked = read(json!([
            {"name": "low", "score": 0.5, "reason": "some"},
            {"name": "unsaid"},
            {"name": "negative", "score": -3},
            {"name": "text", "score": "9"},
            {"name": "high", "score": 7, "reason": ""},
            {"name": " "}, {"score": 1}, "bare", null,
            {"name": "high", "score": 2},
        ]));
        let host = "host match";
        let expected = [
            ("high", 7.0, host),
            ("unsaid", 1.0, host),
            ("text", 1.0, host),
            ("low", 0.5, "some"),
            ("negative", 0.0, host),
        ];
        let expected = expected.map(|(name, score, why)| (name.to_owned(), score, why.to_owned()));
        assert_eq!(ranked, expected);
    }
}
