//! Unusable skills: each is reported in the session, with the file and line to fix.

use crate::skills::support::{Act, Disk, Rig};

const SHIP: &str = "home/ws/.harn/skills/ship/SKILL.md";

fn logs(told: &[String]) -> Vec<&str> {
    let logs = told.iter().filter(|line| line.starts_with("warn"));
    logs.map(String::as_str).collect()
}

#[tokio::test]
async fn unusable_skill_is_reported_once() {
    let disk = Disk::new();
    disk.put(SHIP, "---\nshort: Ship\npaths: 1\n---\nText\n");
    // This skill has an unknown key but is usable.
    disk.write_skill("home/ws/.harn/skills/odd", "colour: red\n");
    let place = disk.path(SHIP);
    let mut rig = Rig::new(disk).await;

    let told = rig.run_turn("x", vec![Act::Iterate]).await;
    let [log] = logs(&told)[..] else {
        panic!("{told:?}");
    };
    let expected = format!("warn: agent.skills: {}:3: error: paths", place.display());
    assert!(log.starts_with(&expected), "{log}");
    assert_eq!(logs(&rig.run_turn("x", vec![]).await), [""; 0]);

    // Another error is reported again.
    rig.disk.put(SHIP, "---\npaths: []\n---\nText, longer\n");
    let told = rig.run_turn("x", vec![]).await;
    let [log] = logs(&told)[..] else {
        panic!("{told:?}");
    };
    assert!(log.contains("short is required"), "{log}");

    // A fixed skill is forgotten; broken again, it is reported again.
    rig.disk.write_skill("home/ws/.harn/skills/ship", "");
    assert_eq!(logs(&rig.run_turn("x", vec![]).await), [""; 0]);
    rig.disk.put(SHIP, "---\npaths: []\n---\nText, longer\n");
    assert_eq!(logs(&rig.run_turn("x", vec![]).await).len(), 1);
}

#[tokio::test]
async fn active_skill_that_breaks_is_reported_and_deactivated() {
    let disk = Disk::new();
    disk.write_skill("home/ws/.harn/skills/ship", "");
    let mut rig = Rig::new(disk).await;
    rig.run_turn("x", vec![Act::Activate("ship")]).await;
    rig.disk.put(SHIP, "---\npaths: []\n---\nText\n");
    let told = rig.run_turn("x", vec![]).await;
    assert!(told[0].contains("short is required"), "{told:?}");
    assert_eq!(told[1..], ["0: - ship"]);
}
