//! `skills/list` and `skills/fetch`: the skills of a host, the eighth layer of skills.

use crate::JsonSchema;
use harn_model::{HostSkill, SkillRef};
use serde::Serialize;
use serde_json::{Map, Value};

use super::{
    BridgeAnswerError, BridgeMethod, BridgeRequest, into_name, into_text, parse_distinct, take_list,
};

/// The params of `skills/list`, which has none.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct ListSkills {}

impl BridgeRequest for ListSkills {
    const METHOD: BridgeMethod = BridgeMethod::SkillsList;
    type Answer = Vec<SkillRef>;

    fn read(answer: Value) -> Result<Vec<SkillRef>, BridgeAnswerError> {
        let skills =
            take_list(answer, &["", "/skills"]).ok_or(BridgeAnswerError::NoList("skills"))?;
        parse_distinct("skill", skills, parse_skill_ref, |skill| &skill.id)
    }
}

fn parse_skill_ref(entry: Value, at: usize) -> Result<SkillRef, BridgeAnswerError> {
    let Value::Object(mut entry) = entry else {
        return Err(BridgeAnswerError::Entry(at));
    };
    let mut named =
        |member| into_name(entry.remove(member)).ok_or(BridgeAnswerError::Unnamed { at, member });
    let (id, name) = (named("id")?, named("name")?);
    // Some hosts put into the list what others send with `skills/fetch`.
    let mut manifest = match entry.remove("manifest") {
        Some(Value::Object(manifest)) => manifest,
        _ => Map::new(),
    };
    let mut either = |member: &str| entry.remove(member).or_else(|| manifest.remove(member));
    Ok(SkillRef {
        id,
        name,
        description: into_text(either("description")).unwrap_or_default(),
        source: into_text(either("source")).unwrap_or_default(),
        when_to_use: into_text(either("when_to_use")),
        paths: either("paths").and_then(parse_texts),
    })
}

/// Parses a list of strings; `None` if it contains anything else.
fn parse_texts(value: Value) -> Option<Vec<String>> {
    serde_json::from_value(value).ok()
}

/// The params of `skills/fetch`.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct FetchSkill<'a> {
    /// The id of the skill, as listed.
    pub(crate) id: &'a str,
}

/// The members that do not belong to the manifest if the manifest's members are not in an object of their
/// own.
const BESIDE: [&str; 6] = ["_meta", "body", "description", "id", "name", "source"];

impl BridgeRequest for FetchSkill<'_> {
    const METHOD: BridgeMethod = BridgeMethod::SkillsFetch;
    type Answer = HostSkill;

    fn read(answer: Value) -> Result<HostSkill, BridgeAnswerError> {
        let Value::Object(mut skill) = answer else {
            return Err(BridgeAnswerError::NotAnObject);
        };
        let mut nested = match skill.remove("manifest") {
            None | Some(Value::Null) => None,
            Some(Value::Object(manifest)) => Some(manifest),
            Some(_) => return Err(BridgeAnswerError::NoObject("manifest")),
        };
        let mut said = |member: &str| {
            let inside = nested.as_mut().and_then(|it| it.remove(member));
            skill.remove(member).or(inside)
        };
        let name = into_name(said("name")).ok_or(BridgeAnswerError::Nameless("name"))?;
        let description = into_text(said("description")).unwrap_or_default();
        let body = into_text(skill.remove("body")).ok_or(BridgeAnswerError::NoText("body"))?;
        let manifest = nested.unwrap_or_else(|| {
            skill.retain(|member, _| !BESIDE.contains(&member.as_str()));
            skill
        });
        Ok(HostSkill {
            name,
            description,
            body,
            manifest,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn skill_list_may_be_bare_or_wrapped() {
        let skills = json!([
            {"id": "ops/deploy", "name": "deploy", "description": "Ship it", "source": "host"},
            {"id": "review", "name": "review"},
            {"id": "review", "name": "again"},
        ]);
        let listed = ListSkills::read(json!({"skills": skills})).unwrap();
        assert_eq!(ListSkills::read(skills).unwrap(), listed);
        let [deploy, review] = &listed[..] else {
            panic!("{listed:?}");
        };
        assert_eq!(
            (deploy.id.as_str(), deploy.source.as_str()),
            ("ops/deploy", "host")
        );
        assert_eq!(
            (review.name.as_str(), review.description.as_str()),
            ("review", "")
        );
    }

    #[test]
    fn malformed_skill_list_is_rejected() {
        let read = |answer| ListSkills::read(answer).unwrap_err();
        for answer in [
            json!(null),
            json!({"result": {"skills": []}}),
            json!({"skills": 7}),
        ] {
            assert_eq!(read(answer), BridgeAnswerError::NoList("skills"));
        }
        assert_eq!(read(json!(["deploy"])), BridgeAnswerError::Entry(1));
        let (at, member) = (1, "id");
        assert_eq!(
            read(json!([{"name": "deploy"}])),
            BridgeAnswerError::Unnamed { at, member }
        );
        let member = "name";
        assert_eq!(
            read(json!([{"id": "deploy"}])),
            BridgeAnswerError::Unnamed { at, member }
        );
    }

    #[test]
    fn skill_manifest_may_be_nested_or_flat() {
        let manifest = json!({"allowed_tools": ["git"], "when_to_use": "to ship"});
        let nested = json!({"id": "d", "name": "deploy", "description": "Ship", "body": "# Ship", "manifest": manifest});
        let flat = json!({"id": "d", "source": "host", "name": "deploy", "description": "Ship", "body": "# Ship",
            "allowed_tools": ["git"], "when_to_use": "to ship"});
        let named_inside = json!({"body": "# Ship", "manifest": {"name": "deploy", "description": "Ship",
            "allowed_tools": ["git"], "when_to_use": "to ship"}});
        for answer in [nested, flat, named_inside] {
            let skill = FetchSkill::read(answer).unwrap();
            assert_eq!(
                (skill.name.as_str(), skill.description.as_str()),
                ("deploy", "Ship")
            );
            assert_eq!(skill.body, "# Ship");
            assert_eq!(Value::Object(skill.manifest), manifest);
        }
    }

    #[test]
    fn malformed_skill_is_rejected() {
        let read = |answer| FetchSkill::read(answer).unwrap_err();
        assert_eq!(read(json!([])), BridgeAnswerError::NotAnObject);
        assert_eq!(
            read(json!({"body": ""})),
            BridgeAnswerError::Nameless("name")
        );
        assert_eq!(
            read(json!({"name": "a"})),
            BridgeAnswerError::NoText("body")
        );
        assert_eq!(
            read(json!({"name": "a", "body": 7})),
            BridgeAnswerError::NoText("body")
        );
        let manifest = json!({"name": "a", "body": "", "manifest": "yaml: no"});
        assert_eq!(read(manifest), BridgeAnswerError::NoObject("manifest"));
    }
}
