//! Random cases: the questions of an agent and the reactions of its clients.

use proptest::{collection::vec, prelude::*, sample::select};

use crate::broker::answer::{Answer, answer};

/// One turn and its clients.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) profile: &'static str,
    pub(crate) questions: Vec<Question>,
    pub(crate) company: Company,
}

/// A question of the agent.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    /// How many workers are between the session and the worker that asks.
    pub(crate) depth: usize,
    /// The agent asks the questions of a wave at once, and the waves one after another.
    pub(crate) wave: usize,
    /// The answers of the first client, sent one right after the other with the id of the question. Empty if it
    /// never answers.
    pub(crate) first: Vec<Answer>,
    /// The answers of the second client.
    pub(crate) second: Vec<Answer>,
    /// Whether the second client answers first.
    pub(crate) second_is_faster: bool,
    /// Questions with a lower rank are answered earlier.
    pub(crate) rank: u8,
    /// Whether a client sends its answer although the question was withdrawn.
    pub(crate) stale: bool,
}

/// The clients that are connected, and when.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Company {
    /// The first client stays to the end.
    Alone,
    /// The first client leaves after this many answers; no other client connects.
    Leaves(usize, Parting),
    /// The first client leaves after this many answers, and the second client connects.
    Returns(usize, Parting),
    /// Both clients are connected from the beginning.
    Two,
    /// Both clients answer a question at the same time.
    Race,
}

/// How a client disconnects.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parting {
    /// It sends an answer and disconnects at once.
    pub(crate) in_a_hurry: bool,
    /// It drops the connection without closing it.
    pub(crate) rudely: bool,
}

pub(crate) fn case() -> impl Strategy<Value = Case> {
    let profile = select(&["harn", "harn", "meta", "acp"][..]);
    (profile, vec(question(), 1..6), company()).prop_map(|(profile, questions, company)| Case {
        profile,
        questions,
        company,
    })
}

fn question() -> impl Strategy<Value = Question> {
    let answers = || {
        prop_oneof![
            1 => Just(Vec::new()),
            6 => answer().prop_map(|one| vec![one]),
            3 => vec(answer(), 2..4),
        ]
    };
    let depth = prop_oneof![4 => Just(0_usize), 2 => Just(1), 1 => Just(2)];
    let wave = 0..3_usize;
    let choices = (any::<bool>(), any::<u8>(), any::<bool>());
    (depth, wave, answers(), answers(), choices).prop_map(
        |(depth, wave, first, second, (second_is_faster, rank, stale))| Question {
            depth,
            wave,
            first,
            second,
            second_is_faster,
            rank,
            stale,
        },
    )
}

fn company() -> impl Strategy<Value = Company> {
    let parting =
        || any::<(bool, bool)>().prop_map(|(in_a_hurry, rudely)| Parting { in_a_hurry, rudely });
    prop_oneof![
        3 => Just(Company::Alone),
        1 => (0..3_usize, parting()).prop_map(|(after, how)| Company::Leaves(after, how)),
        3 => (0..3_usize, parting()).prop_map(|(after, how)| Company::Returns(after, how)),
        2 => Just(Company::Two),
        1 => Just(Company::Race),
    ]
}
