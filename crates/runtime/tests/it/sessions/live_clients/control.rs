//! Control of a session: who has it, who is rejected, and which author a prompt is recorded with.

use std::sync::Arc;

use harn_model::{LiveAuthor, SessionId, StopReason};
use harn_runtime::{
    AttachClient, CommandExit, CommandSink, CommandSpec, DriverAction, HostError, HostOffers,
    HostPort, RootedPath, SessionFilter, async_trait,
};
use serde_json::{Value, json};

use super::*;
use crate::sessions::steering::{STEER, Stage, person};

#[tokio::test]
async fn opening_connection_has_control_while_it_is_free() {
    let stage = Stage::new().await;
    let session = &stage.session;
    let first = connect_with_claim(session, "zed-1");
    let second = connect_with_claim(session, "zed-2");
    let looks = connect_without_claim(session, "tab-3");
    assert_eq!(session.epoch(), 1);
    assert_eq!(prompt_refusal(&first), None);
    assert_eq!(prompt_refusal(&second), error_controlled_by("zed-1"));
    assert_eq!(prompt_refusal(&looks), error_controlled_by("zed-1"));
    assert!(first.has_control() && !second.has_control());
    // Implicit control writes no event and lists no client.
    assert_eq!(
        (session.last_seq(), session.clients()),
        (Seq::ZERO, Vec::new())
    );
    first.leave().await;
    assert_eq!(session.live_state().controller, None);
    let nobody = Some(NotInControl::NotController { controller: None });
    assert_eq!(prompt_refusal(&looks), nobody);
    // The second connection gets control with its next action.
    assert_eq!(prompt_refusal(&second), None);
    assert_eq!(session.live_state().controller.unwrap().client_id, "zed-2");
    assert_eq!(session.epoch(), 3);
}

#[tokio::test]
async fn attach_keeps_or_releases_the_implicit_control() {
    let stage = Stage::new().await;
    let session = &stage.session;
    let desk = connect_with_claim(session, "zed-1");
    let other = connect_with_claim(session, "zed-2");
    desk.attach(AttachClient::controller("desk")).await.unwrap();
    assert_eq!(prompt_refusal(&desk), None);
    assert_eq!(prompt_refusal(&other), error_controlled_by("desk"));
    desk.attach(AttachClient::observer("desk")).await.unwrap();
    // This client chose a mode; only the other connection still has its claim from opening the session.
    let nobody = Some(NotInControl::NotController { controller: None });
    assert_eq!(prompt_refusal(&desk), nobody);
    assert_eq!(prompt_refusal(&other), None);
    // After its client detached and the other connection left, a new claim gives control again.
    desk.detach("desk", "client_detached", Value::Null)
        .await
        .unwrap();
    other.leave().await;
    assert_eq!(prompt_refusal(&desk), no_controller());
    desk.claim();
    assert_eq!(prompt_refusal(&desk), None);
}

fn no_controller() -> Option<NotInControl> {
    Some(NotInControl::NotController { controller: None })
}

#[tokio::test]
async fn prompts_and_messages_have_their_author() {
    let mut stage = Stage::new().await;
    let desk = connect_with_claim(&stage.session, "zed-1");
    say(&desk, "nameless").await;
    stage.next_call().await.finish();
    let client = AttachClient {
        metadata: Some(json!({"surface": "tui"})),
        ..AttachClient::controller("tui")
    };
    desk.attach(client).await.unwrap();
    say(&desk, "named").await;
    let leg = stage.next_call().await;
    let driver = desk.drive(DriverAction::Speak, Some("tui")).unwrap();
    let more = vec![ContentBlock::text("more")];
    driver
        .inject(STEER, more, person("tui"), |_| ())
        .await
        .unwrap();
    assert_eq!(leg.pass_seam(harn_model::Seam::TurnStart).await, ["more"]);
    leg.finish();
    let author = LiveAuthor::controller("tui", json!({"surface": "tui"}));
    assert_eq!(
        authors(&stage.session).await,
        [
            ("nameless".to_owned(), None),
            ("named".to_owned(), Some(author.clone())),
            ("more".to_owned(), Some(author)),
        ]
    );
}

#[tokio::test]
async fn controller_can_turn_off_prompts_or_answers() {
    let stage = Stage::new().await;
    let seat = connect_without_claim(&stage.session, "broker-1");
    let quiet = AttachClient {
        prompt_injection: Some(false),
        ..AttachClient::controller("quiet")
    };
    seat.attach(quiet).await.unwrap();
    let controller = "quiet".to_owned();
    let off = NotInControl::PromptInjectionOff { controller };
    assert_eq!(seat.drive(DriverAction::Speak, None).err(), Some(off));
    assert!(seat.drive(DriverAction::Steer, None).is_ok());
    assert!(seat.drive(DriverAction::Answer, None).is_ok());
    assert!(seat.answering_term().0.is_some());
    let deaf = AttachClient {
        permission_routing: Some(false),
        ..AttachClient::controller("quiet")
    };
    seat.attach(deaf).await.unwrap();
    let controller = "quiet".to_owned();
    let off = NotInControl::PermissionRoutingOff { controller };
    assert_eq!(seat.drive(DriverAction::Answer, None).err(), Some(off));
    assert!(seat.drive(DriverAction::Speak, None).is_ok());
    assert_eq!(seat.answering_term().0, None);
    // Another client of the same connection, which only observes.
    seat.attach(AttachClient::observer("looks")).await.unwrap();
    let refused = seat.drive(DriverAction::Steer, Some("looks")).err();
    assert_eq!(refused, error_controlled_by("quiet"));
    // A name that is not attached is only a label.
    assert!(seat.drive(DriverAction::Steer, Some("ann")).is_ok());
}

/// A host whose tools return its name.
struct Named(&'static str);

#[async_trait]
impl HostPort for Named {
    fn offers(&self) -> HostOffers {
        HostOffers {
            tools: true,
            ..HostOffers::default()
        }
    }

    async fn read_text(&self, _: &SessionId, _: &RootedPath) -> Result<String, HostError> {
        Err(HostError::Unsupported("files"))
    }

    async fn write_text(&self, _: &SessionId, _: &RootedPath, _: &str) -> Result<(), HostError> {
        Err(HostError::Unsupported("files"))
    }

    async fn run(
        &self,
        _: &SessionId,
        _: CommandSpec,
        _: &mut dyn CommandSink,
    ) -> Result<CommandExit, HostError> {
        Err(HostError::Unsupported("commands"))
    }

    async fn call_tool(&self, _: &SessionId, _: &str, _: Value) -> Result<Value, HostError> {
        Ok(json!(self.0))
    }
}

#[tokio::test]
async fn host_offers_follow_the_controller_during_a_turn() {
    let mut stage = Stage::new().await;
    let session = stage.session.clone();
    let first = session.take_seat("one-1", Arc::new(Named("one")), SeatClaim::IfFree);
    let second = session.take_seat("two-2", Arc::new(Named("two")), SeatClaim::Never);
    say(&first, "go").await;
    let leg = stage.next_call().await;
    assert!(leg.cx.host().client_offers().tools);
    second.attach(AttachClient::takeover("two")).await.unwrap();
    assert!(leg.cx.host().client_offers().tools);
    second.leave().await;
    assert!(!leg.cx.host().client_offers().tools);
    leg.finish_with(Ok(StopReason::EndTurn));
}

#[tokio::test]
async fn listing_has_the_live_state_and_the_controller() {
    let mut stage = Stage::new().await;
    let closed = stage.world.session(&stage.hub).await;
    stage.hub.close(closed.id()).await;
    let seat = connect_with_claim(&stage.session, "zed-1");
    seat.attach(AttachClient::controller("desk")).await.unwrap();
    let (_, leg) = stage.start_turn().await;
    let listed = |live| {
        let filter = SessionFilter {
            live,
            ..SessionFilter::default()
        };
        let hub = stage.hub.clone();
        async move { hub.list(filter, None).await.unwrap().sessions }
    };
    assert_eq!(listed(None).await.len(), 2);
    let live = listed(Some(true)).await;
    assert_eq!(live.len(), 1);
    let state = live[0].live.clone().unwrap();
    assert_eq!(state, stage.session.live_state());
    assert_eq!(state.controller.unwrap().client_id, "desk");
    assert!(state.active_prompt);
    assert_eq!(
        (state.clients, state.last_event),
        (1, stage.session.last_seq())
    );
    let stored = listed(Some(false)).await;
    assert_eq!(stored[0].summary.meta.thread_id, *closed.id());
    assert_eq!((stored.len(), &stored[0].live), (1, &None));
    assert_eq!(stage.hub.live_sessions().len(), 1);
    leg.finish();
}
