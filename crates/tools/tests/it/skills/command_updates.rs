//! Slash commands follow the files without a prompt.

use std::{fs, time::Duration};

use crate::skills::support::{Disk, Rig};

/// The time limit of a wait, which only a failing test reaches.
const PATIENCE: Duration = Duration::from_secs(30);

async fn wait_for_commands(rig: &mut Rig, names: &[&str]) {
    let told = tokio::time::timeout(PATIENCE, rig.wait_for_commands(names)).await;
    told.unwrap_or_else(|_| panic!("never told of {names:?}"));
}

#[tokio::test]
async fn commands_follow_the_files() {
    let disk = Disk::new();
    disk.write_skill("home/.harn/skills/first", "");
    let mut rig = Rig::new(disk).await;
    wait_for_commands(&mut rig, &["first"]).await;
    // In a directory that did not exist.
    rig.disk.write_skill("home/ws/.harn/skills/second", "");
    wait_for_commands(&mut rig, &["first", "second"]).await;
    rig.disk.write_skill("home/ws/.harn/skills/third", "");
    wait_for_commands(&mut rig, &["first", "second", "third"]).await;
    // The card changes.
    rig.disk
        .write_skill("home/ws/.harn/skills/second", "user_invocable: false\n");
    wait_for_commands(&mut rig, &["first", "third"]).await;
    // With a manifest that did not exist.
    rig.disk.write_skill("home/ws/own/fourth", "");
    rig.disk
        .put("home/ws/harn.toml", "[skills]\npaths = ['own']\n");
    wait_for_commands(&mut rig, &["first", "fourth", "third"]).await;
    fs::remove_dir_all(rig.disk.path("home/ws/.harn")).unwrap();
    wait_for_commands(&mut rig, &["first", "fourth"]).await;
    rig.disk
        .write_skill("home/ws/.harn/packages/p/skills/fifth", "");
    wait_for_commands(&mut rig, &["fifth", "first", "fourth"]).await;
}
