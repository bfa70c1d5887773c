//! A turn as a client receives it, in a form that is common to all wires, and the code that assembles it.

/// The content of a turn so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Heard {
    pub(crate) prompt: String,
    /// The agent's messages, one per step, separated by blank lines. Not every wire distinguishes them.
    pub(crate) said: String,
    /// The tool calls in the order of their announcements.
    pub(crate) tools: Vec<(String, Ended)>,
    pub(crate) end: End,
}

/// The state of a tool call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    NotYet,
    Well,
    Badly,
}

/// The state of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The turn waits for a decision.
    Parked,
    Completed,
    Cancelled,
    /// With the text of the reason.
    Failed(String),
}

/// Builds the expected turn.
pub(crate) fn expected_turn(
    prompt: &str,
    said: &[&str],
    tools: &[(&str, Ended)],
    end: End,
) -> Heard {
    Heard {
        prompt: prompt.to_owned(),
        said: said.join("\n\n"),
        tools: tools
            .iter()
            .map(|&(name, ended)| (name.to_owned(), ended))
            .collect(),
        end,
    }
}

/// Assembles the turns of a conversation from the messages of a wire.
#[derive(Debug, Default)]
pub(crate) struct Ear {
    turns: Vec<Turn>,
}

#[derive(Debug, Default)]
struct Turn {
    prompt: String,
    /// The texts by message id.
    said: Vec<(String, String)>,
    tools: Vec<(String, String, Ended)>,
    /// The id of the open request, and whether [`Ear::take_news`] has returned it.
    ask: Option<(String, bool)>,
    end: Option<End>,
    /// Whether [`Ear::take_news`] has returned the end.
    end_told: bool,
}

impl Ear {
    pub(crate) fn begin_turn(&mut self, prompt: &str) {
        self.turns.push(Turn {
            prompt: prompt.to_owned(),
            ..Turn::default()
        });
    }

    /// Sets the prompt, on wires that send it after the start of the turn.
    pub(crate) fn set_prompt(&mut self, prompt: &str) {
        prompt.clone_into(&mut self.turn().prompt);
    }

    /// Appends text to a message.
    pub(crate) fn append_text(&mut self, message: &str, text: &str) {
        let turn = self.turn();
        match turn.said.iter_mut().find(|(id, _)| id == message) {
            Some((_, said)) => said.push_str(text),
            None => turn.said.push((message.to_owned(), text.to_owned())),
        }
    }

    /// Sets the state of a tool call. The first message about a call sets its name.
    pub(crate) fn set_tool(&mut self, call: &str, name: &str, ended: Ended) {
        let turn = self.turn();
        match turn.tools.iter_mut().find(|(id, ..)| id == call) {
            Some((.., known)) => *known = ended,
            None => turn.tools.push((call.to_owned(), name.to_owned(), ended)),
        }
    }

    /// Opens a request. A repeated request is not a new one.
    pub(crate) fn open_request(&mut self, ask: &str) {
        let turn = self.turn();
        if turn.ask.as_ref().is_none_or(|(open, _)| open != ask) {
            turn.ask = Some((ask.to_owned(), false));
        }
    }

    /// The id of the open request.
    pub(crate) fn open_ask(&self) -> Option<&str> {
        let turn = self.turns.last()?;
        turn.ask.as_ref().map(|(ask, _)| ask.as_str())
    }

    /// Closes the open request.
    pub(crate) fn close_request(&mut self) {
        self.turn().ask = None;
    }

    pub(crate) fn end_turn(&mut self, end: End) {
        let turn = self.turn();
        assert_eq!(turn.end, None, "a turn ended twice: {turn:?}");
        turn.ask = None;
        turn.end = Some(end);
    }

    /// The end of the last turn, if it is over.
    pub(crate) fn last_end(&self) -> Option<&End> {
        self.turns.last()?.end.as_ref()
    }

    /// Whether no turn runs: all are over, or the last one waits for a decision.
    pub(crate) fn is_settled(&self) -> bool {
        let settled = |turn: &Turn| turn.end.is_some() || turn.ask.is_some();
        self.turns.last().is_none_or(settled)
    }

    /// Returns the last turn if it is over or waits for a decision, once for each of these states.
    pub(crate) fn take_news(&mut self) -> Option<Heard> {
        let turn = self.turns.last_mut()?;
        let told = match (&turn.end, &mut turn.ask) {
            (Some(_), _) => &mut turn.end_told,
            (None, Some((_, told))) => told,
            (None, None) => return None,
        };
        let news = !std::mem::replace(told, true);
        news.then(|| turn.to_heard())
    }

    /// Returns all turns; each must be over or wait for a decision. Afterwards [`Self::news`] does not return
    /// the last one again.
    pub(crate) fn past_turns(&mut self) -> Vec<Heard> {
        self.take_news();
        self.turns.iter().map(Turn::to_heard).collect()
    }

    fn turn(&mut self) -> &mut Turn {
        let Some(turn) = self.turns.last_mut() else {
            panic!("no turn has begun");
        };
        turn
    }
}

impl Turn {
    fn to_heard(&self) -> Heard {
        let end = match (&self.end, &self.ask) {
            (Some(end), _) => end.clone(),
            (None, Some(_)) => End::Parked,
            (None, None) => panic!("a turn is neither over nor does it wait: {self:?}"),
        };
        let said: Vec<&str> = self.said.iter().map(|(_, text)| &**text).collect();
        Heard {
            prompt: self.prompt.clone(),
            said: said.join("\n\n"),
            tools: self
                .tools
                .iter()
                .map(|(_, name, ended)| (name.clone(), *ended))
                .collect(),
            end,
        }
    }
}
