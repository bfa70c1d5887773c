//! An agent that asks questions in waves, itself or through workers, and records the calls that ran.

use std::sync::{Arc, Mutex};

use futures::future::{BoxFuture, join_all};
use harn_model::StopReason;
use harn_runtime::{AgentError, TurnContext};
use harn_testkit::ScriptedAgent;
use serde_json::{Value, json};

use crate::broker::case::Question;

/// The calls that ran: the number of the question and the arguments.
pub(crate) type Ran = Arc<Mutex<Vec<(usize, Value)>>>;

/// Returns an agent that asks these questions.
pub(crate) fn agent_that_asks(questions: &[Question], ran: &Ran) -> ScriptedAgent {
    let questions: Arc<[Question]> = questions.into();
    let ran = ran.clone();
    ScriptedAgent::new(move |cx| {
        let (questions, ran) = (questions.clone(), ran.clone());
        async move {
            let prompt = cx.prompt_text();
            // The prompt of a worker has the number of its question and how many workers follow below it.
            if let Some((number, depth)) = prompt.split_once(' ') {
                let (number, depth) = (number.parse().unwrap(), depth.parse().unwrap());
                ask(&cx, &ran, number, depth).await?;
                return Ok(StopReason::EndTurn);
            }
            let last = questions.iter().map(|question| question.wave).max();
            for wave in 0..=last.unwrap_or_default() {
                let all = questions.iter().enumerate();
                let of_wave = all.filter(|(_, question)| question.wave == wave);
                let asked =
                    of_wave.map(|(number, question)| ask(&cx, &ran, number, question.depth));
                for answered in join_all(asked).await {
                    answered?;
                }
            }
            Ok(StopReason::EndTurn)
        }
    })
}

fn ask<'a>(
    cx: &'a TurnContext,
    ran: &'a Ran,
    number: usize,
    depth: usize,
) -> BoxFuture<'a, Result<(), AgentError>> {
    Box::pin(async move {
        if depth > 0 {
            let worker = cx.worker(format!("w{number}-{depth}"));
            let worker = worker.task(format!("{number} {}", depth - 1));
            worker.start().await?.wait_until_finished().await;
            return Ok(());
        }
        let tool = cx.tool(format!("act-{number}"));
        let tool = tool.title(title(number)).input(json!({"number": number}));
        match tool.start().await {
            Ok(call) => {
                ran.lock().unwrap().push((number, call.input().clone()));
                call.complete(()).await
            }
            Err(AgentError::Denied { .. }) => Ok(()),
            Err(other) => Err(other),
        }
    })
}

/// Returns the title by which a question is recognised on the wire.
pub(crate) fn title(number: usize) -> String {
    format!("question {number}")
}
