//! The request of an assistant-ui client. It contains the client's whole copy of the document, of which only the
//! session id is used.

use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use crate::{
    command_error::ClientCommandError, error::StateError, from_wire, session_choice::SessionChoice,
    wire::ClientCommand,
};

#[derive(Debug)]
pub(super) struct AssistantRequest {
    /// The session of the request, if it names one.
    pub(super) session: Option<SessionChoice>,
    /// Whether its turns continue when the client disconnects.
    pub(super) detached: bool,
    /// The commands, or why they are malformed.
    pub(super) commands: Result<Vec<ClientCommand>, ClientCommandError>,
}

/// The used members of the body. Null counts as missing.
#[derive(Deserialize)]
struct AssistantBody<'a> {
    commands: Vec<Value>,
    #[serde(default)]
    session: Option<Value>,
    #[serde(default)]
    detach: Option<Value>,
    /// Not parsed: it may be as long as a session, and may be anything at first.
    #[serde(default, borrow)]
    state: Option<&'a RawValue>,
}

/// The used part of a document that a client sends back.
#[derive(Deserialize)]
struct EchoedDocument {
    session: EchoedSession,
}

#[derive(Deserialize)]
struct EchoedSession {
    id: String,
}

impl AssistantRequest {
    pub(super) fn read(body: &[u8]) -> Result<Self, StateError> {
        let body: AssistantBody<'_> =
            serde_json::from_slice(body).map_err(|_| StateError::NoBody)?;
        let named = match body.session {
            None | Some(Value::Null) => None,
            Some(Value::String(id)) => Some(id),
            Some(_) => {
                let (name, wanted) = ("session", "the id of a session");
                return Err(StateError::BadQuery { name, wanted });
            }
        };
        let detached = match body.detach {
            None | Some(Value::Null) => false,
            Some(Value::Bool(detached)) => detached,
            Some(_) => {
                let (name, wanted) = ("detach", "true or false");
                return Err(StateError::BadQuery { name, wanted });
            }
        };
        let echoed = || {
            let echo = serde_json::from_str::<EchoedDocument>(body.state?.get());
            Some(echo.ok()?.session.id)
        };
        let named = named.filter(|id| !id.is_empty());
        let session = named.map(|text| SessionChoice::parse(&text));
        let echoed = || echoed().map(|id| SessionChoice::Named(id.into()));
        Ok(Self {
            session: session.or_else(echoed),
            detached,
            commands: parse_commands(&body.commands),
        })
    }
}

/// Parses the commands, all or none: the error for one would not state which others were executed.
fn parse_commands(given: &[Value]) -> Result<Vec<ClientCommand>, ClientCommandError> {
    if given.len() > from_wire::MOST {
        let most = from_wire::MOST;
        return Err(ClientCommandError::bad(format!(
            "the request has more than {most} commands; send them in several requests"
        )));
    }
    given.iter().map(parse_command).collect()
}

fn parse_command(given: &Value) -> Result<ClientCommand, ClientCommandError> {
    match given.get("type").and_then(Value::as_str) {
        Some("add-message") => {
            let prompt = parse_message(given)?;
            Ok(ClientCommand::Submit { prompt })
        }
        Some("add-tool-result") => Err(ClientCommandError::bad(
            "add-tool-result is not supported, because the tools run on the server; decide about a call with approve or deny",
        )),
        Some("resume") => Err(ClientCommandError::bad(
            "resume is not supported here; name the session in the URL, as in /assistant?session=ID",
        )),
        Some(_) | None => from_wire::parse_command(given),
    }
}

/// Parses the text of an `add-message` command.
fn parse_message(given: &Value) -> Result<String, ClientCommandError> {
    let is_new = given.get("sourceId").is_none_or(Value::is_null);
    if !is_new {
        let words = "sent messages cannot be edited; send another message";
        return Err(ClientCommandError::bad(words));
    }
    let message = &given["message"];
    if message["role"] != "user" {
        let words = "add-message accepts only messages of the user; the role must be user";
        return Err(ClientCommandError::bad(words));
    }
    let Some(parts) = message["parts"].as_array() else {
        let words = "the message of add-message must have a list of parts";
        return Err(ClientCommandError::bad(words));
    };
    let text = |part: &Value| match part["type"].as_str() {
        Some("text") => part["text"].as_str().map(str::to_owned),
        Some(_) | None => None,
    };
    let texts: Option<Vec<_>> = parts.iter().map(text).collect();
    let texts = texts.ok_or_else(|| {
        ClientCommandError::bad(
            "only text can be sent this way; leave images and files out of the message",
        )
    })?;
    Ok(texts.join("\n\n"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(body: Value) -> Result<AssistantRequest, StateError> {
        AssistantRequest::read(body.to_string().as_bytes())
    }

    fn rejection_of(command: Value) -> String {
        let asked = read(json!({"commands": [{"type": "cancel"}, command]})).unwrap();
        asked.commands.unwrap_err().to_string()
    }

    #[test]
    fn a_request_of_the_library_is_parsed() {
        let asked = read(json!({
            "commands": [
                {"type": "add-message", "parentId": "a1", "sourceId": null,
                 "message": {"role": "user", "parts": [
                    {"type": "text", "text": "hello"}, {"type": "text", "text": "there"}]}},
                {"type": "approve", "toolCallId": "t1"},
            ],
            "state": {"messages": [], "session": {"id": "s1", "cwd": "/"}},
            "threadId": "__LOCALID_SGYlC9T",
            "parentId": "a1",
            "tools": {},
        }));
        let asked = asked.unwrap();
        let prompt = "hello\n\nthere".to_owned();
        let approve = ClientCommand::Approve {
            tool_call_id: "t1".to_owned(),
            option_id: None,
        };
        assert_eq!(
            asked.commands.unwrap(),
            [ClientCommand::Submit { prompt }, approve]
        );
        assert_eq!(asked.session, Some(SessionChoice::Named("s1".into())));
        assert!(!asked.detached);
    }

    #[test]
    fn a_named_session_precedes_the_echoed_one() {
        let state = || json!({"session": {"id": "echoed"}});
        for (session, state, wanted) in [
            (json!("named"), state(), Some("named")),
            (json!(null), state(), Some("echoed")),
            (json!(""), state(), Some("echoed")),
            (json!("new"), state(), Some("new")),
            (json!(null), json!(null), None),
            (json!(null), json!({"messages": []}), None),
            (json!(null), json!({"session": {"id": 5}}), None),
            (json!(null), json!("anything"), None),
        ] {
            let asked = read(json!({"commands": [], "session": session, "state": state}));
            let wanted = wanted.map(SessionChoice::parse);
            assert_eq!(asked.unwrap().session, wanted, "{state}");
        }
        let bare = read(json!({"commands": []})).unwrap();
        assert_eq!(bare.session, None);
        let detached = read(json!({"commands": [], "detach": true})).unwrap();
        assert!(detached.detached);
    }

    #[test]
    fn a_malformed_body_is_rejected_and_not_repeated() {
        for body in [
            json!([]),
            json!({}),
            json!({"commands": "secret"}),
            json!({"commands": null}),
            json!({"commands": [], "session": ["secret"]}),
            json!({"commands": [], "detach": "secret"}),
        ] {
            let error = read(body.clone()).unwrap_err();
            assert_eq!(error.status(), 400, "{body}");
            assert!(!error.to_string().contains("secret"), "{body}");
        }
        assert!(AssistantRequest::read(b"{\"commands\":[").is_err());
    }

    #[test]
    fn unsupported_commands_are_rejected_with_a_reason() {
        let said = |parts: Value| json!({"type": "add-message", "message": {"role": "user", "parts": parts}});
        let image = said(
            json!([{"type": "text", "text": "look"}, {"type": "image", "image": "data:image/png;base64,AAAA"}]),
        );
        let edit = json!({"type": "add-message", "sourceId": "u1", "message": {"role": "user", "parts": []}});
        let agent = json!({"type": "add-message", "message": {"role": "assistant", "parts": []}});
        let result = json!({"type": "add-tool-result", "toolCallId": "t1", "result": 1});
        let table = [
            image,
            edit,
            agent,
            said(json!(null)),
            result,
            json!({"type": "resume", "sessionId": "s"}),
            json!({"type": "nonsense"}),
            json!(5),
        ];
        let told: Vec<_> = table.into_iter().map(rejection_of).collect();
        expect_test::expect![[r#"
            only text can be sent this way; leave images and files out of the message
            sent messages cannot be edited; send another message
            add-message accepts only messages of the user; the role must be user
            the message of add-message must have a list of parts
            add-tool-result is not supported, because the tools run on the server; decide about a call with approve or deny
            resume is not supported here; name the session in the URL, as in /assistant?session=ID
            unknown command type; known types: submit, cancel, steer, approve, deny, resume, configure, answer, withdraw, takeover, handback
            unknown command type; known types: submit, cancel, steer, approve, deny, resume, configure, answer, withdraw, takeover, handback"#]]
        .assert_eq(&told.join("\n"));
        let many = vec![json!({"type": "cancel"}); from_wire::MOST + 1];
        let many = read(json!({ "commands": many })).unwrap();
        assert!(many.commands.is_err());
    }
}
