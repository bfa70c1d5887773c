"""The Python SDK as a client of harn-serve."""

import contextlib
import json
import os
import tempfile
import unittest
from pathlib import Path

from acp import text_block
from acp.schema import AcceptElicitationResponse, CancelElicitationResponse, DeclineElicitationResponse

from host import FIXTURES, Peer

# The options of a permission request: their ids, ACP's kinds and how long they are valid.
OPTIONS = [
    ("allow_once", "allow_once", "once"),
    ("allow_session", "allow_always", "session"),
    ("allow_always", "allow_always", "always"),
    ("reject_once", "reject_once", "once"),
    ("reject_always", "reject_always", "always"),
]
# The members beside ACP's own in the profile harn, and under `_meta.harn` in every profile.
EXTRA = {"approvalRequest", "declaredPaths", "mutation", "policyDecision"}


class PythonSdk(Peer):
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
                    # One option per kind: this client does not declare `_meta.harn`.
                    self.assertEqual(offered, [(o, kind) for o, kind, _ in OPTIONS if o != "allow_always"])
                    self.assertEqual(host.text("agent_message_chunk"), f"May I write a note? {words}")
                    end = host.of("tool_call_update")[-1]
                    self.assertEqual((end["toolCallId"], end["status"]), (tool_call.tool_call_id, status))

    async def write(self, host, connection, session):
        """Prompts for a file; returns whether it was written, and how often the agent asked."""
        notes = Path(self.cwd, "notes.txt")
        notes.unlink(missing_ok=True)
        before = len(host.asked)
        answer = await connection.prompt(session_id=session, prompt=[text_block("write")])
        self.assertEqual(answer.stop_reason, "end_turn")
        status = host.of("tool_call_update")[-1]["status"]
        self.assertEqual(status, "completed" if notes.exists() else "failed")
        return notes.exists(), len(host.asked) - before

    async def test_each_permission_holds_as_long_as_it_says(self):
        # For each option: how often the agent asks again in the same session, in another, in the next process.
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
                async with self.agent("acp", play="person") as (host, connection):
                    host.choice = choice
                    first = (await connection.new_session(cwd=self.cwd)).session_id
                    self.assertEqual(await self.write(host, connection, first), (allowed, 1))
                    self.assertEqual(await self.write(host, connection, first), (allowed, in_session))
                    other = (await connection.new_session(cwd=self.cwd)).session_id
                    self.assertEqual(await self.write(host, connection, other), (allowed, in_other))
                async with self.agent("acp", play="person") as (host, connection):
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
        # The log is empty, so the SDK accepts the members beside ACP's own.
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

    # Tests how the SDK handles everything beyond ACP. The tests also read the wire, to
    # compare what the agent sent with what the host receives.

    @contextlib.asynccontextmanager
    async def everything(self, wish):
        """Plays the turn of the tour that has everything, and then closes the session."""
        # Outside of plain ACP the SDK reports fields that it does not know.
        async with self.agent(wish, play="tour", loud=wish == "harn") as (host, connection):
            session = (await connection.new_session(cwd=self.cwd)).session_id
            answer = await connection.prompt(session_id=session, prompt=[text_block("/everything")])
            self.assertEqual(answer.stop_reason, "end_turn")
            # Only the runtime reports the outcome of a control, so no scenario has it.
            await connection.cancel(session_id=session)
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

            # The tour reports the pinned progress; the host receives the same as in the fixture.
            pinned = json.loads((FIXTURES / "acp" / "progress.meta.json").read_text())
            self.assertIn(pinned["params"]["update"]["_meta"]["harn"], received)
            end = [f for f in received if f["sessionUpdate"] == "worker_update" and f["terminal"]][-1]
            for field in ["workerId", "workerName", "workerTask", "workerMode", "event", "status"]:
                self.assertIsInstance(end[field], str, field)

            method = "_harn/agentEvent"
            self.assertEqual(host.events, [(method, params) for params in host.sent(method)])
            # The runtime sends it when tools change; no tour changes tools.
            kinds = {params["kind"] for _, params in host.events} - {"tools_changed"}
            advertised = set(harn["extensionMethods"][method]["kinds"]) - {"tools_changed"}
            self.assertEqual(kinds, advertised)
            self.assertEqual(host.sent("agent/idle"), [])

    async def test_harn_the_sdk_keeps_the_extensions_from_its_host(self):
        async with self.everything("harn") as (host, harn, sent):
            # The contract and ACP v2 define `user_message`: no client of v1 knows it.
            unknown = set(harn["sessionUpdateExtensions"]) - {"available_commands_update"} | {"user_message"}
            self.assertLessEqual(unknown, {u["sessionUpdate"] for u in sent})
            self.assertEqual(unknown & {u["sessionUpdate"] for u in host.updates}, set())
            self.assertEqual(carried(host.updates), [])
            # The SDK accepts our own notifications.
            self.assertEqual([params for _, params in host.events], host.sent("_harn/agentEvent"))
        dropped = [u for u in sent if u["sessionUpdate"] in unknown] + host.sent("agent/idle")
        self.assertEqual(len(self.complaints.records), len(dropped), "one complaint for each it dropped")

    async def test_acp_nothing_unknown_is_sent_and_something_is_seen_to_happen(self):
        async with self.everything(None) as (host, harn, sent):
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
    """The extensions in the carrier: `_meta.harn` of a `session_info_update`."""
    carriers = [u for u in updates if u["sessionUpdate"] == "session_info_update"]
    return [u["_meta"]["harn"] for u in carriers if "harn" in u.get("_meta", {})]


if __name__ == "__main__":
    unittest.main()
