//! Turns the errors of a schema validator into messages that name a member and never its value.

use jsonschema::{
    ErrorIterator, ValidationError,
    error::{TypeKind, ValidationErrorKind},
};

use super::{ConformanceRule, MessageFindings, list_names, quote_name};

/// A problem with the value at a path.
struct PathProblem {
    path: String,
    problem: SchemaProblem,
}

#[derive(PartialEq, Eq)]
enum SchemaProblem {
    /// The value has a member that its schema does not define.
    Unknown(String),
    /// The value has a member that no matching subschema covers; less specific than `Unknown`.
    Leftover(String),
    /// The value lacks a required member.
    Lacks(String),
    Other(String),
}

/// Returns the problems of the innermost values; merges problems of one kind at one path.
pub(super) fn explain_errors(
    errors: ErrorIterator<'_>,
    place: &str,
    rule: ConformanceRule,
) -> MessageFindings {
    let mut leaves = Vec::new();
    for error in errors {
        descend(&error, &mut leaves);
    }
    let leaves = without_leftovers(leaves);
    let mut found = MessageFindings::new();
    for leaf in &leaves {
        let path = leaf.path.as_str();
        let here = || leaves.iter().filter(|other| other.path == path);
        let at = quote_name(&format!("{place}{path}"));
        let finding = match &leaf.problem {
            // If a subschema does not match, all its members are unknown one level up. That finding adds
            // nothing.
            SchemaProblem::Unknown(_) | SchemaProblem::Leftover(_)
                if leaves.iter().any(|other| explains(other, path)) =>
            {
                continue;
            }
            SchemaProblem::Unknown(_) | SchemaProblem::Leftover(_) => {
                let names = here().filter_map(|other| match &other.problem {
                    SchemaProblem::Unknown(name) => Some(name.as_str()),
                    SchemaProblem::Leftover(_)
                    | SchemaProblem::Lacks(_)
                    | SchemaProblem::Other(_) => None,
                });
                (
                    ConformanceRule::UnknownMember,
                    format!("{at} must not have {}", list_names(names)),
                )
            }
            SchemaProblem::Lacks(_) => {
                let names = here().filter_map(|other| match &other.problem {
                    SchemaProblem::Lacks(name) => Some(name.as_str()),
                    SchemaProblem::Unknown(_)
                    | SchemaProblem::Leftover(_)
                    | SchemaProblem::Other(_) => None,
                });
                (rule, format!("{at} lacks {}", list_names(names)))
            }
            SchemaProblem::Other(what) => (rule, format!("{at} {what}")),
        };
        if !found.contains(&finding) {
            found.push(finding);
        }
    }
    found
}

/// Drops leftover members at paths that have unknown members, because these are more specific; turns the
/// others into unknown members.
fn without_leftovers(leaves: Vec<PathProblem>) -> Vec<PathProblem> {
    let is_unknown = |leaf: &&PathProblem| matches!(leaf.problem, SchemaProblem::Unknown(_));
    let named: Vec<_> = leaves
        .iter()
        .filter(is_unknown)
        .map(|leaf| leaf.path.clone())
        .collect();
    let told = leaves.into_iter().filter_map(|leaf| match leaf.problem {
        SchemaProblem::Leftover(_) if named.contains(&leaf.path) => None,
        SchemaProblem::Leftover(name) => Some(PathProblem {
            problem: SchemaProblem::Unknown(name),
            ..leaf
        }),
        SchemaProblem::Unknown(_) | SchemaProblem::Lacks(_) | SchemaProblem::Other(_) => Some(leaf),
    });
    told.collect()
}

/// Returns whether a leaf is the cause of unknown members at `path`: another problem there, or any problem
/// deeper.
fn explains(leaf: &PathProblem, path: &str) -> bool {
    match (leaf.path.strip_prefix(path), &leaf.problem) {
        (Some(beneath), SchemaProblem::Unknown(_) | SchemaProblem::Leftover(_)) => {
            beneath.starts_with('/')
        }
        (Some(beneath), SchemaProblem::Lacks(_) | SchemaProblem::Other(_)) => {
            beneath.is_empty() || beneath.starts_with('/')
        }
        (None, _) => false,
    }
}

fn descend(error: &ValidationError<'_>, leaves: &mut Vec<PathProblem>) {
    let path = error.instance_path().as_str();
    let mut push = |problem| {
        leaves.push(PathProblem {
            path: path.to_owned(),
            problem,
        });
    };
    match error.kind() {
        ValidationErrorKind::OneOfNotValid { context } | ValidationErrorKind::AnyOf { context } => {
            match find_meant_variant(context, path) {
                Some(branch) => branch.iter().for_each(|error| descend(error, leaves)),
                None => push(SchemaProblem::Other(
                    "is not one of the allowed values or variants".to_owned(),
                )),
            }
        }
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            let unknown = unexpected.iter().cloned().map(SchemaProblem::Unknown);
            unknown.for_each(push);
        }
        ValidationErrorKind::UnevaluatedProperties { unexpected } => {
            let leftover = unexpected.iter().cloned().map(SchemaProblem::Leftover);
            leftover.for_each(push);
        }
        ValidationErrorKind::Required { property } => {
            push(SchemaProblem::Lacks(
                property.as_str().unwrap_or_default().to_owned(),
            ));
        }
        ValidationErrorKind::Type { kind } => {
            push(SchemaProblem::Other(format!(
                "should be {}",
                format_types(kind)
            )));
        }
        ValidationErrorKind::Constant { .. } | ValidationErrorKind::Enum { .. } => {
            push(SchemaProblem::Other(
                "is not one of the allowed values".to_owned(),
            ));
        }
        other => push(SchemaProblem::Other(format!(
            "does not fit the schema's `{}`",
            other.keyword()
        ))),
    }
}

/// Returns the variant that the sender meant: the one whose tag matches. None if no tag does.
fn find_meant_variant<'a>(
    branches: &'a [Vec<ValidationError<'static>>],
    path: &str,
) -> Option<&'a Vec<ValidationError<'static>>> {
    let meant = |errors: &&Vec<ValidationError<'static>>| {
        errors.iter().all(|error| {
            let here = error.instance_path().as_str();
            let beneath = here.strip_prefix(path).unwrap_or(here);
            match error.kind() {
                // A tag is a direct member of the value, or the value is a plain string.
                ValidationErrorKind::Constant { .. } | ValidationErrorKind::Enum { .. } => {
                    beneath.matches('/').count() > 1
                }
                ValidationErrorKind::Type { .. } => !beneath.is_empty(),
                _ => true,
            }
        })
    };
    branches
        .iter()
        .filter(meant)
        .min_by_key(|errors| errors.len())
}

fn format_types(kind: &TypeKind) -> String {
    let words: Vec<_> = match kind {
        TypeKind::Single(one) => vec![one.to_string()],
        TypeKind::Multiple(several) => several.iter().map(|one| one.to_string()).collect(),
    };
    words.join(" or ")
}
