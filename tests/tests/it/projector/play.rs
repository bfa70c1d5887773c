//! Plays random turns: an agent that follows a script, a controller that steers it, and equipment that changes.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, OnceLock},
};

use harn_model::{Actor, ContentBlock, MessageId, StopReason, SystemReminder};
use harn_runtime::{AgentError, Controller, EquipmentChange, Question, TurnContext};
use harn_testkit::{FakeEquip, ScriptedAgent, TestHub};
use harn_tests::Audience;
use serde_json::Value;

use crate::projector::strategy::{Act, Ending, Turn, Wish};

type Script = Arc<Mutex<VecDeque<Turn>>>;

/// The controller of the session, and the messages it sent.
#[derive(Default)]
struct Steering {
    session: OnceLock<Controller>,
    said: Mutex<Vec<MessageId>>,
    equip: FakeEquip,
}

impl Steering {
    async fn equip(&self, change: EquipmentChange) {
        let session = self.session.get().unwrap();
        self.equip.send_change(session.id(), change).await;
    }

    async fn act_as_controller(&self, wish: Wish) {
        let session = self.session.get().unwrap();
        let actor = || Actor {
            client_id: "host".to_owned(),
            role: "host_owner".to_owned(),
            source: "test".to_owned(),
        };
        let said = |at: usize| self.said.lock().unwrap().get(at).cloned();
        let text = |text: &str| vec![ContentBlock::text(text)];
        // Rejected requests produce events too and do not stop the turn.
        match wish {
            Wish::Say(mode) => {
                let named = |id: &MessageId| self.said.lock().unwrap().push(id.clone());
                let _ = session.inject(mode, text(MORE), actor(), named).await;
            }
            Wish::Unsay(at) => {
                let id = said(at).unwrap_or_else(|| "none".into());
                let _ = session.revoke_inject(id, actor()).await;
            }
            Wish::Reword(at) => {
                let id = said(at).unwrap_or_else(|| "none".into());
                let _ = session.replace_inject(id, Ok(text(MORE)), actor()).await;
            }
            Wish::Remind(mode, keyed, turns) => {
                let reminder = SystemReminder {
                    dedupe_key: keyed.then(|| "key".to_owned()),
                    ttl_turns: Some(turns),
                    ..SystemReminder::new("", "keep it in mind")
                };
                let _ = session.remind(mode, reminder, actor()).await;
            }
        }
    }
}

/// The text of messages during a turn, and so the prompt of a turn for a queued message.
const MORE: &str = "more";

async fn act(
    script: &Script,
    steering: &Steering,
    cx: &TurnContext,
) -> Result<StopReason, AgentError> {
    if cx.prompt_text() == MORE {
        return Ok(StopReason::EndTurn);
    }
    let turn = script.lock().unwrap().pop_front().unwrap();
    for act in turn.acts {
        let done = match act {
            Act::Report(event) => cx.emit(event).await,
            Act::Ask(question, false) => cx.ask(question).await.map(drop),
            Act::Ask(question, true) => ask_through_worker(cx, question).await,
            Act::Want(wish) => {
                steering.act_as_controller(wish).await;
                Ok(())
            }
            Act::Pass(seam) => cx.seam(seam).await.map(drop),
            Act::Equip(change) => {
                steering.equip(change).await;
                Ok(())
            }
        };
        match done {
            // The turn may be over already; some events are rejected, which has the effect of never reporting
            // them.
            Ok(()) | Err(AgentError::Cancelled | AgentError::Failed(_)) => {}
            Err(error) => return Err(error),
        }
    }
    match turn.ending {
        Ending::Stop | Ending::CancelAtOnce => Ok(StopReason::EndTurn),
        Ending::Fail => Err(AgentError::Failed("it did not work".to_owned())),
        Ending::Hang => {
            cx.cancelled().await;
            Ok(StopReason::EndTurn)
        }
        Ending::HangForever => std::future::pending().await,
    }
}

/// Lets a worker ask, and waits until it is done.
async fn ask_through_worker(cx: &TurnContext, question: Question) -> Result<(), AgentError> {
    let asker = ScriptedAgent::new(move |cx| {
        let question = question.clone();
        async move { cx.ask(question).await.map(|_| StopReason::EndTurn) }
    });
    let worker = cx.worker("tester").task("look").agent(Arc::new(asker));
    worker.start().await?.wait_until_finished().await;
    Ok(())
}

/// Plays the turns for clients with these capabilities.
pub(crate) async fn play(turns: Vec<Turn>, wishes: &Value) -> Audience {
    let script: Script = Arc::new(Mutex::new(turns.iter().cloned().collect()));
    let steering = Arc::new(Steering::default());
    let steers = steering.clone();
    let agent = ScriptedAgent::new(move |cx| {
        let (script, steering) = (script.clone(), steers.clone());
        async move { act(&script, &steering, &cx).await }
    });
    let equip = Arc::new(steering.equip.clone());
    let test = TestHub::builder(agent)
        .config(move |config| config.equip = equip.clone())
        .build();
    let mut audience = Audience::open_with(test, wishes).await;
    let (test, session) = audience.session();
    let session = test.hub().open(&session.into(), None).await.unwrap();
    let _ = steering.session.set(session);
    for turn in turns {
        let at_once = turn.ending == Ending::CancelAtOnce;
        let answer = audience.play("go", at_once).await;
        let failed = turn.ending == Ending::Fail;
        assert_eq!(answer.is_err(), failed, "{answer:?}");
        if at_once {
            // The agent may not have been started; its script would then be played by the next turn.
            break;
        }
    }
    audience
}
