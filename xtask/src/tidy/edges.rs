//! The allowed dependencies between packages: the architecture as a table.
//!
//! Dependencies have one direction. Dev-dependencies are unrestricted and not checked.

use crate::repo::Package;

/// The packages of this workspace that a package may use.
enum May {
    Use(&'static [&'static str]),
    UseAnything,
}

/// One row for each package. A new package needs a row, and so a decision about its position.
const ROOMS: &[(&str, May)] = &[
    ("harn-schema", May::Use(&[])),
    ("harn-model", May::Use(&["harn-schema"])),
    ("harn-policy", May::Use(&["harn-model", "harn-schema"])),
    ("harn-journal", May::Use(&["harn-model"])),
    (
        "harn-runtime",
        May::Use(&["harn-model", "harn-policy", "harn-journal"]),
    ),
    ("harn-sandbox", May::Use(&[])),
    (
        "harn-tools",
        May::Use(&["harn-model", "harn-policy", "harn-runtime", "harn-sandbox"]),
    ),
    (
        "harn-engines",
        May::Use(&["harn-model", "harn-runtime", "harn-tools"]),
    ),
    ("harn-lines", May::Use(&[])),
    (
        "harn-acp",
        May::Use(&["harn-lines", "harn-model", "harn-runtime", "harn-schema"]),
    ),
    (
        "harn-threads",
        May::Use(&["harn-lines", "harn-model", "harn-runtime", "harn-schema"]),
    ),
    (
        "harn-state",
        May::Use(&["harn-lines", "harn-model", "harn-runtime", "harn-schema"]),
    ),
    (
        "harn-openharness",
        May::Use(&["harn-lines", "harn-model", "harn-runtime", "harn-schema"]),
    ),
    ("harn-conformance", May::Use(&["harn-acp"])),
    (
        "harn-terminal",
        May::Use(&[
            "harn-model",
            "harn-policy",
            "harn-runtime",
            "harn-lines",
            "harn-acp",
        ]),
    ),
    (
        "harn-serve",
        May::Use(&[
            "harn-model",
            "harn-policy",
            "harn-journal",
            "harn-runtime",
            "harn-sandbox",
            "harn-tools",
            "harn-engines",
            "harn-lines",
            "harn-acp",
            "harn-threads",
            "harn-state",
            "harn-openharness",
            "harn-conformance",
            "harn-terminal",
        ]),
    ),
    (
        "harn-testkit",
        May::Use(&[
            "harn-model",
            "harn-policy",
            "harn-journal",
            "harn-runtime",
            "harn-tools",
            "harn-lines",
            "harn-acp",
            "harn-threads",
            "harn-state",
            "harn-openharness",
        ]),
    ),
    ("harn-tests", May::UseAnything),
    ("harn-bench", May::UseAnything),
    ("xtask", May::Use(&[])),
];

/// The packages that may use ACP. The schema crate counts as the SDK.
const SPEAK_ACP: [&str; 6] = [
    "harn-acp",
    "harn-engines",
    "harn-terminal",
    "harn-testkit",
    "harn-tests",
    "harn-bench",
];

/// Checks that the packages of this workspace depend on each other as in the table.
pub(super) fn check_workspace_dependencies(packages: &[Package]) -> Vec<String> {
    let ours = |name: &str| packages.iter().any(|package| package.name == name);
    let mut problems = Vec::new();
    for package in packages {
        let name = &package.name;
        let allowed = match ROOMS.iter().find(|(room, _)| room == name) {
            Some((_, May::Use(allowed))) => *allowed,
            Some((_, May::UseAnything)) => continue,
            None => {
                problems.push(format!(
                    "{name}: has no row in xtask/src/tidy/edges.rs; add one that states what it may use"
                ));
                continue;
            }
        };
        let used = package.dependencies.iter().filter(|used| ours(used));
        for used in used.filter(|used| !allowed.contains(&used.as_str())) {
            problems.push(format!(
                "{name}: depends on {used}; it may use {}",
                match allowed {
                    [] => "no other package of ours".to_owned(),
                    some => format!("only {}", some.join(", ")),
                }
            ));
        }
    }
    problems
}

/// Checks that third-party crates are used only by the packages that need them.
pub(super) fn check_third_parties(packages: &[Package]) -> Vec<String> {
    let mut problems = Vec::new();
    for package in packages {
        let name = package.name.as_str();
        for used in &package.dependencies {
            if name == "harn-model" && used.starts_with("tokio") {
                problems.push(format!(
                    "{name}: depends on {used}; the model knows neither time nor tasks, move that to \
                     harn-runtime"
                ));
            }
            if used.starts_with("agent-client-protocol") && !SPEAK_ACP.contains(&name) {
                problems.push(format!(
                    "{name}: depends on {used}; only {} may, the wire ends there",
                    SPEAK_ACP.join(", ")
                ));
            }
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, dependencies: &[&str]) -> Package {
        Package {
            name: name.to_owned(),
            dependencies: dependencies.iter().map(|&name| name.to_owned()).collect(),
            test_programs: Vec::new(),
            folder: String::new(),
            uses: Vec::new(),
        }
    }

    #[test]
    fn dependency_against_the_direction_is_found() {
        let packages = [
            package("harn-schema", &["serde", "harn-model"]),
            package("harn-model", &["serde", "harn-journal"]),
            package("harn-journal", &["harn-model", "harn-runtime"]),
            package("harn-runtime", &["harn-model", "harn-journal"]),
            package("harn-tests", &["harn-model", "harn-runtime"]),
        ];
        assert_eq!(
            check_workspace_dependencies(&packages),
            [
                "harn-schema: depends on harn-model; it may use no other package of ours",
                "harn-model: depends on harn-journal; it may use only harn-schema",
                "harn-journal: depends on harn-runtime; it may use only harn-model",
            ]
        );
    }

    #[test]
    fn serve_may_not_ship_the_testkit() {
        let packages = [
            package("harn-serve", &["harn-acp", "harn-testkit"]),
            package("harn-testkit", &["harn-acp"]),
            package("harn-acp", &[]),
        ];
        let problems = check_workspace_dependencies(&packages);
        assert_eq!(problems.len(), 1);
        assert!(problems[0].starts_with("harn-serve: depends on harn-testkit;"));
    }

    #[test]
    fn a_package_without_a_row_is_found() {
        let problems = check_workspace_dependencies(&[package("harn-utils", &[])]);
        assert!(
            problems[0].starts_with("harn-utils: has no row"),
            "{problems:?}"
        );
    }

    #[test]
    fn third_party_crate_in_the_wrong_package_is_found() {
        let packages = [
            package("harn-model", &["tokio", "agent-client-protocol-schema"]),
            package("harn-runtime", &["tokio", "agent-client-protocol"]),
            package("harn-acp", &["tokio", "agent-client-protocol"]),
        ];
        let problems = check_third_parties(&packages);
        let starts = [
            "harn-model: depends on tokio;",
            "harn-model: depends on agent-client-protocol-schema;",
            "harn-runtime: depends on agent-client-protocol;",
        ];
        assert_eq!(problems.len(), starts.len(), "{problems:?}");
        for (problem, start) in problems.iter().zip(starts) {
            assert!(problem.starts_with(start), "{problem}");
        }
    }
}
