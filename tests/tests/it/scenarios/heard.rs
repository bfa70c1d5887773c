//! What is heard of a turn, in words that every wire has, and how it is put together from pieces.

/// A turn, as far as it has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Heard {
    /// What it was asked.
    pub(crate) prompt: String,
    /// What the agent said: its messages, a step each, with a blank line between. Not all wires tell them
    /// apart.
    pub(crate) said: String,
    /// The tools it used, in the order they were announced.
    pub(crate) tools: Vec<(String, Ended)>,
    pub(crate) end: End,
}

/// How a tool call stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    NotYet,
    Well,
    Badly,
}

/// How a turn stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// It waits for a decision.
    Parked,
    Completed,
    Cancelled,
    /// With what was said of the reason.
    Failed(String),
}

/// A turn with this prompt, said and done like this.
pub(crate) fn heard(prompt: &str, said: &[&str], tools: &[(&str, Ended)], end: End) -> Heard {
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

/// Puts the turns of a conversation together.
#[derive(Debug, Default)]
pub(crate) struct Ear {
    turns: Vec<Turn>,
}

#[derive(Debug, Default)]
struct Turn {
    prompt: String,
    /// Each with the id it has on the wire.
    said: Vec<(String, String)>,
    tools: Vec<(String, String, Ended)>,
    /// The open question, and whether it was told.
    ask: Option<(String, bool)>,
    end: Option<End>,
    /// Whether that was told.
    end_told: bool,
}

impl Ear {
    /// A turn begins.
    pub(crate) fn begin(&mut self, prompt: &str) {
        self.turns.push(Turn {
            prompt: prompt.to_owned(),
            ..Turn::default()
        });
    }

    /// What the turn was asked, where that is told apart from its beginning.
    pub(crate) fn prompted(&mut self, prompt: &str) {
        prompt.clone_into(&mut self.turn().prompt);
    }

    /// More of a message.
    pub(crate) fn say(&mut self, message: &str, text: &str) {
        let turn = self.turn();
        match turn.said.iter_mut().find(|(id, _)| id == message) {
            Some((_, said)) => said.push_str(text),
            None => turn.said.push((message.to_owned(), text.to_owned())),
        }
    }

    /// What is known of a tool call: its name is taken from the first that tells it.
    pub(crate) fn tool(&mut self, call: &str, name: &str, ended: Ended) {
        let turn = self.turn();
        match turn.tools.iter_mut().find(|(id, ..)| id == call) {
            Some((.., known)) => *known = ended,
            None => turn.tools.push((call.to_owned(), name.to_owned(), ended)),
        }
    }

    /// A question is open. Putting it twice does not make it two.
    pub(crate) fn ask(&mut self, ask: &str) {
        let turn = self.turn();
        if turn.ask.as_ref().is_none_or(|(open, _)| open != ask) {
            turn.ask = Some((ask.to_owned(), false));
        }
    }

    /// The question that is open.
    pub(crate) fn open_ask(&self) -> Option<&str> {
        let turn = self.turns.last()?;
        turn.ask.as_ref().map(|(ask, _)| ask.as_str())
    }

    /// It has its answer.
    pub(crate) fn answered(&mut self) {
        self.turn().ask = None;
    }

    /// The turn is over.
    pub(crate) fn end(&mut self, end: End) {
        let turn = self.turn();
        assert_eq!(turn.end, None, "a turn ended twice: {turn:?}");
        turn.ask = None;
        turn.end = Some(end);
    }

    /// How the turn ended, if it has.
    pub(crate) fn ended(&self) -> Option<&End> {
        self.turns.last()?.end.as_ref()
    }

    /// Whether no turn goes on: all are over, or the last one waits for a decision.
    pub(crate) fn is_settled(&self) -> bool {
        let settled = |turn: &Turn| turn.end.is_some() || turn.ask.is_some();
        self.turns.last().is_none_or(settled)
    }

    /// The turn, if it is over or waits for a decision, and that was not told before.
    pub(crate) fn news(&mut self) -> Option<Heard> {
        let turn = self.turns.last_mut()?;
        let told = match (&turn.end, &mut turn.ask) {
            (Some(_), _) => &mut turn.end_told,
            (None, Some((_, told))) => told,
            (None, None) => return None,
        };
        let news = !std::mem::replace(told, true);
        news.then(|| turn.heard())
    }

    /// All turns; each must be over or wait for a decision. What is told with it is no news.
    pub(crate) fn past(&mut self) -> Vec<Heard> {
        self.news();
        self.turns.iter().map(Turn::heard).collect()
    }

    fn turn(&mut self) -> &mut Turn {
        let Some(turn) = self.turns.last_mut() else {
            panic!("no turn has begun");
        };
        turn
    }
}

impl Turn {
    fn heard(&self) -> Heard {
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
