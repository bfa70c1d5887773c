//! `harn-serve schema`: the JSON Schemas of the extensions, as they are in `spec/schemas`.

use std::{fs, path::PathBuf, process::ExitCode};

use anyhow::{Context, Result, anyhow};
use harn_acp::ext::schema::schemas;
use serde_json::Value;

use super::{print, text, wrong_use};

const ENDING: &str = ".schema.json";

pub(super) fn run(name: Option<String>, out: Option<PathBuf>) -> Result<ExitCode> {
    match (name, out) {
        (_, Some(out)) => {
            fs::create_dir_all(&out).with_context(|| out.display().to_string())?;
            for (file, schema) in schemas() {
                let path = out.join(file);
                fs::write(&path, written(&schema)?).with_context(|| path.display().to_string())?;
                print(&format!("wrote {}\n", path.display()))?;
            }
        }
        (Some(name), None) => {
            let all = schemas();
            let wanted = name.trim_end_matches(ENDING);
            match all.iter().find(|(file, _)| stem(file) == wanted) {
                Some((_, schema)) => print(&written(schema)?)?,
                None => {
                    let hint = text::did_you_mean(wanted, all.iter().map(|(file, _)| stem(file)));
                    let error = anyhow!(
                        "there is no schema `{name}`; {hint}`harn-serve schema` names them all"
                    );
                    return Err(wrong_use(error));
                }
            }
        }
        (None, None) => {
            let all = schemas();
            let rows: Vec<_> = all
                .iter()
                .map(|(file, schema)| [stem(file).into(), about(schema).into()])
                .collect();
            print(&text::table(["NAME", "DESCRIBES"], &rows))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn stem(file: &str) -> &str {
    file.trim_end_matches(ENDING)
}

/// The bytes of the file in `spec/schemas`.
fn written(schema: &Value) -> Result<String> {
    let mut text = serde_json::to_string_pretty(schema)?;
    text.push('\n');
    Ok(text)
}

/// The first sentence of its description.
fn about(schema: &Value) -> &str {
    let text = schema["description"].as_str().unwrap_or_default();
    text.split_once(". ")
        .map_or(text, |(first, _)| first)
        .trim_end_matches('.')
}
