//! Skills of a host, ranking by a host, and hosts that fail at either.

use std::sync::{Arc, Mutex};

use harn_model::{HostSkill, SessionId, SkillCandidate, SkillMatchRequest, SkillRef, SkillToMatch};
use harn_runtime::{
    CommandExit, CommandSink, CommandSpec, HostError, HostOffers, HostPort, RootedPath, async_trait,
};
use harn_tools::skills::{SkillMatchStrategy, SkillMatching};
use serde_json::{Value, json};

use crate::skills::support::{Act, Disk, Rig};

#[derive(Default)]
struct FakeHost {
    listed: Mutex<Vec<SkillRef>>,
    matches: Vec<SkillCandidate>,
    broken: bool,
    refuses_to_rank: bool,
    silent: bool,
    asked: Mutex<Vec<String>>,
    /// The candidates of the last ranking request.
    candidates: Mutex<Vec<SkillToMatch>>,
    /// Whether a fetch never returns.
    fetches_nothing: bool,
}

impl FakeHost {
    fn with(ids: &[&str]) -> Self {
        let host = Self::default();
        host.set_listed(ids);
        host
    }

    fn set_listed(&self, ids: &[&str]) {
        let listed = ids.iter().map(|id| SkillRef {
            id: (*id).to_owned(),
            name: id.rsplit('/').next().unwrap().to_owned(),
            description: format!("From afar: {id}"),
            source: "host".to_owned(),
            when_to_use: None,
            paths: None,
        });
        *self.listed.lock().unwrap() = listed.collect();
    }

    async fn record_request(&self, what: String) -> Result<(), HostError> {
        self.asked.lock().unwrap().push(what);
        if self.silent {
            std::future::pending::<()>().await;
        }
        match self.broken {
            true => Err(HostError::Host("no such method".to_owned())),
            false => Ok(()),
        }
    }

    fn take_requests(&self) -> Vec<String> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }
}

#[async_trait]
impl HostPort for FakeHost {
    fn offers(&self) -> HostOffers {
        HostOffers {
            tools: true,
            ..HostOffers::default()
        }
    }

    async fn read_text(&self, _: &SessionId, _: &RootedPath) -> Result<String, HostError> {
        Err(HostError::Unsupported("reading files"))
    }

    async fn write_text(&self, _: &SessionId, _: &RootedPath, _: &str) -> Result<(), HostError> {
        Err(HostError::Unsupported("writing files"))
    }

    async fn run(
        &self,
        _: &SessionId,
        _: CommandSpec,
        _: &mut dyn CommandSink,
    ) -> Result<CommandExit, HostError> {
        Err(HostError::Unsupported("running commands"))
    }

    async fn call_tool(&self, _: &SessionId, _: &str, _: Value) -> Result<Value, HostError> {
        Err(HostError::Unsupported("tools"))
    }

    async fn list_skills(&self, _: &SessionId) -> Result<Vec<SkillRef>, HostError> {
        self.record_request("list".to_owned()).await?;
        Ok(self.listed.lock().unwrap().clone())
    }

    async fn fetch_skill(&self, _: &SessionId, id: &str) -> Result<HostSkill, HostError> {
        self.record_request(format!("fetch {id}")).await?;
        if self.fetches_nothing {
            std::future::pending::<()>().await;
        }
        let manifest = match id {
            "closed" => json!({"disable_model_invocation": true}),
            "odd" => json!({"paths": 1}),
            "acme/ship" => json!({"when_to_use": "To ship", "paths": ["infra/**"]}),
            _ => json!({"allowed-tools": ["git"]}),
        };
        Ok(HostSkill {
            name: id.rsplit('/').next().unwrap().to_owned(),
            description: format!("From afar: {id}"),
            body: format!("Body of {id}: $1 ${{HARN_SKILL_DIR}}"),
            manifest: manifest.as_object().unwrap().clone(),
        })
    }

    async fn match_skills(
        &self,
        _: &SessionId,
        request: SkillMatchRequest,
    ) -> Result<Vec<SkillCandidate>, HostError> {
        self.candidates
            .lock()
            .unwrap()
            .clone_from(&request.candidates);
        let names: Vec<_> = request.candidates.iter().map(|one| &*one.name).collect();
        let what = format!(
            "match {} {:?} {}",
            request.strategy,
            request.prompt,
            names.join(" ")
        );
        self.record_request(what).await?;
        match self.refuses_to_rank {
            true => Err(HostError::Denied("no".to_owned())),
            false => Ok(self.matches.clone()),
        }
    }
}

async fn rig(host: FakeHost, strategy: SkillMatchStrategy) -> (Rig, Arc<FakeHost>) {
    let disk = Disk::new();
    disk.write_skill("home/ws/.harn/skills/local", "description: here\n");
    let matching = SkillMatching {
        strategy,
        ..SkillMatching::default()
    };
    let rig = Rig::with(disk, matching, false).await;
    let host = Arc::new(host);
    rig.session.set_host(host.clone());
    (rig, host)
}

fn candidate(name: &str, score: f64) -> SkillCandidate {
    SkillCandidate {
        name: name.to_owned(),
        score,
        reason: "host match".to_owned(),
    }
}

fn commands(rig: &Rig) -> Vec<String> {
    let commands = rig.skills().commands();
    commands.into_iter().map(|command| command.name).collect()
}

#[tokio::test]
async fn host_skills_are_the_weakest_layer_and_fetched_on_use() {
    let host = FakeHost::with(&["acme/ops/review", "local"]);
    let (mut rig, host) = rig(host, SkillMatchStrategy::Metadata).await;
    assert_eq!(
        rig.run_turn("x", vec![Act::Iterate]).await,
        ["0: matched by metadata: []"]
    );
    assert_eq!(host.take_requests(), ["list"]);
    assert_eq!(commands(&rig), ["acme:ops:review", "local"]);
    let shadowed = rig.skills().registry().shadowed().to_vec();
    assert_eq!(shadowed.len(), 1);
    assert_eq!(shadowed[0].id, "local");

    assert_eq!(
        rig.run_turn("/acme:ops:review now", vec![Act::SayPrompt])
            .await,
        [
            "0: + review = acme/ops/review (the user typed /acme:ops:review)",
            "scope review = acme/ops/review: git",
            "says \"Body of acme/ops/review: now ${HARN_SKILL_DIR}\"",
        ]
    );
    assert_eq!(host.take_requests(), ["fetch acme/ops/review"]);
}

#[tokio::test]
async fn update_notification_requests_the_list_again() {
    let (mut rig, host) = rig(FakeHost::with(&["one"]), SkillMatchStrategy::Metadata).await;
    rig.run_turn("x", vec![]).await;
    host.set_listed(&["two"]);
    rig.run_turn("x", vec![]).await;
    assert_eq!(host.take_requests(), ["list"]);
    assert_eq!(commands(&rig), ["local", "one"]);

    rig.session.notify_skills_updated();
    rig.session.notify_skills_updated();
    rig.run_turn("x", vec![Act::Iterate]).await;
    assert_eq!(host.take_requests(), ["list"]);
    assert_eq!(commands(&rig), ["local", "two"]);
}

#[tokio::test]
async fn failed_host_list_leaves_the_other_skills() {
    let host = FakeHost {
        broken: true,
        ..FakeHost::default()
    };
    let (mut rig, host) = rig(host, SkillMatchStrategy::Metadata).await;
    let told = rig.run_turn("x", vec![]).await;
    assert_eq!(
        told,
        [
            "warn: agent.skills: the host's skills are left out: the host answered: no such method",
            "0: matched by metadata: []",
        ]
    );
    // The warning is logged once, and the list is not requested at each turn.
    assert_eq!(rig.run_turn("x", vec![]).await.len(), 1);
    assert_eq!(host.take_requests(), ["list"]);
    assert_eq!(commands(&rig), ["local"]);
}

#[tokio::test(start_paused = true)]
async fn silent_host_delays_a_turn_by_its_deadlines() {
    let host = FakeHost {
        silent: true,
        ..FakeHost::default()
    };
    let (mut rig, _) = rig(host, SkillMatchStrategy::Host).await;
    // Two deadlines of five seconds, on a clock that advances by itself.
    let patience = std::time::Duration::from_secs(11);
    let told = tokio::time::timeout(patience, rig.run_turn("here", vec![])).await;
    let told = told.unwrap();
    assert_eq!(
        told[..2],
        [
            "warn: agent.skills: the host's skills are left out: the host did not answer skills/list in time",
            "warn: agent.skill_match: the host did not answer skill/match in time; \
             they are ranked by metadata instead",
        ]
    );
}

#[tokio::test]
async fn invalid_ids_are_not_slash_commands() {
    let (mut rig, _) = rig(
        FakeHost::with(&["two words", ""]),
        SkillMatchStrategy::Metadata,
    )
    .await;
    let told = rig.run_turn("x", vec![Act::Load("two words", "a")]).await;
    assert!(
        told[0].contains("\"two words\" is not a slash command"),
        "{told:?}"
    );
    assert!(told[1].contains("without an id"), "{told:?}");
    // An unusable skill is reported once, however often the host lists it.
    rig.session.notify_skills_updated();
    let again = rig.run_turn("x", vec![]).await;
    assert!(
        !again.iter().any(|line| line.contains("without an id")),
        "{again:?}"
    );
    assert_eq!(commands(&rig), ["local"]);
    assert_eq!(
        told.last().unwrap(),
        "says \"error: the host's skill \\\"two words\\\" is rejected: the name \\\"two words\\\" cannot be a slash \
         command: it contains ' '; use letters, digits, `-`, `_` and `.`, beginning with a letter or \
         digit; or give the skill another name than its folder's\""
    );
}

#[tokio::test]
async fn fetch_reveals_that_a_skill_is_for_people_only() {
    let (mut rig, _) = rig(
        FakeHost::with(&["closed", "odd"]),
        SkillMatchStrategy::Metadata,
    )
    .await;
    let acts = vec![Act::Load("closed", ""), Act::Load("odd", "")];
    let told = rig.run_turn("closed", acts).await;
    // It is the best match, but nothing is activated.
    assert!(
        told[0].starts_with("0: matched by metadata: [closed "),
        "{told:?}"
    );
    assert!(told[1].contains("is for people only"), "{told:?}");
    assert!(told[2].contains("paths must be a list"), "{told:?}");
}

#[tokio::test]
async fn host_can_rank_skills() {
    let mut host = FakeHost::with(&["acme/review"]);
    host.matches = vec![
        candidate("nobody", 9.0),
        candidate("local", f64::NAN),
        candidate("local", -1.0),
        candidate("review", 0.0),
    ];
    let (mut rig, host) = rig(host, SkillMatchStrategy::Embedding).await;
    // A candidate without a usable score may still be chosen; equal scores keep the host's order.
    assert_eq!(
        rig.run_turn("go", vec![]).await,
        [
            "0: matched by embedding: [local 0.00 (host match), acme/review 0.00 (host match)]",
            "0: + local (host match)",
        ]
    );
    assert_eq!(
        host.take_requests(),
        [
            "list",
            "fetch acme/review",
            "match embedding \"go\" review local"
        ]
    );
}

fn skill_to_match(
    name: &str,
    description: &str,
    when_to_use: &str,
    paths: &[&str],
) -> SkillToMatch {
    SkillToMatch {
        name: name.to_owned(),
        description: description.to_owned(),
        when_to_use: when_to_use.to_owned(),
        paths: paths.iter().map(|path| (*path).to_owned()).collect(),
    }
}

#[tokio::test]
async fn host_ranking_request_has_the_listed_or_fetched_fields() {
    // The name of `acme/local` is another skill's id, so its own id is sent as its name.
    let mut host = FakeHost::with(&["acme/listed", "acme/local", "acme/ship", "odd"]);
    host.matches = vec![candidate("ship", 1.0)];
    {
        let mut listed = host.listed.lock().unwrap();
        listed[0].when_to_use = Some("To list".to_owned());
        listed[0].paths = Some(vec!["list/**".to_owned()]);
        // Only half of the fields that a ranking needs.
        listed[2].when_to_use = Some("To ship".to_owned());
    }
    let (mut rig, host) = rig(host, SkillMatchStrategy::Host).await;
    assert_eq!(
        rig.run_turn("go", vec![Act::Deactivate("ship")]).await,
        [
            "0: matched by host: [acme/ship 1.00 (host match)]",
            "0: + ship = acme/ship (host match)",
            "0: - ship = acme/ship",
            "says \"ok\"",
        ]
    );
    assert_eq!(
        *host.candidates.lock().unwrap(),
        [
            skill_to_match("listed", "From afar: acme/listed", "To list", &["list/**"]),
            skill_to_match("acme/local", "From afar: acme/local", "", &[]),
            skill_to_match("ship", "From afar: acme/ship", "To ship", &["infra/**"]),
            skill_to_match("local", "here", "", &[]),
            skill_to_match("odd", "From afar: odd", "", &[]),
        ]
    );
    // Fields in the list are not fetched, and nothing is fetched twice.
    assert_eq!(
        host.take_requests(),
        [
            "list",
            "fetch acme/local",
            "fetch acme/ship",
            "fetch odd",
            "match host \"go\" listed acme/local ship local odd",
        ]
    );
    rig.run_turn("again", vec![]).await;
    assert_eq!(
        host.take_requests(),
        ["match host \"again\" listed acme/local ship local odd"]
    );
}

#[tokio::test(start_paused = true)]
async fn missing_cards_delay_one_turn_by_one_deadline() {
    let host = FakeHost {
        fetches_nothing: true,
        ..FakeHost::with(&["one", "two"])
    };
    let (mut rig, host) = rig(host, SkillMatchStrategy::Host).await;
    // One deadline of five seconds, on a clock that advances by itself.
    let patience = std::time::Duration::from_secs(6);
    let played = tokio::time::timeout(patience, rig.run_turn("go", vec![])).await;
    played.unwrap();
    assert_eq!(
        host.take_requests(),
        ["list", "fetch one", "match host \"go\" local one two"]
    );
    rig.run_turn("go", vec![]).await;
    assert_eq!(host.take_requests(), ["match host \"go\" local one two"]);
}

#[tokio::test]
async fn skill_is_deactivated_under_its_activation_name() {
    let mut host = FakeHost::with(&["acme/review"]);
    host.matches = vec![candidate("review", 1.0)];
    let (mut rig, host) = rig(host, SkillMatchStrategy::Host).await;
    let told = rig.run_turn("go", vec![]).await;
    assert_eq!(told[1], "0: + review = acme/review (host match)");
    // Another skill takes the name; the session is reopened; then both are removed.
    host.set_listed(&["acme/review", "other/review"]);
    rig.session.notify_skills_updated();
    rig.run_turn("go", vec![]).await;
    rig.reopen().await;
    rig.session.set_host(host.clone());
    host.set_listed(&[]);
    let told = rig.run_turn("go", vec![]).await;
    assert!(
        told.contains(&"0: - review = acme/review".to_owned()),
        "{told:?}"
    );
}

#[tokio::test]
async fn failed_ranking_is_reported_and_replaced() {
    let host = FakeHost {
        broken: true,
        ..FakeHost::default()
    };
    let (mut rig, _) = rig(host, SkillMatchStrategy::Host).await;
    let told = rig.run_turn("local", vec![]).await;
    assert_eq!(
        told[1..],
        [
            "warn: agent.skill_match: the host did not rank the skills: no such method; \
             they are ranked by metadata instead",
            "0: matched by metadata: [local 2.00 (name in the prompt)]",
            "0: + local (name in the prompt)",
        ]
    );
}

#[tokio::test]
async fn refused_ranking_is_reported_with_the_reason() {
    let host = FakeHost {
        refuses_to_rank: true,
        ..FakeHost::default()
    };
    let (mut rig, _) = rig(host, SkillMatchStrategy::Host).await;
    assert_eq!(
        rig.run_turn("x", vec![]).await,
        [
            "warn: agent.skill_match: the host refused to rank the skills: \"no\"; \
             they are ranked by metadata instead",
            "0: matched by metadata: []",
        ]
    );
}

#[tokio::test]
async fn host_is_not_asked_to_rank_a_slash_command() {
    let host = FakeHost {
        matches: vec![candidate("local", 1.0)],
        ..FakeHost::default()
    };
    let (mut rig, host) = rig(host, SkillMatchStrategy::Host).await;
    assert_eq!(rig.run_turn("/mode local", vec![]).await, [""; 0]);
    assert_eq!(host.take_requests(), ["list"]);
}

#[tokio::test]
async fn ranking_without_a_host_is_reported() {
    let disk = Disk::new();
    disk.write_skill("home/ws/.harn/skills/local", "");
    let matching = SkillMatching {
        strategy: SkillMatchStrategy::Host,
        ..SkillMatching::default()
    };
    let mut rig = Rig::with(disk, matching, false).await;
    let told = rig.run_turn("x", vec![]).await;
    assert_eq!(
        told,
        [
            "warn: agent.skill_match: the host does not offer ranking skills; \
             they are ranked by metadata instead",
            "0: matched by metadata: []",
        ]
    );
}
