//! Folds a document of the state wire exactly by the rules of the shipped library, so that an operation that a
//! client would reject fails a test.

use serde_json::{Map, Value};

/// Names that a client rejects in a path: they would reach members of every object.
const UNSAFE: [&str; 3] = ["__proto__", "constructor", "prototype"];

/// Applies one operation; on an error the document stays as it was.
///
/// # Errors
///
/// If the shipped library would reject the operation.
pub fn apply(doc: &mut Value, op: &Value) -> Result<(), String> {
    let path = op["path"].as_array().ok_or("the path must be a list")?;
    let path: Vec<String> = path.iter().map(segment).collect::<Result<_, _>>()?;
    let value = op.get("value").ok_or("`value` is missing")?;
    let new = match op["type"].as_str() {
        Some("set") => {
            find(doc, &path)?;
            value.clone()
        }
        Some("append-text") => {
            let Some(Value::String(text)) = find(doc, &path)? else {
                return Err(format!("no text at {path:?}"));
            };
            let more = value.as_str().ok_or("only text can be appended")?;
            Value::String(format!("{text}{more}"))
        }
        Some(_) | None => return Err(format!("unknown operation {}", op["type"])),
    };
    *find_or_create(doc, &path)? = new;
    Ok(())
}

/// Applies the operations of one delta: all of them, or none.
///
/// # Errors
///
/// As [`apply`], for the first operation that does not fit.
pub fn apply_all(doc: &mut Value, operations: &Value) -> Result<(), String> {
    let operations = operations.as_array().ok_or("operations must be a list")?;
    let mut folded = doc.clone();
    for (index, op) in operations.iter().enumerate() {
        apply(&mut folded, op).map_err(|why| format!("operation {index}: {why}"))?;
    }
    *doc = folded;
    Ok(())
}

/// Returns a step of a path. Numbers become their digits, as in the library.
fn segment(step: &Value) -> Result<String, String> {
    let step = match step {
        Value::String(step) => step.clone(),
        Value::Number(step) => step.to_string(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => {
            return Err(format!("{step} is not a step of a path"));
        }
    };
    match UNSAFE.contains(&step.as_str()) {
        true => Err(format!("{step} must not be in a path")),
        false => Ok(step),
    }
}

/// Returns the value at a path, or `None` if the path can be created.
fn find<'a>(doc: &'a Value, path: &[String]) -> Result<Option<&'a Value>, String> {
    let mut at = Some(doc);
    for step in path {
        at = match at {
            // A missing value is created, always as an object.
            None | Some(Value::Null) => None,
            Some(Value::Object(fields)) => fields.get(step),
            Some(Value::Array(items)) => items.get(index(step, items.len())?),
            Some(Value::Bool(_) | Value::Number(_) | Value::String(_)) => {
                return Err(format!("{path:?} leads through a value without members"));
            }
        };
    }
    Ok(at)
}

/// Returns the value at a path to be replaced; creates missing parents.
fn find_or_create<'a>(doc: &'a mut Value, path: &[String]) -> Result<&'a mut Value, String> {
    let mut at = doc;
    for step in path {
        if at.is_null() {
            *at = Value::Object(Map::new());
        }
        at = match at {
            Value::Object(fields) => fields.entry(step.clone()).or_insert(Value::Null),
            Value::Array(items) => {
                let index = index(step, items.len())?;
                if index == items.len() {
                    items.push(Value::Null);
                }
                &mut items[index]
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                return Err(format!("{path:?} leads through a value without members"));
            }
        };
    }
    Ok(at)
}

/// Parses an index of a list, or the one after its last item.
fn index(step: &str, length: usize) -> Result<usize, String> {
    let index: Option<usize> = step.parse().ok();
    // Only the plain form is valid: no sign, no leading zeros.
    let index = index.filter(|index| index.to_string() == step);
    let index = index.ok_or_else(|| format!("{step:?} is not an index of a list"))?;
    match index <= length {
        true => Ok(index),
        false => Err(format!("{index} is out of bounds of a list of {length}")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn set(doc: Value, path: Value, value: Value) -> Result<Value, String> {
        let mut folded = doc;
        apply(
            &mut folded,
            &json!({"type": "set", "path": path, "value": value}),
        )?;
        Ok(folded)
    }

    fn append(doc: Value, path: Value, value: Value) -> Result<Value, String> {
        let mut folded = doc;
        let op = json!({"type": "append-text", "path": path, "value": value});
        apply(&mut folded, &op)?;
        Ok(folded)
    }

    #[test]
    fn set_and_append_change_the_value_at_the_path() {
        for (doc, path, folded) in [
            (json!({"a": 1}), json!(["a"]), json!({"a": "new"})),
            (json!({}), json!(["a"]), json!({"a": "new"})),
            (json!({}), json!(["a", "b"]), json!({"a": {"b": "new"}})),
            (
                json!({"a": null}),
                json!(["a", "b"]),
                json!({"a": {"b": "new"}}),
            ),
            (json!([1, 2]), json!(["1"]), json!([1, "new"])),
            (json!([1, 2]), json!([1]), json!([1, "new"])),
            (json!([1, 2]), json!(["2"]), json!([1, 2, "new"])),
            // Trap: a missing parent becomes an object, not a list.
            (
                json!({}),
                json!(["calls", "0"]),
                json!({"calls": {"0": "new"}}),
            ),
            (json!({"a": 1}), json!([]), json!("new")),
        ] {
            assert_eq!(set(doc, path.clone(), json!("new")), Ok(folded), "{path}");
        }
        let longer = append(json!({"a": ["x"]}), json!(["a", "0"]), json!("y"));
        assert_eq!(longer, Ok(json!({"a": ["xy"]})));
    }

    #[test]
    fn operation_that_does_not_fit_is_rejected() {
        let doc = || json!({"list": [1], "text": "x", "none": null, "number": 1});
        for path in [
            json!(["list", "2"]),
            json!(["list", "-1"]),
            json!(["list", "-"]),
            json!(["list", "00"]),
            json!(["list", "+0"]),
            json!(["list", "0.5"]),
            json!(["list", ""]),
            json!(["text", "0"]),
            json!(["number", "a"]),
            json!(["list", "0", "a"]),
            json!(["__proto__", "a"]),
            json!(["constructor"]),
            json!(["prototype"]),
            json!([null]),
            json!("list"),
        ] {
            assert!(set(doc(), path.clone(), json!(0)).is_err(), "{path}");
        }
        for path in ["missing", "none", "number", "list"] {
            assert!(append(doc(), json!([path]), json!("y")).is_err(), "{path}");
        }
        assert!(append(doc(), json!(["text"]), json!(1)).is_err());
        for kind in ["remove", "insert", "SET"] {
            let op = json!({"type": kind, "path": ["text"], "value": 1});
            assert!(apply(&mut doc(), &op).is_err(), "{kind}");
        }
    }

    #[test]
    fn delta_is_applied_whole_or_not_at_all() {
        let mut doc = json!({"list": []});
        let first = json!({"type": "set", "path": ["list", "0"], "value": ""});
        let bad = json!({"type": "append-text", "path": ["list"], "value": "x"});
        let refused = apply_all(&mut doc, &json!([first, bad]));
        assert!(refused.is_err_and(|why| why.starts_with("operation 1: ")));
        assert_eq!(doc, json!({"list": []}));
        assert_eq!(apply_all(&mut doc, &json!([first])), Ok(()));
        assert_eq!(doc, json!({"list": [""]}));
        // An operation that does not fit creates no parents.
        let nowhere = json!({"type": "append-text", "path": ["a", "b"], "value": "x"});
        assert!(apply(&mut doc, &nowhere).is_err());
        assert_eq!(doc, json!({"list": [""]}));
    }
}
