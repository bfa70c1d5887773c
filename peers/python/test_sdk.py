"""The Python SDK as a client of harn-serve."""

import asyncio
import contextlib
import json
import os
import re
import tempfile
import unittest
from pathlib import Path

from acp import PROTOCOL_VERSION, spawn_agent_process, text_block
from acp.connection import StreamDirection
from acp.schema import (
    AcceptElicitationResponse,
    AllowedOutcome,
    CancelElicitationResponse,
    ClientCapabilities,
    DeclineElicitationResponse,
    DeniedOutcome,
    ElicitationCapabilities,
    ElicitationFormCapabilities,
    Implementation,
    RequestPermissionResponse,
)

PEERS = Path(__file__).resolve().parents[1]
FIXTURES = PEERS.parent / "fixtures"
SCENARIOS = {
    "peer": FIXTURES / "scenarios" / "peer.yaml",
    "tour": FIXTURES / "scenarios" / "tour.yaml",
    "person": PEERS / "person.yaml",
}
# Only so that a hang fails instead of hanging: nothing here measures time.
PATIENCE_S = 60
# The updates that tell the conversation; the others describe the session.
STORY = {"agent_message_chunk", "agent_thought_chunk", "plan", "tool_call", "tool_call_update"}
COMPLAINT = re.compile(r"\b(warn|error)\b|panicked", re.IGNORECASE)
# The options of a permission request: their ids, ACP's kinds and how long they hold.
OPTIONS = [
    ("allow_once", "allow_once", "once"),
    ("allow_session", "allow_always", "session"),
    ("allow_always", "allow_always", "always"),
    ("reject_once", "reject_once", "once"),
    ("reject_always", "reject_always", "always"),
]
# What stands beside ACP's members in the profile harn, and under `_meta.harn` in all of them.
EXTRA = {"approvalRequest", "declaredPaths", "mutation", "policyDecision"}


class Host:
    """Keeps every update; answers permissions with `choice`, or cancels, and forms with `answers`."""

    def __init__(self):
        self.wire = []
        self.updates = []
        self.events = []
        self.asked = []
        self.choice = "allow_once"
        self.forms = []
        self.answers = []
        self.working = asyncio.Event()

    async def session_update(self, session_id, update, **_):
        seen = update.model_dump(mode="json", by_alias=True, exclude_none=True)
        self.updates.append(seen)
        if seen["sessionUpdate"] == "agent_message_chunk" and seen["content"]["text"] == "working":
            self.working.set()

    async def ext_notification(self, method, params):
        # The SDK takes the underscore off.
        self.events.append((f"_{method}", params))

    def observe(self, event):
        """What was on the wire, before the SDK made anything of it."""
        if event.direction is StreamDirection.INCOMING:
            self.wire.append(event.message)

    async def request_permission(self, session_id, tool_call, options, **meta):
        self.asked.append((session_id, tool_call, options, meta))
        outcome = DeniedOutcome(outcome="cancelled")
        if self.choice:
            outcome = AllowedOutcome(outcome="selected", option_id=self.choice)
        return RequestPermissionResponse(outcome=outcome)

    async def create_elicitation(self, message, mode, **_):
        self.forms.append((message, mode))
        return self.answers.pop(0)

    def of(self, kind):
        return [u for u in self.updates if u["sessionUpdate"] == kind]

    def text(self, kind):
        return "".join(u["content"]["text"] for u in self.of(kind))

    def sent(self, method):
        return [m["params"] for m in self.wire if m.get("method") == method]

    def story(self):
        """The conversation: chunks of one message joined, `_meta` left out."""
        told = []
        for update in self.updates:
            kind = update["sessionUpdate"]
            if kind not in STORY:
                continue
            update = {k: v for k, v in update.items() if k != "_meta"}
            if not kind.endswith("_chunk"):
                told.append(update)
                continue
            key = (kind, update.get("messageId"))
            if told and (told[-1]["sessionUpdate"], told[-1].get("messageId")) == key:
                text = told[-1]["content"]["text"] + update["content"]["text"]
                told[-1]["content"] = {"type": "text", "text": text}
            else:
                told.append(update)
        return told


class PythonSdk(unittest.IsolatedAsyncioTestCase):
    def setUp(self):
        root = tempfile.TemporaryDirectory(prefix="harn-peer-py-")
        self.addCleanup(root.cleanup)
        self.cwd = os.path.realpath(root.name)
        self.state = os.path.join(self.cwd, "state")

    async def asyncSetUp(self):
        # unittest runs the loop in debug mode, which warns of slow steps: a loaded machine is no fault.
        asyncio.get_running_loop().slow_callback_duration = float("inf")

    @contextlib.asynccontextmanager
    async def agent(self, wish=None, play="peer", form=False):
        """A fresh, initialized agent process; on the way out nobody may have complained.

        `wish` is the profile the client asks for; without it the command line decides on plain ACP.
        """
        host = Host()
        command = [os.environ["HARN_SERVE"], "acp", "--engine", f"script:{SCENARIOS[play]}"]
        command += ["--state-dir", self.state, "--profile", "acp"]
        capabilities = ClientCapabilities(
            field_meta={"harn": {"profile": wish}} if wish else None,
            elicitation=ElicitationCapabilities(form=ElicitationFormCapabilities()) if form else None,
        )
        # In the profile harn the SDK reports each update it does not know, as the tour has; that is its right.
        loud = (wish, play) == ("harn", "tour")
        quiet = self.assertLogs(level="WARNING") if loud else self.assertNoLogs(level="WARNING")
        with tempfile.TemporaryFile("w+") as stderr, quiet as self.complaints:
            async with (
                asyncio.timeout(PATIENCE_S),
                spawn_agent_process(
                    host,
                    *command,
                    # The SDK hands on little of the environment; rules of one's own are not wanted here.
                    env={"XDG_CONFIG_HOME": os.environ.get("XDG_CONFIG_HOME", self.cwd)},
                    transport_kwargs={"stderr": stderr, "shutdown_timeout": PATIENCE_S},
                    observers=[host.observe],
                    # Without it the SDK refuses forms.
                    use_unstable_protocol=form,
                ) as (connection, process),
            ):
                self.hello = await connection.initialize(
                    protocol_version=PROTOCOL_VERSION,
                    client_capabilities=capabilities,
                    client_info=Implementation(name="harn-peer", version="1.0.0"),
                )
                yield host, connection
            stderr.seek(0)
            self.assertNotRegex(stderr.read(), COMPLAINT)
            self.assertEqual(process.returncode, 0)

    async def cancelled(self, host, connection, session):
        slow = asyncio.create_task(connection.prompt(session_id=session, prompt=[text_block("slow")]))
        await host.working.wait()
        await connection.cancel(session_id=session)
        return (await slow).stop_reason

    async def test_initialize(self):
        async with self.agent():
            self.assertEqual(self.hello.protocol_version, 1)
            self.assertEqual(self.hello.agent_info.name, "peer")
            self.assertTrue(self.hello.agent_capabilities.load_session)
            self.assertIsNotNone(self.hello.agent_capabilities.session_capabilities.list)

    async def test_a_turn(self):
        async with self.agent() as (host, connection):
            session = (await connection.new_session(cwd=self.cwd)).session_id
            answer = await connection.prompt(session_id=session, prompt=[text_block("hello")])
            self.assertEqual(answer.stop_reason, "end_turn")
            self.assertEqual(host.text("agent_thought_chunk"), "Where is it?")
            self.assertEqual(host.text("agent_message_chunk"), "There are three lines.")
            plan = [entry["content"] for entry in host.of("plan")[0]["entries"]]
            self.assertEqual(plan, ["Look at the file", "Answer"])
            call = host.of("tool_call")[0]
            self.assertEqual((call["toolCallId"], call["kind"]), ("look-1", "read"))
            end = host.of("tool_call_update")[-1]
            self.assertEqual((end["toolCallId"], end["status"]), ("look-1", "completed"))

    async def test_permission(self):
        cases = [
            ("allow_once", "It is written.", "completed"),
            ("reject_once", "Then I leave it.", "failed"),
        ]
        for choice, words, status in cases:
            with self.subTest(choice):
                async with self.agent() as (host, connection):
                    host.choice = choice
                    session = (await connection.new_session(cwd=self.cwd)).session_id
                    answer = await connection.prompt(session_id=session, prompt=[text_block("perm please")])
                    self.assertEqual(answer.stop_reason, "end_turn")
                    [(asked_in, tool_call, options, _)] = host.asked
                    self.assertEqual(asked_in, session)
                    self.assertEqual((tool_call.title, tool_call.kind), ("Write notes.txt", "edit"))
                    offered = [(o.option_id, o.kind) for o in options]
                    self.assertEqual(offered, [(option_id, kind) for option_id, kind, _ in OPTIONS])
                    self.assertEqual(host.text("agent_message_chunk"), f"May I write a note? {words}")
                    end = host.of("tool_call_update")[-1]
                    self.assertEqual((end["toolCallId"], end["status"]), (tool_call.tool_call_id, status))

    async def write(self, host, connection, session):
        """Has a file written: whether it was, and how often somebody was asked."""
        notes = Path(self.cwd, "notes.txt")
        notes.unlink(missing_ok=True)
        before = len(host.asked)
        answer = await connection.prompt(session_id=session, prompt=[text_block("write")])
        self.assertEqual(answer.stop_reason, "end_turn")
        status = host.of("tool_call_update")[-1]["status"]
        self.assertEqual(status, "completed" if notes.exists() else "failed")
        return notes.exists(), len(host.asked) - before

    async def test_each_permission_holds_as_long_as_it_says(self):
        # For each option: how often is asked again in the same session, in another, in the next process.
        cases = {
            "allow_once": (1, 1, 1),
            "allow_session": (0, 1, 1),
            "allow_always": (0, 0, 0),
            "reject_once": (1, 1, 1),
            "reject_always": (0, 0, 0),
        }
        for choice, (in_session, in_other, in_next) in cases.items():
            with self.subTest(choice), tempfile.TemporaryDirectory() as self.state:
                allowed = choice.startswith("allow")
                async with self.agent(play="person") as (host, connection):
                    host.choice = choice
                    first = (await connection.new_session(cwd=self.cwd)).session_id
                    self.assertEqual(await self.write(host, connection, first), (allowed, 1))
                    self.assertEqual(await self.write(host, connection, first), (allowed, in_session))
                    other = (await connection.new_session(cwd=self.cwd)).session_id
                    self.assertEqual(await self.write(host, connection, other), (allowed, in_other))
                async with self.agent(play="person") as (host, connection):
                    host.choice = choice
                    session = (await connection.new_session(cwd=self.cwd)).session_id
                    self.assertEqual(await self.write(host, connection, session), (allowed, in_next))

    async def test_a_cancelled_permission_cancels_the_turn(self):
        async with self.agent(play="person") as (host, connection):
            session = (await connection.new_session(cwd=self.cwd)).session_id
            host.choice = None
            answer = await connection.prompt(session_id=session, prompt=[text_block("write")])
            self.assertEqual(answer.stop_reason, "cancelled")
            self.assertFalse(Path(self.cwd, "notes.txt").exists())
            host.choice = "allow_once"
            self.assertEqual(await self.write(host, connection, session), (True, 1))

    async def test_a_permission_request_arrives_whole_in_every_profile(self):
        # Nobody complains, so the SDK did not mind what is beside ACP's members.
        for wish in ["acp", "meta", "harn"]:
            with self.subTest(wish):
                async with self.agent(wish, play="person") as (host, connection):
                    session = (await connection.new_session(cwd=self.cwd)).session_id
                    await self.write(host, connection, session)
                    [sent] = host.sent("session/request_permission")
                    self.assertEqual(EXTRA & sent.keys(), EXTRA if wish == "harn" else set())
                    [(_, tool_call, options, meta)] = host.asked
                    harn = meta["harn"]
                    self.assertEqual(harn, sent["_meta"]["harn"])
                    self.assertLessEqual(EXTRA, harn.keys())
                    [diff] = tool_call.content
                    self.assertEqual((diff.type, diff.new_text), ("diff", "Seen by a peer.\n"))
                    self.assertEqual(harn["policyDecision"]["action"], "ask")
                    self.assertGreater(harn["deadline"], harn["approvalRequest"]["requested_at"])
                    scopes = [(o["optionId"], o["scope"]) for o in harn["options"]]
                    self.assertEqual(scopes, [(option_id, scope) for option_id, _, scope in OPTIONS])

    async def test_forms(self):
        accept = lambda **content: AcceptElicitationResponse(action="accept", content=content)
        cases = [
            ([accept(answer="9090"), accept(approved=True)], "Noted. Deployed."),
            ([accept(answer="9090"), accept(approved=False)], "Noted. Not deployed."),
            ([accept(answer="8080"), DeclineElicitationResponse(action="decline")], "Noted. Not deployed."),
            ([DeclineElicitationResponse(action="decline"), CancelElicitationResponse(action="cancel")],
             "No port. Nobody said."),
        ]
        for answers, words in cases:
            with self.subTest(words):
                async with self.agent(play="person", form=True) as (host, connection):
                    host.answers = list(answers)
                    session = (await connection.new_session(cwd=self.cwd)).session_id
                    answer = await connection.prompt(session_id=session, prompt=[text_block("release")])
                    self.assertEqual(answer.stop_reason, "end_turn")
                    self.assertEqual(host.text("agent_message_chunk"), words)
                    (question, mode), (approval, _) = host.forms
                    self.assertEqual(question, "Which port?")
                    self.assertEqual(mode.requested_schema.properties["answer"].enum, ["8080", "9090"])
                    self.assertIn("deploy", approval)
                    self.assertEqual(host.asked, [], "nothing came as a permission beside the forms")

    async def test_choices_where_there_are_no_forms(self):
        async with self.agent(play="person") as (host, connection):
            host.choice = None
            session = (await connection.new_session(cwd=self.cwd)).session_id
            answer = await connection.prompt(session_id=session, prompt=[text_block("release")])
            self.assertEqual(answer.stop_reason, "end_turn")
            self.assertEqual(host.text("agent_message_chunk"), "No port. Nobody said.")
            offered = [[o.option_id for o in options] for _, _, options, _ in host.asked]
            self.assertEqual(offered, [["choice_0", "choice_1", "reject"], ["approve", "reject"]])

    async def test_cancel_and_go_on(self):
        async with self.agent() as (host, connection):
            session = (await connection.new_session(cwd=self.cwd)).session_id
            self.assertEqual(await self.cancelled(host, connection, session), "cancelled")
            answer = await connection.prompt(session_id=session, prompt=[text_block("hello")])
            self.assertEqual(answer.stop_reason, "end_turn")

    async def test_list(self):
        async with self.agent() as (host, connection):
            session = (await connection.new_session(cwd=self.cwd)).session_id
            await connection.prompt(session_id=session, prompt=[text_block("hello")])
            found = (await connection.list_sessions(cwd=self.cwd)).sessions
            self.assertEqual([(s.session_id, s.cwd) for s in found], [(session, self.cwd)])
            elsewhere = os.path.join(self.cwd, "elsewhere")
            self.assertEqual((await connection.list_sessions(cwd=elsewhere)).sessions, [])

    async def test_load_in_a_new_process_replays_what_was_seen_live(self):
        prompts = ["hello", "perm one", "perm two"]
        async with self.agent() as (live, connection):
            session = (await connection.new_session(cwd=self.cwd)).session_id
            for text, live.choice in zip(prompts, ["allow_once", "allow_once", "reject_once"]):
                await connection.prompt(session_id=session, prompt=[text_block(text)])
            await self.cancelled(live, connection, session)
        async with self.agent() as (replayed, connection):
            await connection.load_session(cwd=self.cwd, session_id=session)
            self.assertEqual(replayed.story(), live.story())
            self.assertGreaterEqual(len(live.story()), 12)
            said = [u["content"]["text"] for u in replayed.of("user_message_chunk")]
            self.assertEqual(said, [*prompts, "slow"])
            self.assertEqual(replayed.asked, [], "a settled question is not asked again")

    async def test_activity_that_plain_acp_has_no_word_for(self):
        async with self.agent() as (host, connection):
            session = (await connection.new_session(cwd=self.cwd)).session_id
            answer = await connection.prompt(session_id=session, prompt=[text_block("activity")])
            self.assertEqual(answer.stop_reason, "end_turn")
            self.assertIn("All quiet.", host.text("agent_message_chunk"))

    # What becomes of everything beyond ACP on its way through the SDK. The wire is read beside it, so
    # that what was sent can be held against what a host is handed.

    @contextlib.asynccontextmanager
    async def everything(self, wish):
        """The turn of the tour that has everything, in a session that is closed after it."""
        async with self.agent(wish, play="tour") as (host, connection):
            session = (await connection.new_session(cwd=self.cwd)).session_id
            answer = await connection.prompt(session_id=session, prompt=[text_block("/everything")])
            self.assertEqual(answer.stop_reason, "end_turn")
            await connection.close_session(session_id=session)
            harn = self.hello.agent_capabilities.field_meta["harn"]
            sent = [params["update"] for params in host.sent("session/update")]
            yield host, harn, sent

    async def test_meta_every_advertised_extension_reaches_the_typed_callback(self):
        async with self.everything("meta") as (host, harn, sent):
            received = carried(host.updates)
            self.assertEqual(received, carried(sent))
            seen = {fields["sessionUpdate"] for fields in received}
            seen |= {"available_commands_update"} & {u["sessionUpdate"] for u in host.updates}
            self.assertEqual(sorted(seen), harn["sessionUpdateExtensions"])
            self.assertGreaterEqual(len(seen), 19)

            # The tour reports the progress that is pinned; what arrives is what the fixture has.
            pinned = json.loads((FIXTURES / "acp" / "progress.meta.json").read_text())
            self.assertIn(pinned["params"]["update"]["_meta"]["harn"], received)
            end = [f for f in received if f["sessionUpdate"] == "worker_update" and f["terminal"]][-1]
            for field in ["workerId", "workerName", "workerTask", "workerMode", "event", "status"]:
                self.assertIsInstance(end[field], str, field)

            method = "_harn/agentEvent"
            self.assertEqual(host.events, [(method, params) for params in host.sent(method)])
            kinds = sorted({params["kind"] for _, params in host.events})
            self.assertEqual(kinds, harn["extensionMethods"][method]["kinds"])

    async def test_harn_the_sdk_keeps_the_extensions_from_its_host(self):
        async with self.everything("harn") as (host, harn, sent):
            # `user_message` is the contract's, and ACP v2's: no client of v1 knows it.
            unknown = set(harn["sessionUpdateExtensions"]) - {"available_commands_update"} | {"user_message"}
            self.assertLessEqual(unknown, {u["sessionUpdate"] for u in sent})
            self.assertEqual(unknown & {u["sessionUpdate"] for u in host.updates}, set())
            self.assertEqual(carried(host.updates), [])
            # Notifications of our own are no trouble.
            self.assertEqual([params for _, params in host.events], host.sent("_harn/agentEvent"))
        dropped = [u for u in sent if u["sessionUpdate"] in unknown]
        self.assertEqual(len(self.complaints.records), len(dropped), "one complaint for each it dropped")

    async def test_acp_nothing_unknown_is_sent_and_something_is_seen_to_happen(self):
        async with self.everything("acp") as (host, harn, sent):
            self.assertNotIn("sessionUpdateExtensions", harn)
            self.assertEqual(len(host.updates), len(sent), "every update was delivered")
            self.assertEqual((carried(sent), host.sent("_harn/agentEvent"), host.events), ([], [], []))
            thoughts = host.text("agent_thought_chunk")
            for word in ["Indexing the workspace", "rust-review", "Is a burst allowed?", "Reviewer"]:
                self.assertIn(word, thoughts)
            begun = [u for u in host.of("tool_call") if u["title"].startswith("tester: ")][0]
            worker = [u for u in host.updates if u.get("toolCallId") == begun["toolCallId"]]
            self.assertEqual((begun["status"], worker[-1]["status"]), ("in_progress", "completed"))


def carried(updates):
    """The extensions that came on the carrier: `_meta.harn` of a `session_info_update`."""
    carriers = [u for u in updates if u["sessionUpdate"] == "session_info_update"]
    return [u["_meta"]["harn"] for u in carriers if "harn" in u.get("_meta", {})]


if __name__ == "__main__":
    unittest.main()
