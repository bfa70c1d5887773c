//! Every route in every mode: whether it runs, is asked about, or is denied at once.

use expect_test::expect;

use crate::permission_rejections::{
    Outcome,
    client::Stance,
    routes::{HOSTED, How, LOCAL, Route},
    take_in,
};

/// Routes that change nothing; in doubt, the client is asked.
const LOOKING: [Route; 4] = [
    Route {
        name: "read",
        how: How::Prompt("/read a.txt"),
        honest: false,
    },
    Route {
        name: "read above",
        how: How::Prompt("/read ../outside/secret.txt"),
        honest: false,
    },
    Route {
        name: "run what only looks",
        how: How::Prompt("/run cat a.txt | head -n 1"),
        honest: false,
    },
    Route {
        name: "run what looks outside",
        how: How::Prompt("/run cat ../outside/secret.txt"),
        honest: false,
    },
];

const MODES: [&str; 4] = ["read-only", "ask", "accept-edits", "auto"];

/// Summarizes an outcome in words. The client rejects all questions, so a call that ran was not asked about.
fn summarize(outcome: &Outcome) -> String {
    let ended = |status: &str, why: &str| {
        let calls = outcome.calls.iter();
        calls
            .filter(|(its, reason)| its == status && reason == why)
            .count()
    };
    let (ran, asked) = (ended("completed", ""), outcome.seen.asked);
    let words = [
        (outcome.before != outcome.after, "ran"),
        (outcome.before == outcome.after && ran > 0, "harmless"),
        (asked > 0, "asked"),
        (ended("failed", "permission_denied") > asked, "denied"),
    ];
    let words = words.iter().filter(|(so, _)| *so).map(|(_, word)| *word);
    words.collect::<Vec<_>>().join(", ")
}

#[tokio::test]
async fn every_route_has_the_expected_outcome_in_each_mode() {
    let mut table = format!("{:<36}", "");
    for mode in MODES {
        table.push_str(&format!("{mode:<14}"));
    }
    let local = LOOKING.iter().chain(&LOCAL).map(|route| (false, route));
    for (hosts, route) in local.chain(HOSTED.iter().map(|route| (true, route))) {
        table.push_str(&format!("\n{:<36}", route.name));
        for mode in MODES {
            let outcome = take_in(route, &Stance::Rejects, hosts, Some(mode), |_| ()).await;
            table.push_str(&format!("{:<14}", summarize(&outcome)));
        }
    }
    let lines = table.lines().map(|line| format!("{}\n", line.trim_end()));
    expect![[r#"
                                            read-only     ask           accept-edits  auto
        read                                harmless      harmless      harmless      harmless
        read above                          denied        denied        denied        denied
        run what only looks                 denied        asked         asked         harmless
        run what looks outside              denied        asked         asked         asked
        write a file                        denied        asked         ran           ran
        write a new file                    denied        asked         ran           ran
        write by a detour                   denied        asked         ran           ran
        write by the whole path             denied        asked         ran           ran
        write through a link                denied        asked         ran           ran
        write through a linked folder       denied        asked         ran           ran
        write above                         denied        denied        denied        denied
        write outside by the whole path     denied        denied        denied        denied
        write through a link outside        denied        denied        denied        denied
        write through a folder outside      denied        denied        denied        denied
        write through a broken link         denied        denied        denied        denied
        write to .git                       denied        denied        denied        denied
        write a hook                        denied        denied        denied        denied
        write to .git through a link        denied        denied        denied        denied
        write the rules                     denied        denied        denied        denied
        run                                 denied        asked         asked         asked
        run a redirection                   denied        asked         asked         asked
        run an appending redirection        denied        asked         asked         asked
        run a substitution                  denied        asked         asked         asked
        run backticks                       denied        asked         asked         asked
        run a list                          denied        asked         asked         asked
        run a pipe                          denied        asked         asked         asked
        run in the background               denied        asked         asked         asked
        run a shell                         denied        asked         asked         asked
        run through env                     denied        asked         asked         asked
        run find                            denied        asked         asked         asked
        run a redirection outside           denied        asked         asked         asked
        run a redirection to .git           denied        denied        denied        denied
        a worker writes                     denied        asked, denied ran           ran
        a worker's worker runs              denied        asked, denied asked, denied asked, denied
        a worker writes above               denied        denied        denied        denied
        try again                           denied        asked         ran, asked    ran, asked
        ask for one thing and write another denied        asked         ran           ran
        explore writes                      denied        asked         ran           ran
        explore runs                        denied        asked         asked         asked
        the host without a call
        a call that only reads              harmless      harmless      harmless      harmless
        what was not declared               denied        asked         harmless      harmless
        what was refused                    denied        asked         asked         asked
        a call nobody judged
        a tool of the host                  denied        asked         asked         asked
        an operation of the host            denied        asked         asked         asked
        a worker uses a tool of the host    denied        asked, denied asked, denied asked, denied
    "#]]
    .assert_eq(&lines.collect::<String>());
}
