//! The terminal: reads keys and draws frames. It draws only after a change and at most thirty times a
//! second; in between it receives any number of events.

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
    actions::{KeyOutcome, act, paste},
    draw,
    finder::AttachDestination,
    keys::{self, PickerAction},
    link::{LinkEvent, SessionLink},
    picker::Picker,
    question::decline_answer,
    servers::RunningServer,
    state::{self, AttachScreen},
};
use crate::signals::Signals;

/// The minimum time between two frames.
const FRAME: Duration = Duration::from_millis(33);
/// The maximum number of events to handle before keys are read again.
const AT_ONCE: usize = 256;

/// A terminal in raw mode; dropping it restores the terminal.
pub(super) struct AttachTerminal {
    inner: DefaultTerminal,
    events: EventStream,
    signals: Signals,
    clock: Arc<dyn Clock>,
    /// The time of the last frame.
    drawn: Duration,
    stale: bool,
}

impl Drop for AttachTerminal {
    fn drop(&mut self) {
        // If a setting cannot be restored, it was not set.
        let _ = execute!(io::stdout(), DisableBracketedPaste);
        ratatui::restore();
    }
}

impl AttachTerminal {
    /// Must be called on a Tokio runtime.
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
        // Without it, pasted text arrives as keys.
        let _ = execute!(io::stdout(), EnableBracketedPaste);
        Ok(terminal)
    }

    /// Returns the time until the next frame may be drawn; none if nothing has changed.
    fn time_to_frame(&self) -> Option<Duration> {
        let due = self.drawn + FRAME;
        self.stale.then(|| due.saturating_sub(self.clock.elapsed()))
    }

    fn update_time(&self, screen: &mut AttachScreen) {
        screen.now = self.clock.elapsed();
        screen.time = self.clock.now();
    }

    fn mark_drawn(&mut self) {
        self.stale = false;
        self.drawn = self.clock.elapsed();
    }

    /// Lets the user choose a session; none if the user leaves. `refresh` queries the servers again.
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
            let frame = self.time_to_frame();
            tokio::select! {
                biased;
                _ = self.signals.next() => return Ok(None),
                event = self.events.next() => {
                    self.stale = true;
                    match event.transpose().context("reading keys")? {
                        None => return Ok(None),
                        Some(Event::Key(key)) if key.kind != KeyEventKind::Release => {
                            match keys::picker_action(picker, key) {
                                PickerAction::Leave => return Ok(None),
                                PickerAction::New => {
                                    let server = picker.servers.first().cloned();
                                    return server.map(AttachDestination::new_session_here).transpose();
                                }
                                PickerAction::Open => if let Some(row) = picker.selected_row() {
                                    return Ok(Some(AttachDestination::for_session(row.server.clone(), &row.session)));
                                },
                                PickerAction::Move(by) => picker.move_selection(by),
                                PickerAction::Nothing => {}
                            }
                        }
                        Some(_) => {}
                    }
                }
                () = sleep(frame.unwrap_or_default()), if frame.is_some() => {
                    let now = self.clock.now();
                    self.inner.draw(|frame| draw::draw_picker(frame, picker, now))?;
                    self.mark_drawn();
                }
                servers = &mut asking => {
                    picker.set(servers);
                    self.stale = true;
                    asking = Box::pin(again());
                }
            }
        }
    }

    /// Shows a session until the user leaves. Returns an error if it could not be joined.
    pub(super) async fn follow(
        &mut self,
        screen: &mut AttachScreen,
        link: &mut SessionLink,
    ) -> Result<()> {
        self.stale = true;
        screen.size = self.inner.size().unwrap_or_default().into();
        loop {
            let (frame, tick) = (self.time_to_frame(), self.time_to_tick(screen));
            tokio::select! {
                biased;
                _ = self.signals.next() => return Ok(()),
                event = self.events.next() => {
                    self.stale = true;
                    self.update_time(screen);
                    let Some(event) = event.transpose().context("reading keys")? else {
                        return Ok(());
                    };
                    if self.handle_event(event, screen, link) == KeyOutcome::Leave {
                        return Ok(());
                    }
                    if let lost @ LinkEvent::Lost { .. } = link.flush() {
                        handle_link_event(screen, link, lost)?;
                    }
                }
                () = sleep(frame.unwrap_or_default()), if frame.is_some() => {
                    self.update_time(screen);
                    self.inner.draw(|frame| draw::draw(frame, screen))?;
                    self.mark_drawn();
                }
                first = link.next() => {
                    self.update_time(screen);
                    self.stale |= !matches!(first, LinkEvent::Nothing);
                    handle_link_event(screen, link, first)?;
                    for _ in 0..AT_ONCE {
                        match link.try_next() {
                            Some(next) => handle_link_event(screen, link, next)?,
                            None => break,
                        }
                    }
                    // A session that was closed is not reopened, even if we controlled it.
                    let mine = screen.is_controller() && screen.ended.is_none();
                    if screen.link == state::ConnectionStatus::Up {
                        link.control = mine;
                        link.reopen = mine.then(|| screen.transcript.cwd.clone());
                    }
                }
                () = sleep(tick) => {
                    self.update_time(screen);
                    self.stale = true;
                }
            }
        }
    }

    /// Returns the time until the screen changes by itself: a clock advances, or a question becomes answerable.
    fn time_to_tick(&self, screen: &AttachScreen) -> Duration {
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

    fn handle_event(
        &self,
        event: Event,
        screen: &mut AttachScreen,
        link: &mut SessionLink,
    ) -> KeyOutcome {
        match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => {
                let action = keys::action_for_key(screen, key);
                return act(screen, &mut link.talk, action);
            }
            Event::Paste(text) => paste(screen, &text),
            Event::Resize(columns, rows) => screen.size = (columns, rows),
            _ => {}
        }
        KeyOutcome::Stay
    }
}

fn handle_link_event(
    screen: &mut AttachScreen,
    link: &mut SessionLink,
    step: LinkEvent,
) -> Result<()> {
    match step {
        LinkEvent::Heard(heard) => {
            if let Some(asked) = screen.handle_event(heard).filter(|asked| asked.form)
                && let Some(answer) = decline_answer()
            {
                link.talk.answer(&asked.id, &answer);
                if let lost @ LinkEvent::Lost { .. } = link.flush() {
                    return self::handle_link_event(screen, link, lost);
                }
            }
        }
        LinkEvent::Lost { again, unsure, why } => screen.apply_connection_loss(again, unsure, why),
        LinkEvent::Failed(why) => return Err(why),
        LinkEvent::Nothing => {}
    }
    Ok(())
}
