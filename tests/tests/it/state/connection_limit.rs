//! More connections than the limit: further ones are rejected with a message and create nothing, the accepted
//! ones are served, and when some close others are accepted.

use anyhow::{Context, Result, ensure};
use harn_tests::Page;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::{Value, json};
use tokio::{net::TcpStream, task::JoinSet};

use crate::{state::server::Place, support_stress::in_time};

/// The connections that the server accepts from one principal; a quarter of the total is reserved for others.
const MOST: usize = 1024 - 1024 / 4;
const BEYOND: usize = 40;
/// How many connect at a time.
const AT_ONCE: usize = 32;

#[tokio::test]
async fn connections_beyond_the_limit_are_rejected_with_a_message() -> Result<()> {
    raise_open_files()?;
    let place = Place::new(json!([{"steps": [{"say": "yes"}]}]))?;
    let server = place.start().await?;
    let mut driver = server.page(None).await?;
    let session = driver.session().to_owned();
    let path = format!("/ws?session={session}");
    let mut pages: Vec<Page<TcpStream>> = Vec::new();
    while pages.len() + 1 < MOST {
        let some = AT_ONCE.min(MOST - 1 - pages.len());
        let mut knocking = JoinSet::new();
        for _ in 0..some {
            let (stream, request) = (server.connect().await?, server.request(&path)?);
            knocking.spawn(Page::open(stream, request));
        }
        while let Some(page) = in_time("the crowd", knocking.join_next()).await? {
            pages.push(page??);
        }
    }

    for at in 0..BEYOND {
        // A rejected new session is not created.
        let path = if at % 2 == 0 {
            "/ws?session=new"
        } else {
            &path
        };
        let (status, words) = server.request_rejection(path).await?;
        ensure!(status == 503, "{status}: {words}");
        ensure!(words.contains("too many connections"), "{words}");
    }
    driver.submit("Are you there?").await?;
    let answered = |it: &Value| it["messages"][1]["content"] == "yes" && it["status"] == "idle";
    in_time("the answer", driver.read_until(answered)).await??;
    for page in &mut pages {
        in_time("what all are told", page.read_until(answered)).await??;
    }

    for page in pages.drain(..8) {
        page.leave().await;
    }
    // The server frees the connection a moment after the close frame.
    let mut came = Vec::new();
    while came.len() < 8 {
        let knock = Page::open(server.connect().await?, server.request(&path)?);
        if let Ok(page) = in_time("a place", knock).await? {
            came.push(page);
        }
    }
    drop((pages, came));
    let threads = place.journal(&session);
    let threads = threads.ancestors().nth(2).context("no folder")?;
    let made = std::fs::read_dir(threads)?.count();
    ensure!(made == 1, "{made} sessions were made");
    driver.leave().await;
    server.end().await
}

/// Each socket is an open file of this process, too.
fn raise_open_files() -> Result<()> {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let wanted = MOST as u64 * 2;
    ensure!(maximum.is_none_or(|most| most >= wanted), "raise ulimit -n");
    let current = Some(maximum.map_or(wanted, |most| most.min(65_536)));
    setrlimit(Resource::Nofile, Rlimit { current, maximum })?;
    Ok(())
}
