//! Checks that every dependency has a reason, in a comment above it or above its group.

/// Returns the lines of `[workspace.dependencies]` without a reason.
pub(super) fn dependencies(manifest: &str) -> Vec<String> {
    let mut problems = Vec::new();
    let (mut inside, mut reasoned) = (false, false);
    for (index, line) in manifest.lines().enumerate() {
        let line = line.trim();
        if line.starts_with('[') {
            inside = line == "[workspace.dependencies]";
            reasoned = false;
        } else if line.is_empty() {
            // A blank line ends a group.
            reasoned = false;
        } else if line.starts_with('#') {
            reasoned = true;
        } else if inside && !reasoned {
            let name = line.split(['=', '.', ' ']).next().unwrap_or(line);
            problems.push(format!(
                "Cargo.toml:{}: {name} has no reason; state in a comment above it why the project needs it",
                index + 1
            ));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dependency_without_a_reason_is_found() {
        let manifest = "\
[workspace.dependencies]
early = \"1\"

# Why.
one = \"1\"
two = { version = \"2\" }

three = \"3\"
[profile.dev]
debug = false
";
        let problems = dependencies(manifest);
        assert_eq!(problems.len(), 2, "{problems:?}");
        assert!(problems[0].starts_with("Cargo.toml:2: early has no reason"));
        assert!(problems[1].starts_with("Cargo.toml:8: three has no reason"));
    }
}
