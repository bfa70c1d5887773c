//! A principal sees only its own sessions; those of others are not found.

use harn_model::{Principal, StopReason};
use harn_runtime::{SessionError, SessionFilter};

use super::*;

#[tokio::test]
async fn sessions_of_other_principals_are_not_found() {
    let world = World::new();
    let hub = world.hub(agent(async |_| Ok(StopReason::EndTurn)));
    let ann = hub.for_principal(Principal::new("ann"));
    let own = world.session(&hub).await;
    let hers = world.session(&ann).await;
    assert_eq!(own.meta().principal, None);
    assert_eq!(hers.meta().principal.as_deref(), Some("ann"));
    let sees = async |hub: &harn_runtime::Hub| {
        let page = hub.list(SessionFilter::default(), None).await.unwrap();
        let ids = page.sessions.into_iter();
        ids.map(|s| s.summary.meta.thread_id).collect::<Vec<_>>()
    };
    for (who, mine, theirs) in [(&hub, &own, &hers), (&ann, &hers, &own)] {
        assert_eq!(sees(who).await, [mine.id().clone()]);
        assert_eq!(who.live_sessions().len(), 1);
        assert!(who.live_session(theirs.id()).is_none());
        let unknown = |error: SessionError| {
            assert!(matches!(error, SessionError::NotFound(_)), "{error}");
        };
        unknown(who.open(theirs.id(), None).await.err().unwrap());
        let fork = who.fork(theirs.id(), world.new_session()).await;
        unknown(fork.err().unwrap());
        unknown(who.delete(theirs.id()).await.err().unwrap());
        who.close(theirs.id()).await;
    }
    assert!(hub.live_session(own.id()).is_some() && ann.live_session(hers.id()).is_some());
    // Closed sessions are hidden too.
    hub.close(own.id()).await;
    ann.close(hers.id()).await;
    for (who, mine, theirs) in [(&hub, &own, &hers), (&ann, &hers, &own)] {
        let error = who.open(theirs.id(), None).await.err().unwrap();
        assert!(matches!(error, SessionError::NotFound(_)));
        who.open(mine.id(), None).await.unwrap();
        assert!(who.fork(theirs.id(), world.new_session()).await.is_err());
        let fork = who.fork(mine.id(), world.new_session()).await.unwrap();
        assert_eq!(fork.meta().principal, mine.meta().principal);
    }
    ann.delete(hers.id()).await.unwrap();
    assert_eq!(sees(&ann).await.len(), 1);
}
