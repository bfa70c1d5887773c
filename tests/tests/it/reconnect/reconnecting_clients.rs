//! Several clients on one session, each losing its connection repeatedly and taking control from the others:
//! the lines that each received in the end equal the journal.

use std::{sync::Arc, time::Duration};

use harn_acp::{Dialect, Profile, ProfileChoice, UpdateProjector};
use harn_journal::{JsonlStore, Store};
use harn_model::{ContentBlock, Seq, StopReason, ToolKind};
use harn_runtime::{AgentError, NewSession, ToolOutput, TurnContext};
use harn_testkit::{ScriptedAgent, TestHub};
use tokio::{sync::Mutex, time::sleep};

use crate::{
    reconnect::{
        client::{Chance, Client, random_below},
        run_with_paused_clock,
    },
    support_stress::Dice,
};

const PROFILES: [(ProfileChoice, Profile); 3] = [
    (ProfileChoice::Harn, Profile::Harn),
    (ProfileChoice::Meta, Profile::Meta),
    (ProfileChoice::Acp, Profile::Acp),
];
const CLIENTS: usize = 6;
const TURNS: usize = 4;
const BREAKS: usize = 12;

/// Sends text, runs tools and asks, with pauses.
async fn work(cx: TurnContext, chance: Chance) -> Result<StopReason, AgentError> {
    for step in 0..60 {
        let pause = random_below(&chance, 8).await as u64;
        sleep(Duration::from_millis(pause)).await;
        match random_below(&chance, 8).await {
            0 => {
                let write = cx.tool("write_file").kind(ToolKind::Edit);
                let write = write.title("Write").path(format!("notes-{step}.txt"));
                match write.ask().await {
                    Ok(write) => write.complete(ToolOutput::default()).await?,
                    Err(AgentError::Denied { .. }) => {}
                    Err(other) => return Err(other),
                }
            }
            1 => cx.think("So.").await?,
            _ => {
                let length = 1 + random_below(&chance, 400).await;
                cx.say("x".repeat(length)).await?;
            }
        }
    }
    Ok(StopReason::EndTurn)
}

async fn check_reconnecting_clients() {
    let chance: Chance = Arc::new(Mutex::new(Dice::new()));
    let agents = chance.clone();
    let agent = ScriptedAgent::new(move |cx| work(cx, agents.clone()));
    let test = TestHub::builder(agent)
        // A small ring, so that a client that falls behind reads the journal.
        .config(|config| config.ring_bytes = 8 * 1024)
        .build();
    let new = NewSession {
        cwd: test.workspace(),
        additional_directories: Vec::new(),
    };
    let session = test.hub().create(new).await.unwrap();
    let id = session.id().clone();
    let mut clients = Vec::new();
    for place in 0..CLIENTS {
        let (choice, profile) = PROFILES[place % PROFILES.len()];
        let mut client = Client::new(
            test.hub(),
            &id,
            test.workspace(),
            choice,
            format!("client {place}"),
            &chance,
        );
        clients.push(tokio::spawn(async move {
            client.reconnect_repeatedly(BREAKS).await;
            (profile, client)
        }));
    }
    for turn in 0..TURNS {
        let text = vec![
            ContentBlock::text(format!("Turn {turn}")),
            ContentBlock::text("Go on"),
        ];
        session.prompt(text, |_| ()).await.unwrap();
        let pause = random_below(&chance, 2000).await as u64;
        sleep(Duration::from_millis(pause)).await;
    }
    let mut ended = Vec::new();
    for client in clients {
        ended.push(client.await.unwrap());
    }
    // The events of disconnected clients must be in the journal, too.
    while session.cancel_target().is_some() || !session.clients().is_empty() {
        sleep(Duration::from_secs(60)).await;
    }
    let (_, events) = JsonlStore::new(test.state_dir()).read(&id).unwrap();
    let (mut again, mut takeovers) = (0, 0);
    for (profile, mut client) in ended {
        client.complete().await;
        let dialect = Dialect::from(profile).with_event_ids();
        let projector = UpdateProjector::with_past(&id, dialect, Seq::ZERO);
        let mut told = Vec::new();
        events
            .iter()
            .for_each(|event| projector.write(event, &mut told));
        let told = String::from_utf8(told).unwrap();
        let got = &client.got;
        let lines = got.lines.iter().map(|(_, line)| line.as_str());
        let (told, lines): (Vec<_>, Vec<_>) = (told.lines().collect(), lines.collect());
        for (at, (told, got)) in told.iter().zip(&lines).enumerate() {
            assert_eq!(told, got, "{profile:?}: line {}", at + 1);
        }
        assert_eq!(told.len(), lines.len(), "{profile:?}");
        assert!(
            lines.len() > TURNS * 40,
            "{profile:?}: {} lines",
            lines.len()
        );
        assert!(got.connections + got.streams > BREAKS / 2);
        again += got.asked_again;
        takeovers += got.takeovers;
    }
    assert!(takeovers > 0, "nobody took control");
    assert!(again > 0, "no question was ever put again");
}

#[test]
fn every_client_receives_the_lines_of_the_journal() {
    for _ in 0..5 {
        run_with_paused_clock(check_reconnecting_clients());
    }
}
