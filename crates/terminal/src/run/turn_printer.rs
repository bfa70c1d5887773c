//! Shows the work of an agent as lines: tool calls, diffs, plans, thoughts.

use std::{collections::HashMap, path::PathBuf, time::Duration};

use agent_client_protocol::v1::schema::{
    ContentChunk, Diff, MessageId, Plan, PlanEntry, SessionUpdate, ToolCall, ToolCallContent,
    ToolCallId, ToolCallStatus, ToolCallUpdate, ToolKind,
};
use harn_runtime::Clock;
use serde_json::Value;

use super::{
    jobs::ActiveJobs,
    output::{PrintedOutput, parse_output},
    screen::RunScreen,
};
use crate::{
    agent_messages::{
        activity::{AgentActivity, tool_meta},
        call_text::{block_text, is_over, symbol, text_lines},
        diff,
        plan::{is_same_plan, plan_mark},
    },
    paint::{PaintStyle, one_line},
    text,
};

pub(super) struct TurnPrinter {
    pub(super) screen: RunScreen,
    cwd: PathBuf,
    pub(super) clock: Box<dyn Clock>,
    message: Option<MessageId>,
    calls: HashMap<ToolCallId, RunningCall>,
    plan: Vec<PlanEntry>,
    pub(super) crew: ActiveJobs,
    /// Whether the answer is the output of commands instead of the agent's messages.
    pub(super) prints_output: bool,
}

/// A tool call that has not ended.
struct RunningCall {
    kind: ToolKind,
    title: String,
    began: Duration,
    content: Vec<ToolCallContent>,
    result: Option<Value>,
    /// The diffs that were already shown.
    shown: Vec<Diff>,
    /// The output of a command when it was last shown.
    printed: String,
    /// The output of a command from the last update that had some: the last update of an interrupted call
    /// contains only the reason.
    output: Option<PrintedOutput>,
}

impl TurnPrinter {
    pub(super) fn new(screen: RunScreen, cwd: PathBuf, clock: impl Clock) -> Self {
        Self {
            screen,
            cwd,
            clock: Box::new(clock),
            message: None,
            calls: HashMap::new(),
            plan: Vec::new(),
            crew: ActiveJobs::default(),
            prints_output: false,
        }
    }

    /// Shows one update. Updates without a use in a terminal are ignored.
    pub(super) fn show_update(&mut self, update: SessionUpdate) {
        match update {
            SessionUpdate::AgentMessageChunk(chunk) if self.prints_output => {
                self.screen.write_remark(block_text(&chunk.content));
            }
            SessionUpdate::AgentMessageChunk(chunk) => self.show_answer(&chunk),
            SessionUpdate::AgentThoughtChunk(chunk) => self.show_thought(&chunk),
            // The worker's own line represents its calls.
            SessionUpdate::ToolCall(call) if tool_meta(call.meta.as_ref()).worker_id.is_some() => {}
            SessionUpdate::ToolCall(call) => self.show_call(call),
            SessionUpdate::ToolCallUpdate(update) => self.update_call(update),
            SessionUpdate::Plan(plan) => self.show_plan(plan),
            SessionUpdate::SessionInfoUpdate(info) => {
                if let Some(activity) = AgentActivity::from_info(&info) {
                    self.show_activity(&activity);
                }
            }
            SessionUpdate::UserMessageChunk(chunk) => self.show_delivered(&chunk),
            // The user cannot choose commands, modes and options here.
            _ => {}
        }
    }

    fn show_answer(&mut self, chunk: &ContentChunk) {
        if self.message != chunk.message_id {
            self.message.clone_from(&chunk.message_id);
            self.screen.pause_answer();
        }
        self.screen.write_answer(block_text(&chunk.content));
    }

    /// Shows a message that the agent received in the middle of the turn. The prompt itself is visible and
    /// not repeated.
    fn show_delivered(&mut self, chunk: &ContentChunk) {
        let said = one_line(block_text(&chunk.content));
        self.screen
            .write_line(&[(PaintStyle::Bold, "> "), (PaintStyle::Plain, &said)]);
    }

    fn show_thought(&mut self, chunk: &ContentChunk) {
        if self.message != chunk.message_id {
            self.message.clone_from(&chunk.message_id);
            self.screen.end_thought();
        }
        self.screen.write_thought(block_text(&chunk.content));
    }

    fn show_call(&mut self, call: ToolCall) {
        let id = call.tool_call_id.clone();
        let title = one_line(&call.title).into_owned();
        let kind = call.kind;
        self.screen.begin_line(
            &id.0,
            &[
                (PaintStyle::Cyan, symbol(kind)),
                (PaintStyle::Plain, &title),
            ],
        );
        let open = RunningCall {
            kind,
            title,
            began: self.clock.elapsed(),
            content: call.content.clone(),
            result: call.raw_output.clone(),
            shown: Vec::new(),
            printed: String::new(),
            output: None,
        };
        self.calls.insert(id.clone(), open);
        self.show_diffs(&id, &call.content);
        if is_over(call.status) {
            self.end_call(&id, call.status);
        }
    }

    fn update_call(&mut self, update: ToolCallUpdate) {
        let (id, fields) = (update.tool_call_id, update.fields);
        if !self.calls.contains_key(&id) {
            return;
        }
        if let Some(content) = &fields.content {
            self.show_diffs(&id, content);
        }
        let Some(call) = self.calls.get_mut(&id) else {
            return;
        };
        if let Some(title) = &fields.title {
            call.title = one_line(title).into_owned();
        }
        let news = fields.content.is_some();
        if let Some(content) = fields.content {
            call.content = content;
        }
        call.result = fields.raw_output.or(call.result.take());
        if self.prints_output && call.kind == ToolKind::Execute {
            let now = parse_output(&call.content, call.result.as_ref());
            call.output = now.or(call.output.take());
        }
        match fields.status {
            Some(status) if is_over(status) => self.end_call(&id, status),
            _ if news => self.show_progress(&id),
            _ => {}
        }
    }

    /// Shows the new output of a running command; each update repeats the earlier output.
    fn show_progress(&mut self, id: &ToolCallId) {
        let Some(call) = self.calls.get_mut(id) else {
            return;
        };
        if call.kind == ToolKind::Execute && !self.prints_output {
            let now = text_lines(&call.content).join("\n");
            let before = std::mem::replace(&mut call.printed, now.clone());
            self.show_output(&find_new_lines(&before, &now));
        }
    }

    /// Shows changes to files, each once.
    pub(super) fn show_diffs(&mut self, id: &ToolCallId, content: &[ToolCallContent]) {
        for item in content {
            let ToolCallContent::Diff(diff) = item else {
                continue;
            };
            if let Some(call) = self.calls.get_mut(id) {
                if call.shown.contains(diff) {
                    continue;
                }
                call.shown.push(diff.clone());
            }
            for (style, line) in diff::unified_diff(diff, &self.cwd) {
                self.screen
                    .write_line(&[(PaintStyle::Plain, "  "), (style, &line)]);
            }
        }
    }

    fn end_call(&mut self, id: &ToolCallId, status: ToolCallStatus) {
        // The last output follows the earlier output, above the line with the result.
        let told = (self.calls.get(id)).is_some_and(|call| !call.printed.is_empty());
        if told {
            self.show_progress(id);
        }
        let Some(call) = self.calls.remove(id) else {
            return;
        };
        let took = text::format_duration((self.clock.elapsed() - call.began).as_millis());
        let output = text_lines(&call.content);
        let failed = status == ToolCallStatus::Failed;
        let prints = call.kind == ToolKind::Execute;
        // If the answer is the output, it must not contain anything else.
        let says_why = !prints || (self.prints_output && !is_output(&call));
        let reason = match output.first() {
            Some(first) if failed && says_why => format!("  {}", one_line(first)),
            _ => String::new(),
        };
        let (style, mark) = match failed {
            true => (PaintStyle::Red, "  ✗ "),
            false => (PaintStyle::Green, "  ✓ "),
        };
        let tail = [
            (style, mark),
            (PaintStyle::Dim, took.as_str()),
            (PaintStyle::Red, reason.as_str()),
        ];
        if !self.screen.end_line(&id.0, &tail) {
            let head = [
                (PaintStyle::Cyan, symbol(call.kind)),
                (PaintStyle::Plain, &call.title),
            ];
            self.screen.write_line(&[&head[..], &tail].concat());
        }
        if prints && self.prints_output {
            let PrintedOutput { text, is_cut } = call.output.unwrap_or_default();
            if is_cut {
                let words = "the output is cut; this is its end";
                self.screen.write_line(&[(PaintStyle::Yellow, words)]);
            }
            self.screen.write_output(&text);
        } else if prints && !told {
            self.show_output(&output);
        }
    }

    /// Shows the last lines of an output.
    fn show_output(&mut self, lines: &[&str]) {
        const LAST: usize = 20;
        let above = lines.len().saturating_sub(LAST);
        if above > 0 {
            let more = format!("  … {above} lines above");
            self.screen.write_line(&[(PaintStyle::Dim, &more)]);
        }
        for line in &lines[above..] {
            self.screen
                .write_line(&[(PaintStyle::Plain, "  "), (PaintStyle::Dim, line)]);
        }
    }

    /// Shows a new plan whole; of the same plan, only the entries that changed and that no worker's line
    /// shows.
    fn show_plan(&mut self, plan: Plan) {
        let before = std::mem::replace(&mut self.plan, plan.entries);
        let same = is_same_plan(&before, &self.plan);
        for (at, entry) in self.plan.iter().enumerate() {
            if same && (before[at].status == entry.status || self.crew.shows_task(&entry.content)) {
                continue;
            }
            let (style, mark) = plan_mark(&entry.status);
            let content = one_line(&entry.content);
            self.screen.write_line(&[(style, mark), (style, &content)]);
        }
    }
}

/// Returns whether the content of a call is the output of its command.
fn is_output(call: &RunningCall) -> bool {
    parse_output(&call.content, call.result.as_ref()).is_some()
}

/// Returns the lines of `now` that were not in `before`. `now` continues `before` but may have lost its
/// beginning; if no overlap is found, returns all of it after an ellipsis.
fn find_new_lines<'a>(before: &str, now: &'a str) -> Vec<&'a str> {
    /// An overlap of this many bytes is unlikely to be a coincidence.
    const TELLING: usize = 256;
    let seen = if now.starts_with(before) {
        Some(before.len())
    } else {
        let mut places = before.len().saturating_sub(TELLING)..;
        let from = places.find(|at| before.is_char_boundary(*at));
        let end = &before[from.unwrap_or(0)..];
        now.rfind(end).map(|at| at + end.len())
    };
    let Some(seen) = seen else {
        return std::iter::once("…").chain(now.split('\n')).collect();
    };
    let (old, rest) = now.split_at(seen);
    if rest.is_empty() {
        return Vec::new();
    }
    let new = match rest.strip_prefix('\n') {
        Some(next) if seen > 0 => next,
        // A line that has grown is shown again, whole.
        _ => &now[old.rfind('\n').map_or(0, |at| at + 1)..],
    };
    new.split('\n').collect()
}

#[cfg(test)]
mod tests {
    use agent_client_protocol::v1::schema::{
        Content, ContentBlock, PlanEntryPriority, PlanEntryStatus, TextContent,
        ToolCallUpdateFields,
    };
    use harn_model::Timestamp;

    use super::{super::screen::tests::CapturedOutput, *};

    /// A clock that does not advance.
    struct FrozenClock;

    impl Clock for FrozenClock {
        fn now(&self) -> Timestamp {
            0
        }

        fn elapsed(&self) -> Duration {
            Duration::ZERO
        }
    }

    fn show_all(updates: Vec<SessionUpdate>) -> String {
        let paper = CapturedOutput::default();
        let screen = RunScreen::new_shared(Box::new(paper.clone()), false);
        let mut show = TurnPrinter::new(screen, "/w".into(), FrozenClock);
        updates
            .into_iter()
            .for_each(|update| show.show_update(update));
        show.screen.finish().unwrap();
        paper.text()
    }

    fn agent_message(text: &str) -> SessionUpdate {
        SessionUpdate::AgentMessageChunk(ContentChunk::new(text.into()))
    }

    fn update(id: &str, fields: ToolCallUpdateFields) -> SessionUpdate {
        SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(id.to_owned(), fields))
    }

    fn text_content(text: &str) -> Vec<ToolCallContent> {
        let text = ContentBlock::Text(TextContent::new(text));
        vec![ToolCallContent::Content(Content::new(text))]
    }

    #[test]
    fn an_interrupted_call_keeps_its_output_as_the_answer() {
        let paper = CapturedOutput::default();
        let screen = RunScreen::new_shared(Box::new(paper.clone()), false);
        let mut show = TurnPrinter::new(screen, "/w".into(), FrozenClock);
        show.prints_output = true;
        let running = ToolCallUpdateFields::new().content(text_content("```\nstart\n```\n"));
        let cut_short = ToolCallUpdateFields::new()
            .status(ToolCallStatus::Failed)
            .content(text_content("the turn was cancelled"));
        let call = |id: &str| {
            SessionUpdate::ToolCall(ToolCall::new(id.to_owned(), "x").kind(ToolKind::Execute))
        };
        show.show_update(call("a"));
        show.show_update(update("a", running));
        show.show_update(update("a", cut_short.clone()));
        show.show_update(call("b"));
        show.show_update(update("b", cut_short));
        show.screen.finish().unwrap();
        let line = "$ x  ✗ 0 ms  the turn was cancelled\n";
        assert_eq!(paper.text(), format!("{line}start\n{line}"));
    }

    #[test]
    fn a_command_shows_the_end_of_its_output() {
        let call = ToolCall::new("a", "seq 22").kind(ToolKind::Execute);
        let printed: String = (1..=22).map(|n| format!("{n}\n")).collect();
        let running =
            ToolCallUpdateFields::new().content(text_content(&format!("```\n{printed}```")));
        let done = ToolCallUpdateFields::new().status(ToolCallStatus::Completed);
        let text = show_all(vec![
            SessionUpdate::ToolCall(call),
            update("a", running),
            update("a", done),
        ]);
        let last: String = (3..=22).map(|n| format!("  {n}\n")).collect();
        let expected = format!("$ seq 22\n  … 2 lines above\n{last}$ seq 22  ✓ 0 ms\n");
        assert_eq!(text, expected);
    }

    #[test]
    fn a_command_without_updates_is_one_line_above_its_output() {
        let call = ToolCall::new("a", "date").kind(ToolKind::Execute);
        let done = ToolCallUpdateFields::new()
            .status(ToolCallStatus::Completed)
            .content(text_content("```\nMonday\n```"));
        let text = show_all(vec![SessionUpdate::ToolCall(call), update("a", done)]);
        assert_eq!(text, "$ date  ✓ 0 ms\n  Monday\n");
    }

    #[test]
    fn only_new_lines_of_an_output_are_shown() {
        let none: [&str; 0] = [];
        assert_eq!(find_new_lines("", "a\nb"), ["a", "b"]);
        assert_eq!(find_new_lines("", "\nb"), ["", "b"]);
        assert_eq!(find_new_lines("a\nb", "a\nb"), none);
        assert_eq!(find_new_lines("a\nb", "a\nb\n\nc"), ["", "c"]);
        assert_eq!(find_new_lines("a\nb", "a\nbcd\ne"), ["bcd", "e"]);
        // The beginning is missing.
        let long = |range: std::ops::Range<u32>| {
            let lines: Vec<_> = range.map(|n| format!("line {n} →")).collect();
            lines.join("\n")
        };
        let cut = format!("The end:\n\n{}", long(50..101));
        assert_eq!(find_new_lines(&long(1..100), &cut), ["line 100 →"]);
        // Everything that was shown is missing.
        assert_eq!(find_new_lines("a\nb", "x\ny"), ["…", "x", "y"]);
    }

    #[test]
    fn a_call_is_one_line_unless_other_output_interrupts_it() {
        let call = |id: &str, title: &str| {
            let call = ToolCall::new(id.to_owned(), title).kind(ToolKind::Read);
            SessionUpdate::ToolCall(call)
        };
        let done = || ToolCallUpdateFields::new().status(ToolCallStatus::Completed);
        let failed = ToolCallUpdateFields::new()
            .status(ToolCallStatus::Failed)
            .content(text_content("no such file\nat all"));
        let text = show_all(vec![
            call("a", "Read a.rs"),
            update("a", done()),
            call("b", "Read b.rs"),
            agent_message("Meanwhile."),
            update("b", failed),
        ]);
        assert_eq!(
            text,
            "≡ Read a.rs  ✓ 0 ms\n≡ Read b.rs\n\nMeanwhile.\n\n≡ Read b.rs  ✗ 0 ms  no such file\n"
        );
    }

    #[test]
    fn a_diff_is_shown_once_with_a_relative_path() {
        let diff = || vec![ToolCallContent::Diff(Diff::new("/w/src/a.rs", "new\n"))];
        let call = ToolCall::new("a", "Write")
            .kind(ToolKind::Edit)
            .content(diff());
        let fields = ToolCallUpdateFields::new()
            .status(ToolCallStatus::Completed)
            .content(diff());
        let text = show_all(vec![SessionUpdate::ToolCall(call), update("a", fields)]);
        assert_eq!(
            text,
            "✎ Write\n  --- /dev/null\n  +++ src/a.rs\n  @@ -0,0 +1 @@\n  +new\n✎ Write  ✓ 0 ms\n"
        );
    }

    #[test]
    fn messages_do_not_run_together() {
        let chunk =
            |text: &str, id: &str| ContentChunk::new(text.into()).message_id(MessageId::new(id));
        let text = show_all(vec![
            SessionUpdate::AgentThoughtChunk(chunk("one ", "a")),
            SessionUpdate::AgentThoughtChunk(chunk("thought", "a")),
            SessionUpdate::AgentThoughtChunk(chunk("another", "b")),
            SessionUpdate::AgentMessageChunk(chunk("An ", "c")),
            SessionUpdate::AgentMessageChunk(chunk("answer.", "c")),
            SessionUpdate::AgentMessageChunk(chunk("And more.", "d")),
        ]);
        assert_eq!(text, "one thought\nanother\n\nAn answer.\n\nAnd more.\n");
    }

    #[test]
    fn an_updated_plan_shows_only_changed_entries() {
        let plan = |first, second| {
            let entry =
                |content: &str, status| PlanEntry::new(content, PlanEntryPriority::Medium, status);
            SessionUpdate::Plan(Plan::new(vec![
                entry("look", first),
                entry("answer", second),
            ]))
        };
        use PlanEntryStatus::{Completed, InProgress, Pending};
        let text = show_all(vec![
            plan(InProgress, Pending),
            plan(Completed, InProgress),
            plan(Completed, Completed),
        ]);
        assert_eq!(
            text,
            "[>] look\n[ ] answer\n[x] look\n[>] answer\n[x] answer\n"
        );
    }
}
