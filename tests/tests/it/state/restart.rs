//! A plain `/ws` on the real server: the conversation is there after a restart, whatever other clients did.

use anyhow::{Result, ensure};
use serde_json::json;

use crate::{state::server::Place, support_stress::in_time};

#[tokio::test]
async fn plain_client_finds_its_conversation_after_a_restart() -> Result<()> {
    let place = Place::new(json!([{"steps": [{"say": "yes"}]}]))?;
    let server = place.start().await?;
    let mut page = server.page_at("/ws").await?;
    let session = page.session().to_owned();
    page.submit("Are you there?").await?;
    let answered =
        page.read_until(|it| it["status"] == "idle" && it["messages"][1]["content"] == "yes");
    in_time("the answer", answered).await??;
    let shown = page.state()["messages"].clone();
    // Another session does not replace this one.
    let other = server.page_at("/ws?session=new").await?;
    ensure!(other.session() != session, "a new session was asked for");
    other.leave().await;
    page.leave().await;
    server.kill().await?;

    let server = place.start().await?;
    let page = server.page_at("/ws").await?;
    ensure!(page.session() == session, "another session came");
    ensure!(page.state()["messages"] == shown, "{}", page.state());
    // While the session is open in the first server, a second server creates another one, which does not
    // replace it for the first.
    let second = place.start().await?;
    let beside = second.page_at("/ws").await?;
    ensure!(beside.session() != session, "two servers have one session");
    beside.leave().await;
    page.leave().await;
    let page = server.page_at("/ws").await?;
    ensure!(
        page.session() == session,
        "it was lost to the second server"
    );
    page.leave().await;
    second.end().await?;
    server.end().await
}
