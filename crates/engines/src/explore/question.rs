//! Answers a question in steps: plan, search, read, answer. Attachments of the prompt are read first.

use std::{collections::HashMap, fmt::Write, sync::Arc};

use harn_runtime::{AgentError, TurnContext};
use harn_tools::{
    Corpus, FileRead, SearchHit, SearchQuery, SearchResults, defined_name, display_path, short_item,
};

use super::{
    attachment::PromptAttachment,
    files::{read, separate_tool_failure},
    markdown::{code, join_with_and, shorten},
    result_limit,
    search::{describe_no_hits, say_note, search},
    steps::PlannedSteps,
    text_excerpt::TextExcerpt,
    toolbox,
};

/// The maximum number of files to read for an answer; further hits are only listed.
const MAX_READ: usize = 4;

pub(super) async fn answer(
    cx: &TurnContext,
    text: &str,
    attached: &[PromptAttachment],
) -> Result<(), AgentError> {
    let query = SearchQuery::question(text);
    if query.is_empty() && attached.is_empty() {
        return overview(cx).await;
    }
    let mut plan = Vec::new();
    if !attached.is_empty() {
        plan.push("Read the attachments of the question".to_owned());
    }
    if !query.is_empty() {
        plan.push(format!("Search for {}", quote_words(query.words())));
        plan.push("Read the best matches".to_owned());
    }
    plan.push("Answer with files and lines".to_owned());
    let mut steps = PlannedSteps::begin(cx, plan).await?;

    let mut known = AttachedExcerpts::default();
    if !attached.is_empty() {
        known.read_attachments(cx, attached, &query).await?;
        steps.next().await?;
    }
    if query.is_empty() {
        known.say(cx).await?;
        return steps.finish().await;
    }
    let found = match separate_tool_failure(search(cx, query.clone(), result_limit(cx)).await)? {
        Ok(found) => found,
        Err(reason) => {
            cx.say(format!("Not searched: {reason}.")).await?;
            return steps.finish().await;
        }
    };
    steps.next().await?;
    let answer = ExploreAnswer::read(cx, &query, found).await?;
    steps.next().await?;
    known.say(cx).await?;
    answer.say(cx, &query, known.is_empty()).await?;
    steps.finish().await
}

/// Excerpts of the attachments that could be read, and the reasons for those that could not.
#[derive(Default)]
struct AttachedExcerpts {
    places: Vec<TextExcerpt>,
    unread: Vec<String>,
}

impl AttachedExcerpts {
    async fn read_attachments(
        &mut self,
        cx: &TurnContext,
        attached: &[PromptAttachment],
        query: &SearchQuery,
    ) -> Result<(), AgentError> {
        for one in attached {
            match one {
                PromptAttachment::Text { name, text } => {
                    let name = display_path(cx.cwd(), name.as_ref());
                    let line = best_line(&name, text, query);
                    self.places.push(TextExcerpt::new(&name, text, line));
                }
                PromptAttachment::File { path, line } => {
                    match separate_tool_failure(read(cx, path, *line).await)? {
                        Ok(FileRead { path, text, .. }) => {
                            let line = line.unwrap_or_else(|| best_line(&path, &text, query));
                            self.places.push(TextExcerpt::new(&path, &text, line));
                        }
                        Err(reason) => self.unread.push(reason),
                    }
                }
                PromptAttachment::Unreadable { name } => {
                    let name = code(name);
                    self.unread
                        .push(format!("{name} is not a text that this agent can fetch"));
                }
            }
        }
        Ok(())
    }

    fn is_empty(&self) -> bool {
        self.places.is_empty() && self.unread.is_empty()
    }

    async fn say(&self, cx: &TurnContext) -> Result<(), AgentError> {
        if !self.places.is_empty() {
            cx.say("In the attachments of the question:\n\n").await?;
        }
        for (place, number) in self.places.iter().zip(1..) {
            cx.say(place.item(number)).await?;
        }
        for reason in &self.unread {
            cx.say(format!("Not read: {reason}.\n\n")).await?;
        }
        Ok(())
    }
}

/// Returns the best line of one text, or the first if none matches. Of a huge text, it searches only the
/// beginning: this runs between two awaits.
fn best_line(path: &str, text: &str, query: &SearchQuery) -> u32 {
    const MAX: usize = 512 * 1024;
    let mut end = text.len().min(MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let mut corpus = Corpus::new(query);
    corpus.add(path, &text[..end]);
    corpus.rank(1).first().map_or(1, |hit| hit.line)
}

/// Excerpts of the files that were read, hits in files that were not, and the search results.
pub(super) struct ExploreAnswer {
    places: Vec<TextExcerpt>,
    others: Vec<SearchHit>,
    defined: Option<String>,
    found: SearchResults,
}

impl ExploreAnswer {
    pub(super) async fn read(
        cx: &TurnContext,
        query: &SearchQuery,
        found: SearchResults,
    ) -> Result<Self, AgentError> {
        let mut texts: HashMap<String, Option<Arc<str>>> = HashMap::new();
        let mut places = Vec::new();
        let mut others = Vec::new();
        for hit in &found.hits {
            if !texts.contains_key(&hit.path) && texts.len() < MAX_READ {
                let file = separate_tool_failure(read(cx, &hit.path, Some(hit.line)).await)?;
                texts.insert(hit.path.clone(), file.ok().map(|file| file.text));
            }
            match texts.get(&hit.path) {
                Some(Some(text)) => places.push(TextExcerpt::from_hit(hit, text, query)),
                _ => others.push(hit.clone()),
            }
        }
        let names = found.hits.first().and_then(|hit| defined_name(&hit.text));
        let defined = names.filter(|name| query.asks_for(name)).map(code);
        Ok(Self {
            places,
            others,
            defined,
            found,
        })
    }

    /// Sends the answer; `alone` if no text was sent before it.
    pub(super) async fn say(
        &self,
        cx: &TurnContext,
        query: &SearchQuery,
        alone: bool,
    ) -> Result<(), AgentError> {
        if self.found.hits.is_empty() {
            return cx.say(describe_no_hits(query.words())).await;
        }
        cx.say(self.opening(query, alone)).await?;
        for (place, number) in self.places.iter().zip(1..) {
            if cx.is_cancelled() {
                return Err(AgentError::Cancelled);
            }
            cx.say(place.item(number)).await?;
        }
        if !self.others.is_empty() {
            if !self.places.is_empty() {
                cx.say("Also worth a look:\n\n").await?;
            }
            for hit in &self.others {
                cx.say(short_item(&hit.path, hit.line, &hit.text)).await?;
            }
            cx.say("\n").await?;
        }
        say_note(cx, &self.found.walked).await?;
        cx.say(
            "This is a text search, not a model. `/read PATH:LINE` shows more of a file, `/grep REGEX` \
             finds an exact text.",
        )
        .await
    }

    /// Returns the sentence that introduces the list of excerpts.
    fn opening(&self, query: &SearchQuery, alone: bool) -> String {
        let missing = &self.found.missing;
        let words = query.words().iter().filter(|word| !missing.contains(word));
        let words: Vec<_> = words.map(|word| code(word)).collect();
        let appear = if words.len() == 1 {
            format!("The word {} appears", words[0])
        } else {
            format!("The words {} appear", join_with_and(&words))
        };
        let where_else = if alone { "" } else { " in the workspace" };
        let mut out = match &self.defined {
            Some(name) => format!("{name} is defined in the first of these places"),
            None => format!("{appear} most in these places{where_else}"),
        };
        if !missing.is_empty() {
            let missing: Vec<_> = missing.iter().map(|word| code(word)).collect();
            // Writing into a string cannot fail.
            let _ = write!(out, "; nothing mentions {}", join_with_and(&missing));
        }
        out + ":\n\n"
    }
}

/// Answers a question that has no search words: with the README and the top-level entries.
async fn overview(cx: &TurnContext) -> Result<(), AgentError> {
    let plan = ["List the workspace", "Read its README", "Sum up"];
    let mut steps = PlannedSteps::begin(cx, plan.map(str::to_owned).to_vec()).await?;
    let top = match separate_tool_failure(list_top(cx).await)? {
        Ok(top) => top,
        Err(reason) => {
            cx.say(format!("Not listed: {reason}.")).await?;
            return steps.finish().await;
        }
    };
    steps.next().await?;
    let is_readme = |name: &&String| name.to_lowercase().starts_with("readme");
    let readme = match top.iter().find(is_readme) {
        Some(name) => separate_tool_failure(read(cx, name, None).await)?.ok(),
        None => None,
    };
    steps.next().await?;
    if let Some(readme) = readme {
        let beginning = first_paragraph(&readme.text);
        cx.say(format!(
            "{} begins:\n\n> {beginning}\n\n",
            code(&readme.path)
        ))
        .await?;
    }
    let names: Vec<_> = top.iter().map(|name| code(name)).collect();
    if names.is_empty() {
        cx.say("This workspace has no visible files.\n\n").await?;
    } else {
        cx.say(format!(
            "The workspace contains {}.\n\n",
            join_with_and(&names)
        ))
        .await?;
    }
    cx.say(
        "Ask with the words you are looking for, such as *where is the configuration read?*, or see \
         `/help`.",
    )
    .await?;
    steps.finish().await
}

/// Lists the top-level entries of the workspace.
pub(super) async fn list_top(cx: &TurnContext) -> Result<Vec<String>, AgentError> {
    toolbox(cx).list_files(cx).await
}

/// Returns the first paragraph of prose: no heading, badge or markup.
fn first_paragraph(readme: &str) -> String {
    const MAX: usize = 600;
    let says = |line: &str| !line.is_empty() && !line.starts_with(['#', '!', '<', '[', '=', '-']);
    let lines = readme.lines().map(str::trim);
    let paragraph = lines
        .skip_while(|line| !says(line))
        .take_while(|line| !line.is_empty());
    shorten(&paragraph.collect::<Vec<_>>().join(" "), MAX)
}

fn quote_words(words: &[String]) -> String {
    let words: Vec<_> = words.iter().map(|word| format!("\"{word}\"")).collect();
    join_with_and(&words)
}
