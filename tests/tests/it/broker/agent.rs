//! The agent that asks: waves of questions, itself or through workers. It notes what it did.

use std::sync::{Arc, Mutex};

use futures::future::{BoxFuture, join_all};
use harn_model::StopReason;
use harn_runtime::{AgentError, TurnContext};
use harn_testkit::ScriptedAgent;
use serde_json::{Value, json};

use crate::broker::case::Question;

/// The calls that ran: which question, and with what arguments.
pub(crate) type Ran = Arc<Mutex<Vec<(usize, Value)>>>;

/// An agent that asks these.
pub(crate) fn asking(questions: &[Question], ran: &Ran) -> ScriptedAgent {
    let questions: Arc<[Question]> = questions.into();
    let ran = ran.clone();
    ScriptedAgent::new(move |cx| {
        let (questions, ran) = (questions.clone(), ran.clone());
        async move {
            let prompt = cx.prompt_text();
            // A worker is told which question is its, and how many workers are still to be between.
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
            worker.start().await?.finished().await;
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

/// How a question is told from the others on the wire.
pub(crate) fn title(number: usize) -> String {
    format!("question {number}")
}
