//! The clients that are known to show only plain ACP, by the `clientInfo.name` that they send.
//!
//! None of them renders an update with a Harn discriminator: typed SDKs drop or log it. In the profile `acp`
//! they show workers, progress and skills as thoughts and tool calls. Names are compared whole, without
//! regard to case. A client that sends no name, such as avante.nvim or yopo, cannot be in this table.

/// Returns whether a client with this name is known to show plain ACP only.
pub(crate) fn shows_plain_acp(name: &str) -> bool {
    let lists = [SEEN, JETBRAINS, IN_SOURCES, LISTED];
    let mut names = lists.into_iter().flat_map(|list| list.split(", "));
    names.any(|known| known.eq_ignore_ascii_case(name))
}

/// Names that running clients sent: acpx 0.19, agent-shell 0.74, agentpool, CodeCompanion, the check of the
/// ACP registry, Toad 0.6.
const SEEN: &str = "\
    ACP Registry Validator, acpx, agent-shell, agentpool, CodeCompanion.nvim, toad";

/// The IDEs of JetBrains. AI Assistant sends `JetBrains.` and the product's name; agents record it as the
/// `originator` (Codex) or `client_name` (Copilot) of a session.
const JETBRAINS: &str = "\
    JetBrains.Android Studio, JetBrains.Aqua, JetBrains.CLion, JetBrains.DataGrip, JetBrains.DataSpell, \
    JetBrains.GoLand, JetBrains.IntelliJ IDEA, JetBrains.MPS, JetBrains.PhpStorm, JetBrains.PyCharm, \
    JetBrains.Rider, JetBrains.RubyMine, JetBrains.RustRover, JetBrains.WebStorm, JetBrains.Writerside";

/// Names that the sources of clients put into `clientInfo`. The clients are those of the public list,
/// <https://agentclientprotocol.com/get-started/clients>, at commit 03e8a5e6 of its repository.
const IN_SOURCES: &str = "\
    acp-discord, acp-discord-task-runner, acp-ui, Agentic.nvim, Agmente iOS, AionUi, cc-connect, \
    DeepChat, happy-cli, Harnss, hydra-acp-shim, hydra-acp-tui, jockey, juan, mobvibe, mobvibe-cli, \
    nori, obsidian-agent-client, obsidian-copilot, vibex, vscode-acp-client, wechat-acp, zed";

/// Other clients of the same list, by the name of their project. The names that they send are not known.
const LISTED: &str = "\
    acp-components, acp-connector, acp-inspector, acp-patchbay, acp-pro, acp-sidepanel, acp-to-agui, \
    acp_rpc_bridge, AcpAgentClient, acpdbg, acprouter, agent-client-kernel, agent-studio, agentconnect, \
    agentops, agentos, agentrq, ai-elements-remix-template, aizen, alchemy, anycode, aptove, \
    avante.nvim, Braide, Capsule, casper, chrome-acp, ClawX, clover, codeg, compozy, Devin Desktop, \
    duckdb-acp, duckdb-claude-slack, Exo, fabriqa.ai, fast-agent, ferngeist, gemini-cli-desktop, \
    Ghosty Teams, Gold Band, hash, hermes.nvim, intelligent-terminal, kangaroo, Kepler, Kronos, \
    lark-acp, Lody, marimo, martty, Mastra, mitto, multicoder, Newio, ngent, obsidian-agent-console, \
    obsidian-harness, octop, OmniGet, Open Knowledge, openacp, OpenClaw, Paca, Panda, Perch, \
    pilion-browser, pool, Poolside Assistant, Poolside Desktop Assistant, pulsar-acp-agent, qq-ai-bot, \
    Qt Creator, qwen-audio-agent, rayclaw, Reemoat, remote-agent-server, rlm-code, Runmote, Shellular, \
    Sidequery, sniptail, sublime-acp, Superlite, Telegram-ACP, telegram-acp-bot, TermFold, tidewave, \
    tlbx, UnityACPClient, UnityAgentClient, VACP, vibearound, zooid";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_compared_whole_and_without_case() {
        for name in [
            "zed",
            "Zed",
            "TOAD",
            "codecompanion.nvim",
            "JetBrains.intellij idea",
        ] {
            assert!(shows_plain_acp(name), "{name}");
        }
        for name in ["", "zed-fork", "JetBrains", "JetBrains.", "strict", "acpx2"] {
            assert!(!shows_plain_acp(name), "{name}");
        }
    }
}
