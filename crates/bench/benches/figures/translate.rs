//! Nanoseconds to translate an event into its lines, by kind and profile.
//!
//! The events are those of a recorded session in which each kind occurs. Extensions have no type in the SDK:
//! they are compared with their lines of the profile `meta`, for which it has one.

mod kinds;
mod peer;

use std::{hint::black_box, time::Instant};

use anyhow::{Context, Result, ensure};

use crate::{
    least,
    setup::Setup,
    table::{Bar, Figure, Table, Unit, print_matrix_head, print_matrix_row},
};
use harn_acp::Profile;
use kinds::{Kind, kinds, projector};
use peer::Peer;

/// Streamed while an agent works, so they dominate the cost of translation.
const HOT: [&str; 5] = [
    "agent_message_chunk",
    "agent_thought_chunk",
    "tool_call",
    "tool_call_update",
    "plan",
];

/// Translations of a kind that are timed together: one is too short for the clock, and many would seldom run
/// undisturbed on a busy machine.
const TOGETHER: usize = 25;

/// The cost of one event of a kind, in seconds.
struct Costs {
    name: String,
    bytes: usize,
    ours: [Option<f64>; 3],
    peer: Option<PeerCosts>,
}

struct PeerCosts {
    copy: f64,
    typed: f64,
    sdk: f64,
}

pub(crate) fn measure(setup: &Setup, table: &mut Table) -> Result<()> {
    let mut all = Vec::new();
    for kind in kinds()? {
        let costs = measure_kind(&kind, setup.translations)
            .with_context(|| format!("translating {}", kind.name))?;
        all.extend(costs);
    }
    for name in HOT {
        let costs = all.iter().find(|costs| costs.name == name);
        let costs = costs.with_context(|| format!("no {name} was recorded"))?;
        let peer = costs.peer.as_ref().context("the SDK has no type for it")?;
        let figure = |against, bar| Figure {
            name: format!("to translate one {name}"),
            unit: Unit::Nanos,
            value: costs.ours[0].unwrap_or(f64::NAN),
            against: Some(against),
            bar,
        };
        // A detour through a tree of values costs ten times this, so it would show.
        table.add(&figure(("typed", peer.typed), Bar::RatioAtMost(2.0)));
        table.add(&figure(("sdk", peer.sdk), Bar::Told));
    }
    print(&all);
    Ok(())
}

/// Prints a separate table with one row per kind.
fn print(all: &[Costs]) {
    print_matrix_head(
        "ns an event",
        &[
            "bytes", "copy", "typed", "sdk", "harn", "meta", "acp", "harn/sdk",
        ],
    );
    for costs in all {
        let nanos =
            |seconds: Option<f64>| seconds.map_or("–".to_owned(), |s| format!("{:.0}", s * 1e9));
        let peer = costs.peer.as_ref();
        let ratio = peer.zip(costs.ours[0]).map(|(peer, ours)| ours / peer.sdk);
        let [harn, meta, acp] = costs.ours.map(nanos);
        print_matrix_row(
            &costs.name,
            &[
                costs.bytes.to_string(),
                nanos(peer.map(|peer| peer.copy)),
                nanos(peer.map(|peer| peer.typed)),
                nanos(peer.map(|peer| peer.sdk)),
                harn,
                meta,
                acp,
                ratio.map_or("–".to_owned(), |ratio| format!("{ratio:.2}")),
            ],
        );
    }
}

/// Returns `None` when no profile has a line for it.
fn measure_kind(kind: &Kind, rounds: usize) -> Result<Option<Costs>> {
    let profiles = [Profile::Harn, Profile::Meta, Profile::Acp];
    let lines = profiles.map(|profile| kind.lines(profile));
    let [harn, meta, _] = &lines;
    if lines.iter().all(Vec::is_empty) {
        return Ok(None);
    }
    let peers = parse_peers(harn).or_else(|| parse_peers(meta));
    let mut samples: [Vec<f64>; 3] = Default::default();
    let mut peer_samples: [Vec<f64>; 3] = Default::default();
    let mut out = Vec::with_capacity(TOGETHER * 4096);
    // In turn, so that a busy moment affects all of them.
    for _ in 0..rounds {
        for (at, profile) in profiles.into_iter().enumerate() {
            if !lines[at].is_empty() {
                samples[at].push(time_ours(kind, profile, lines[at].len(), &mut out)?);
            }
        }
        if let Some(peer) = &peers {
            let [copy, typed, sdk] = &mut peer_samples;
            copy.push(time_together(kind, &mut out, |out| {
                peer.iter().for_each(|peer| peer.copy(out));
                Ok(())
            })?);
            typed.push(time_together(kind, &mut out, |out| {
                peer.iter().try_for_each(|peer| peer.write_typed(out))
            })?);
            sdk.push(time_together(kind, &mut out, |out| {
                peer.iter().try_for_each(|peer| peer.write_like_sdk(out))
            })?);
        }
    }
    let [copy, typed, sdk] = peer_samples.map(|samples| least(&samples));
    Ok(Some(Costs {
        name: kind.name.clone(),
        bytes: harn.len() / kind.events.len(),
        ours: samples.map(|samples| (!samples.is_empty()).then(|| least(&samples))),
        peer: peers.map(|_| PeerCosts { copy, typed, sdk }),
    }))
}

/// Returns every line as an SDK value, if the SDK has types for them.
fn parse_peers(lines: &[u8]) -> Option<Vec<Peer>> {
    let lines = lines.split_inclusive(|byte| *byte == b'\n');
    let peers: Vec<_> = lines.map(Peer::parse).collect::<Option<_>>()?;
    (!peers.is_empty()).then_some(peers)
}

/// Returns the seconds per event; every translation must give as many bytes as the first.
fn time_ours(kind: &Kind, profile: Profile, bytes: usize, out: &mut Vec<u8>) -> Result<f64> {
    let projector = projector(profile);
    let seconds = time_together(kind, out, |out| {
        kind.write(&projector, out);
        Ok(())
    })?;
    ensure!(
        out.len() == bytes * TOGETHER,
        "a repeated event is not translated as the first was"
    );
    Ok(seconds)
}

fn time_together(
    kind: &Kind,
    out: &mut Vec<u8>,
    mut write: impl FnMut(&mut Vec<u8>) -> Result<()>,
) -> Result<f64> {
    out.clear();
    let begun = Instant::now();
    for _ in 0..TOGETHER {
        write(black_box(out))?;
    }
    Ok(begun.elapsed().as_secs_f64() / (TOGETHER * kind.events.len()) as f64)
}
