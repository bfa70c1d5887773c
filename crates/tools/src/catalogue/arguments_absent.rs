//! Replaces the check of arguments in a build without the feature `argument-checks`: it requires an object, and the
//! tool's implementation checks the rest.

use serde_json::Value;

/// A checker that ignores the schema.
#[derive(Debug, Default)]
pub(super) struct ArgumentChecker;

impl ArgumentChecker {
    /// Checks that the arguments are an object.
    pub(super) fn check(&self, _: Option<&Value>, arguments: &Value) -> Result<(), String> {
        match arguments.is_object() {
            true => Ok(()),
            false => Err("they must be a JSON object".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn arguments_must_be_an_object() {
        let schema = json!({"type": "object", "required": ["path"]});
        let check = |arguments| ArgumentChecker.check(Some(&schema), &arguments);
        assert_eq!(check(json!({})), Ok(()));
        assert!(check(json!(["path"])).is_err());
    }
}
