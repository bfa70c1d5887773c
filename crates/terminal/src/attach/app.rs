//! The terminal: keys in, frames out. Draws only what has changed, some thirty times a second at most, and
//! takes in what comes in between, however fast.

use std::{io, sync::Arc, time::Duration};

use anyhow::{Context, Result};
use crossterm::{
    event::{DisableBracketedPaste, EnableBracketedPaste, Event, EventStream, KeyEventKind},
    execute,
};
use futures::StreamExt;
use harn_runtime::Clock;
use ratatui::DefaultTerminal;
use tokio::time::sleep;

use super::{
    act::{KeyOutcome, act, paste},
    draw,
    find::AttachDestination,
    keys::{self, PickerAction},
    link::{LinkEvent, SessionLink},
    picker::Picker,
    question::declined,
    servers::RunningServer,
    state::{self, AttachScreen},
};
use crate::signals::Signals;

/// The least time between two frames.
const FRAME: Duration = Duration::from_millis(33);
/// So much is taken in before keys are looked at again.
const AT_ONCE: usize = 256;

/// A terminal that is ours until this is dropped.
pub(super) struct AttachTerminal {
    inner: DefaultTerminal,
    events: EventStream,
    signals: Signals,
    clock: Arc<dyn Clock>,
    /// When it was last drawn.
    drawn: Duration,
    stale: bool,
}

impl Drop for AttachTerminal {
    fn drop(&mut self) {
        // Whatever cannot be set right was not set.
        let _ = execute!(io::stdout(), DisableBracketedPaste);
        ratatui::restore();
    }
}

impl AttachTerminal {
    /// Must be called on a runtime.
    pub(super) fn open(clock: Arc<dyn Clock>) -> Result<Self> {
        let signals = Signals::listen().context("listening for signals")?;
        let inner = ratatui::try_init().context("the terminal cannot be used")?;
        let terminal = Self {
            inner,
            events: EventStream::new(),
            signals,
            clock,
            drawn: Duration::ZERO,
            stale: true,
        };
        // Without it, a paste is typed.
        let _ = execute!(io::stdout(), EnableBracketedPaste);
        Ok(terminal)
    }

    /// How long until a frame may be drawn, if one is wanted.
    fn frame(&self) -> Option<Duration> {
        let due = self.drawn + FRAME;
        self.stale.then(|| due.saturating_sub(self.clock.elapsed()))
    }

    fn tell_time(&self, screen: &mut AttachScreen) {
        screen.now = self.clock.elapsed();
        screen.time = self.clock.now();
    }

    fn was_drawn(&mut self) {
        self.stale = false;
        self.drawn = self.clock.elapsed();
    }

    /// Lets somebody choose a session, if any. `refresh` asks the servers again.
    pub(super) async fn choose(
        &mut self,
        picker: &mut Picker,
        refresh: impl AsyncFn() -> Vec<RunningServer>,
    ) -> Result<Option<AttachDestination>> {
        const EVERY: Duration = Duration::from_secs(2);
        self.stale = true;
        let again = async || {
            sleep(EVERY).await;
            refresh().await
        };
        let mut asking = Box::pin(again());
        loop {
            let frame = self.frame();
            tokio::select! {
                biased;
                _ = self.signals.next() => return Ok(None),
                event = self.events.next() => {
                    self.stale = true;
                    match event.transpose().context("reading keys")? {
                        None => return Ok(None),
                        Some(Event::Key(key)) if key.kind != KeyEventKind::Release => {
                            match keys::pick(picker, key) {
                                PickerAction::Leave => return Ok(None),
                                PickerAction::New => {
                                    let server = picker.servers.first().cloned();
                                    return server.map(AttachDestination::begun_here).transpose();
                                }
                                PickerAction::Open => if let Some(row) = picker.marked() {
                                    return Ok(Some(AttachDestination::of(row.server.clone(), &row.session)));
                                },
                                PickerAction::Move(by) => picker.go(by),
                                PickerAction::Nothing => {}
                            }
                        }
                        Some(_) => {}
                    }
                }
                () = sleep(frame.unwrap_or_default()), if frame.is_some() => {
                    let now = self.clock.now();
                    self.inner.draw(|frame| draw::picker(frame, picker, now))?;
                    self.was_drawn();
                }
                servers = &mut asking => {
                    picker.set(servers);
                    self.stale = true;
                    asking = Box::pin(again());
                }
            }
        }
    }

    /// Shows a session until somebody leaves. An error where it could not be joined.
    pub(super) async fn follow(
        &mut self,
        screen: &mut AttachScreen,
        link: &mut SessionLink,
    ) -> Result<()> {
        self.stale = true;
        screen.size = self.inner.size().unwrap_or_default().into();
        loop {
            let (frame, tick) = (self.frame(), self.tick(screen));
            tokio::select! {
                biased;
                _ = self.signals.next() => return Ok(()),
                event = self.events.next() => {
                    self.stale = true;
                    self.tell_time(screen);
                    let Some(event) = event.transpose().context("reading keys")? else {
                        return Ok(());
                    };
                    if self.event(event, screen, link) == KeyOutcome::Leave {
                        return Ok(());
                    }
                    if let lost @ LinkEvent::Lost { .. } = link.flush() {
                        step(screen, link, lost)?;
                    }
                }
                () = sleep(frame.unwrap_or_default()), if frame.is_some() => {
                    self.tell_time(screen);
                    self.inner.draw(|frame| draw::draw(frame, screen))?;
                    self.was_drawn();
                }
                first = link.next() => {
                    self.tell_time(screen);
                    self.stale |= !matches!(first, LinkEvent::Nothing);
                    step(screen, link, first)?;
                    for _ in 0..AT_ONCE {
                        match link.try_next() {
                            Some(next) => step(screen, link, next)?,
                            None => break,
                        }
                    }
                    // What was closed is not opened again for having been ours.
                    let mine = screen.in_control() && screen.ended.is_none();
                    if screen.link == state::ConnectionStatus::Up {
                        link.control = mine;
                        link.reopen = mine.then(|| screen.transcript.cwd.clone());
                    }
                }
                () = sleep(tick) => {
                    self.tell_time(screen);
                    self.stale = true;
                }
            }
        }
    }

    /// How long until the screen changes by itself: a clock in it, or a question that can be answered.
    fn tick(&self, screen: &AttachScreen) -> Duration {
        const SECOND: Duration = Duration::from_secs(1);
        const LONG: Duration = Duration::from_secs(3600);
        let now = self.clock.elapsed();
        let counts = screen.turn.is_some()
            || !screen.questions.is_empty()
            || matches!(screen.link, state::ConnectionStatus::Lost { .. });
        let question = screen.answerable_at().map(|at| at.saturating_sub(now));
        let clock = if counts { SECOND } else { LONG };
        question.map_or(clock, |question| question.min(clock))
    }

    fn event(&self, event: Event, screen: &mut AttachScreen, link: &mut SessionLink) -> KeyOutcome {
        match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => {
                let action = keys::action(screen, key);
                return act(screen, &mut link.talk, action);
            }
            Event::Paste(text) => paste(screen, &text),
            Event::Resize(columns, rows) => screen.size = (columns, rows),
            _ => {}
        }
        KeyOutcome::Stay
    }
}

fn step(screen: &mut AttachScreen, link: &mut SessionLink, step: LinkEvent) -> Result<()> {
    match step {
        LinkEvent::Heard(heard) => {
            if let Some(asked) = screen.hear(heard).filter(|asked| asked.form)
                && let Some(answer) = declined()
            {
                link.talk.answer(&asked.id, &answer);
                if let lost @ LinkEvent::Lost { .. } = link.flush() {
                    return self::step(screen, link, lost);
                }
            }
        }
        LinkEvent::Lost { again, unsure, why } => screen.lost(again, unsure, why),
        LinkEvent::Failed(why) => return Err(why),
        LinkEvent::Nothing => {}
    }
    Ok(())
}
