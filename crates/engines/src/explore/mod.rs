//! `explore`: answers questions about a workspace by searching and reading it, without a model.
//!
//! A prompt that begins with `/` is a command, anything else is a question. The agent uses the tools of the
//! session's toolbox, or the built-in tools if the session has no toolbox.

mod attachment;
mod explain;
mod explore_all;
mod files;
mod prompt;
mod question;
mod run;
mod search;
mod shells;
mod skills;
mod steps;
mod text_excerpt;
mod tools;
mod watch;
mod write;

use std::sync::Arc;

use async_trait::async_trait;
use harn_model::{
    CommandInput, ConfigChoice, ConfigOption, PromptSupport, SlashCommand, StopReason,
};
use harn_runtime::{Agent, AgentError, AgentProfile, BoxFuture, Equipment, TurnContext};
use harn_tools::{Toolbox, markdown};

use attachment::PromptAttachment;
use prompt::{COMMANDS, ExploreRequest, Prompt};

/// The agent `explore`. It keeps no state between turns.
#[derive(Clone, Copy, Debug, Default)]
pub struct ExploreAgent;

impl ExploreAgent {
    /// Returns an agent that is ready to serve.
    pub fn new() -> Self {
        Self
    }
}

/// Prompts that give an answer in any folder.
const EXAMPLES: [&str; 4] = [
    "What is this project about?",
    "/find TODO",
    "/run ls -la",
    "/help",
];

/// The id of the option for the number of excerpts in an answer, and its values.
const RESULTS: &str = "results";
const RESULT_CHOICES: [&str; 3] = ["3", "5", "8"];
const DEFAULT_RESULTS: usize = 5;

#[async_trait]
impl Agent for ExploreAgent {
    fn profile(&self) -> AgentProfile {
        AgentProfile {
            name: "harn-explore".to_owned(),
            title: "Harn Explore".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            prompt: PromptSupport {
                image: false,
                audio: false,
                embedded: true,
            },
            commands: COMMANDS.iter().map(command).collect(),
            options: vec![results_option()],
            examples: EXAMPLES.map(str::to_owned).to_vec(),
            // The agent has no model that could follow instructions.
            follows_instructions: false,
        }
    }

    async fn turn(&self, cx: &mut TurnContext) -> Result<StopReason, AgentError> {
        let prompt = Prompt::new(cx.prompt());
        respond(cx, prompt.request(), &prompt.attached).await?;
        Ok(StopReason::EndTurn)
    }
}

fn respond<'a>(
    cx: &'a TurnContext,
    request: ExploreRequest<'a>,
    attached: &'a [PromptAttachment],
) -> BoxFuture<'a, Result<(), AgentError>> {
    Box::pin(async move {
        match request {
            ExploreRequest::Find(words) => search::find(cx, words).await,
            ExploreRequest::ExploreAll(words) => explore_all::explore(cx, words).await,
            ExploreRequest::Grep(pattern) => search::grep(cx, pattern).await,
            ExploreRequest::Read(path) => files::show(cx, path).await,
            ExploreRequest::Write { path, text } => write::write(cx, path, text).await,
            ExploreRequest::Run(command) => run::run(cx, command).await,
            ExploreRequest::Watch(glob) => watch::watch(cx, glob).await,
            ExploreRequest::Unwatch => cx.say(watch::NOTHING).await,
            ExploreRequest::Tools => tools::list(cx).await,
            ExploreRequest::Skills(wanted) => skills::answer(cx, wanted).await,
            ExploreRequest::Shells(wanted) => shells::answer(cx, wanted).await,
            ExploreRequest::Tool { name, arguments } => tools::call(cx, name, arguments).await,
            ExploreRequest::Help => cx.say(prompt::help() + &list_other_commands(cx)).await,
            ExploreRequest::Incomplete(command) => cx.say(prompt::usage(command)).await,
            ExploreRequest::Unknown(name) => {
                cx.say(prompt::describe_unknown(name) + &list_other_commands(cx))
                    .await
            }
            ExploreRequest::Question(text) => question::answer(cx, text, attached).await,
        }
    })
}

/// Returns the session's toolbox, or the built-in tools if the session has none.
fn toolbox(cx: &TurnContext) -> Arc<Toolbox> {
    Toolbox::from_turn(cx).unwrap_or_else(Toolbox::builtin_only)
}

/// Lists the commands that other parts of the session provide, for the help text.
fn list_other_commands(cx: &TurnContext) -> String {
    let mut out = "- `/permissions`: Show what is allowed and remembered here\n".to_owned();
    for command in toolbox(cx).commands() {
        let hint = command.input.map(|input| format!(" {}", input.hint));
        let usage = format!("/{}{}", command.name, hint.unwrap_or_default());
        out.push_str(&format!(
            "- {}: {}\n",
            markdown::code(&usage),
            command.description
        ));
    }
    out
}

fn command(spec: &prompt::ExploreCommand) -> SlashCommand {
    SlashCommand {
        name: spec.name.to_owned(),
        description: spec.description.to_owned(),
        input: (!spec.hint.is_empty()).then(|| CommandInput {
            hint: spec.hint.to_owned(),
        }),
    }
}

fn results_option() -> ConfigOption {
    let choice = |value: &str| ConfigChoice {
        value: value.to_owned(),
        name: format!("{value} places"),
    };
    ConfigOption {
        id: RESULTS.to_owned(),
        name: "Results".to_owned(),
        description: "How many places an answer shows".to_owned(),
        choices: RESULT_CHOICES.into_iter().map(choice).collect(),
        default: DEFAULT_RESULTS.to_string(),
    }
}

/// Returns the number of excerpts that this session shows in an answer.
fn result_limit(cx: &TurnContext) -> usize {
    let chosen = cx.option(RESULTS).and_then(|value| value.parse().ok());
    chosen.unwrap_or(DEFAULT_RESULTS)
}
