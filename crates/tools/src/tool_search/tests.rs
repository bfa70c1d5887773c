//! Tests of rankings (calculated by hand and with random input), promotions and configuration.

mod answers;
mod configuration;
mod promotions;
mod random;
mod ranking;

use harn_model::{ToolSource, ToolSpec};
use serde_json::{Map, Value, json};

/// Creates a tool of the host; parameters have descriptions.
fn tool(name: &str, description: &str, parameters: &[(&str, &str)]) -> ToolSpec {
    let properties = parameters.iter().map(|(name, about)| {
        let about = match *about {
            "" => json!({"type": "string"}),
            about => json!({"type": "string", "description": about}),
        };
        ((*name).to_owned(), about)
    });
    let properties: Map<String, Value> = properties.collect();
    ToolSpec {
        name: name.to_owned(),
        description: description.to_owned(),
        schema: Some(json!({"type": "object", "properties": properties})),
        annotations: None,
        source: ToolSource::Host,
        deprecated: false,
    }
}
