//! The host bridge: the requests to a host, its answers, and whether it declared the bridge.

use serde_json::Value;

use super::{
    ConformanceRule, MessageFindings,
    extensions::published_schema,
    quote_name,
    shape::LazySchema,
    steering::{ContractMethod, methods},
};
use harn_acp::ext::bridge;

macro_rules! operations {
    ($($name:literal)*) => {
        [$(ContractMethod {
            name: $name,
            params: LazySchema::extension(|| exchange_schema($name, "args")),
            result: LazySchema::extension(|| exchange_schema($name, "result")),
        }),*]
    };
}

static METHODS: [ContractMethod; 7] = methods! {
    "host-bridge" "builtin_call"
    "host-bridge" "host/call"
    "host-bridge" "host/capabilities"
    "host-bridge" "host/tools/list"
    "host-bridge" "skill/match"
    "host-bridge" "skills/fetch"
    "host-bridge" "skills/list"
};

/// The operations of `host/call`; their params are its `args`.
static OPERATIONS: [ContractMethod; 5] = operations! {
    "process.exec"
    "process.get_default_shell"
    "process.list_shells"
    "process.set_default_shell"
    "process.shell_invocation"
};

fn find_method(name: &str) -> Option<&'static ContractMethod> {
    METHODS.iter().find(|method| method.name == name)
}

/// Returns the part of the operations' schema that describes one operation.
fn exchange_schema(operation: &str, member: &str) -> Value {
    let whole = published_schema("host-shell-discovery");
    let mut part = whole["properties"][operation]["properties"][member].clone();
    if part.is_object() {
        part["$schema"] = whole["$schema"].clone();
        part["$defs"] = whole["$defs"].clone();
    }
    part
}

/// Returns the schema of the answer if the method belongs to the bridge.
pub(super) fn result_schema(name: &str) -> Option<&'static LazySchema> {
    find_method(name).map(|method| &method.result)
}

/// Returns the host operation that a request calls.
pub(super) fn find_operation(
    name: &str,
    params: Option<&Value>,
) -> Option<&'static ContractMethod> {
    if name != bridge::BridgeMethod::Call.name() {
        return None;
    }
    let name = params?.get("name")?.as_str()?;
    OPERATIONS.iter().find(|operation| operation.name == name)
}

/// Checks the params of a request; none if the method is not part of the bridge.
pub(super) fn check_params(name: &str, params: &Value) -> Option<MessageFindings> {
    let mut found = find_method(name)?.params.check(params, "params");
    if let (Some(operation), Some(args)) = (find_operation(name, Some(params)), params.get("args"))
    {
        found.extend(operation.params.check(args, "params/args"));
    }
    Some(found)
}

/// Returns whether a client declared the bridge in the params of its `initialize`.
pub(super) fn is_offered(harn: Option<&Value>) -> bool {
    match harn.map(|harn| &harn["hostBridge"]) {
        Some(Value::Bool(offered)) => *offered,
        offered => offered.is_some_and(Value::is_object),
    }
}

pub(super) fn not_offered_finding(name: &str) -> (ConformanceRule, String) {
    let what = format!(
        "{} is sent to a host that did not declare it",
        quote_name(name)
    );
    (ConformanceRule::NotOffered, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_and_operation_is_known() {
        for known in bridge::BridgeMethod::ALL {
            assert!(find_method(known.name()).is_some(), "{}", known.name());
        }
        for known in bridge::ProcessOperation::ALL {
            let name = known.name();
            let found = OPERATIONS.iter().find(|operation| operation.name == name);
            let found = found.unwrap();
            assert!(found.params.is_known() && found.result.is_known(), "{name}");
        }
        for method in &METHODS {
            assert!(method.params.is_known(), "{}", method.name);
        }
    }
}
