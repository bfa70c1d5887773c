//! `harn-serve schema`: the JSON Schemas of the extensions and of the other wires, as in `spec/schemas`.

use std::{fs, path::PathBuf, process::ExitCode};

use anyhow::{Context, Result, anyhow};
use harn_terminal::{
    console::{as_command_line_error, print},
    text,
};
use serde_json::Value;

const ENDING: &str = ".schema.json";

/// Returns the schemas of all front-ends, by file name.
fn schemas() -> impl Iterator<Item = &'static (&'static str, &'static str)> {
    let wires: &[&'static [(&'static str, &'static str)]] = &[
        harn_acp::ext::published_schemas::SCHEMAS,
        #[cfg(feature = "threads")]
        harn_threads::published_schemas::SCHEMAS,
        #[cfg(feature = "page")]
        harn_state::published_schemas::SCHEMAS,
        #[cfg(feature = "openharness")]
        harn_openharness::published::SCHEMAS,
    ];
    wires.iter().copied().flatten()
}

pub(super) fn run(name: Option<String>, out: Option<PathBuf>) -> Result<ExitCode> {
    match (name, out) {
        (_, Some(out)) => {
            fs::create_dir_all(&out).with_context(|| out.display().to_string())?;
            for (file, schema) in schemas() {
                let path = out.join(file);
                fs::write(&path, schema).with_context(|| path.display().to_string())?;
                print(&format!("wrote {}\n", path.display()))?;
            }
        }
        (Some(name), None) => {
            let wanted = schema_name(&name);
            match schemas().find(|(file, _)| schema_name(file) == wanted) {
                Some((_, schema)) => print(schema)?,
                None => {
                    let names = schemas().map(|(file, _)| schema_name(file));
                    let hint = text::did_you_mean(wanted, names);
                    let error =
                        anyhow!("unknown schema `{name}`; {hint}`harn-serve schema` lists all");
                    return Err(as_command_line_error(error));
                }
            }
        }
        (None, None) => {
            let mut rows = Vec::new();
            for (file, schema) in schemas() {
                rows.push([schema_name(file).into(), first_sentence(schema)?.into()]);
            }
            print(&text::table(["NAME", "DESCRIBES"], &rows))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn schema_name(file: &str) -> &str {
    file.trim_end_matches(ENDING)
}

/// Returns the first sentence of a schema's description.
fn first_sentence(schema: &str) -> Result<String> {
    let schema: Value = serde_json::from_str(schema)?;
    let text = schema["description"].as_str().unwrap_or_default();
    let first = text.split_once(". ").map_or(text, |(first, _)| first);
    Ok(first.trim_end_matches('.').to_owned())
}
