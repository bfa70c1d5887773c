//! Parses params into our types. Errors name the field, and never repeat its value.

use harn_model::{
    ContentBlock, Decision, GrantScope, PermissionOption, PermissionOptionKind, ResourceLink,
};
use serde_json::{Map, Value};

use crate::{
    ThreadsError,
    wire::{
        ApprovalDecision, ApprovalReply, ApprovalRespondParams, InputPart, ModelChoice,
        ThreadCreateParams, ThreadGetParams, TurnCancelParams, TurnStartParams,
    },
};

type ParamsResult<T> = Result<T, ThreadsError>;

/// The members of an object, which are taken one by one.
pub(crate) struct ParamFields {
    members: Map<String, Value>,
    /// The prefix of names in messages.
    within: String,
}

impl ParamFields {
    /// Reads the params of a request; they may be absent if none are required.
    pub(crate) fn from_params(params: Option<Value>) -> ParamsResult<Self> {
        let members = match params {
            None => Map::new(),
            Some(Value::Object(members)) => members,
            // Positional params would fit only by chance.
            Some(_) => return Err(bad("params must be an object")),
        };
        Ok(Self {
            members,
            within: String::new(),
        })
    }

    fn from_nested(value: Value, within: &str) -> ParamsResult<Self> {
        match value {
            Value::Object(members) => Ok(Self {
                members,
                within: format!("{within}."),
            }),
            _ => Err(bad(format!("{within} must be an object"))),
        }
    }

    /// Takes a member; null counts as absent.
    fn take(&mut self, name: &str) -> Option<Value> {
        self.members.remove(name).filter(|value| !value.is_null())
    }

    fn string(&mut self, name: &str) -> ParamsResult<Option<String>> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(bad(format!("{}{name} must be a string", self.within))),
        }
    }

    fn required(&mut self, name: &str) -> ParamsResult<String> {
        let within = self.within.clone();
        let text = self.string(name)?;
        text.ok_or_else(|| bad(format!("{within}{name} is missing; it must be a string")))
    }
}

fn bad(why: impl Into<String>) -> ThreadsError {
    ThreadsError::InvalidParams(why.into())
}

/// Checks the params. Nothing depends on their members, so none of them can be wrong.
pub(crate) fn initialize(params: Option<Value>) -> ParamsResult<()> {
    ParamFields::from_params(params).map(drop)
}

pub(crate) fn thread_create(params: Option<Value>) -> ParamsResult<ThreadCreateParams> {
    let mut fields = ParamFields::from_params(params)?;
    let said = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
    Ok(ThreadCreateParams {
        title: said(fields.string("title")?),
        directory: said(fields.string("directory")?),
    })
}

pub(crate) fn thread_list(params: Option<Value>) -> ParamsResult<()> {
    ParamFields::from_params(params).map(drop)
}

pub(crate) fn thread_get(params: Option<Value>) -> ParamsResult<ThreadGetParams> {
    let thread_id = ParamFields::from_params(params)?.required("threadId")?;
    Ok(ThreadGetParams { thread_id })
}

pub(crate) fn turn_cancel(params: Option<Value>) -> ParamsResult<TurnCancelParams> {
    let mut fields = ParamFields::from_params(params)?;
    Ok(TurnCancelParams {
        thread_id: fields.required("threadId")?,
        turn_id: fields.string("turnId")?,
    })
}

pub(crate) fn turn_start(params: Option<Value>) -> ParamsResult<TurnStartParams> {
    let mut fields = ParamFields::from_params(params)?;
    let thread_id = fields.required("threadId")?;
    let parts = match fields.take("input") {
        Some(Value::Array(parts)) => parts,
        Some(_) => return Err(bad("input must be an array of parts")),
        None => return Err(bad("input is missing; it must be an array of parts")),
    };
    let parts = parts.into_iter().enumerate();
    let input = parts.map(|(at, part)| input_part(part, &format!("input[{at}]")));
    let input: Vec<_> = input.collect::<ParamsResult<_>>()?;
    if input.is_empty() {
        return Err(bad("input must have at least one part"));
    }
    let model = fields.take("model").map(model).transpose()?;
    let agent = fields.string("agent")?;
    Ok(TurnStartParams {
        thread_id,
        input,
        model,
        agent,
    })
}

fn input_part(part: Value, at: &str) -> ParamsResult<InputPart> {
    let mut fields = ParamFields::from_nested(part, at)?;
    match fields.required("type")?.as_str() {
        "text" => Ok(InputPart::Text {
            text: fields.required("text")?,
        }),
        "file" => Ok(InputPart::File {
            url: fields.required("url")?,
            filename: fields.string("filename")?,
            mime: fields.string("mime")?,
        }),
        _ => Err(bad(format!("{at}.type must be \"text\" or \"file\""))),
    }
}

fn model(model: Value) -> ParamsResult<ModelChoice> {
    let mut fields = ParamFields::from_nested(model, "model")?;
    Ok(ModelChoice {
        provider_id: fields.string("providerID")?,
        model_id: fields.required("modelID")?,
    })
}

pub(crate) fn approval_respond(params: Option<Value>) -> ParamsResult<ApprovalRespondParams> {
    let mut fields = ParamFields::from_params(params)?;
    let request_id = fields.required("requestId")?;
    let decision = match fields.required("decision")?.as_str() {
        "once" => ApprovalDecision::Once,
        "always" => ApprovalDecision::Always,
        "reject" => ApprovalDecision::Reject,
        _ => {
            let why = "decision must be \"once\", \"always\" or \"reject\"";
            return Err(bad(why));
        }
    };
    Ok(ApprovalRespondParams {
        request_id,
        decision,
    })
}

/// Converts the parts of an input to the blocks of a prompt.
pub(crate) fn prompt(input: Vec<InputPart>) -> Vec<ContentBlock> {
    let block = |part| match part {
        InputPart::Text { text } => ContentBlock::Text { text },
        InputPart::File {
            url,
            filename,
            mime,
        } => ContentBlock::ResourceLink(ResourceLink {
            name: filename.unwrap_or_else(|| last_segment(&url).to_owned()),
            uri: url,
            mime_type: mime,
            title: None,
            description: None,
            size: None,
        }),
    };
    input.into_iter().map(block).collect()
}

/// Returns the last segment of a URL, or all of it if there is none.
pub(crate) fn last_segment(url: &str) -> &str {
    let path = url.trim_end_matches('/');
    let last = path.rsplit('/').next().unwrap_or_default();
    if last.is_empty() { url } else { last }
}

/// Maps a decision to one of the offered options, and to the reply that clients will receive.
pub(crate) fn decision(
    decide: ApprovalDecision,
    options: &[PermissionOption],
) -> ParamsResult<(Decision, ApprovalReply)> {
    use PermissionOptionKind::{AllowAlways, AllowOnce, RejectOnce};
    let of = |kind| options.iter().filter(move |option| option.kind == kind);
    let once = || of(AllowOnce).next().map(|it| (it, ApprovalReply::Once));
    let lasting = of(AllowAlways).filter(|option| option.scope != GrantScope::Once);
    let allowed = match decide {
        ApprovalDecision::Once => once(),
        // If nothing can be remembered, this allows once.
        ApprovalDecision::Always => lasting
            .max_by_key(|option| option.scope)
            .map(|it| (it, ApprovalReply::Always))
            .or_else(once),
        ApprovalDecision::Reject => {
            // Only this once, whatever else is offered: the client requested nothing permanent.
            let option = of(RejectOnce).next();
            let rejected = Decision::Rejected {
                option_id: option.map(|option| option.option_id.clone()),
                reason: None,
            };
            return Ok((rejected, ApprovalReply::Reject));
        }
    };
    let (option, reply) = allowed.ok_or_else(|| {
        bad("decision: this request does not offer that decision; send another one")
    })?;
    let option_id = option.option_id.clone();
    let args = None;
    Ok((Decision::Allowed { option_id, args }, reply))
}

#[cfg(test)]
mod tests;
