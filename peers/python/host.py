"""A minimal ACP host on the Python SDK, and the test case that starts an agent for it."""

import asyncio
import contextlib
import os
import tempfile
import unittest
from pathlib import Path

from acp import PROTOCOL_VERSION, spawn_agent_process, text_block
from acp.connection import StreamDirection
from acp.schema import (
    AllowedOutcome,
    ClientCapabilities,
    DeniedOutcome,
    ElicitationCapabilities,
    ElicitationFormCapabilities,
    RequestPermissionResponse,
)

PEERS = Path(__file__).resolve().parents[1]
FIXTURES = PEERS.parent / "fixtures"
SCENARIOS = {
    "peer": FIXTURES / "scenarios" / "peer.yaml",
    "tour": FIXTURES / "scenarios" / "tour.yaml",
    "person": PEERS / "person.yaml",
    "steer": PEERS / "steer.yaml",
}
# A deadline, so that a hang fails the test: nothing here measures time.
PATIENCE_S = 60
# The updates of the conversation; the others describe the session.
STORY = {"agent_message_chunk", "agent_thought_chunk", "plan", "tool_call", "tool_call_update"}


class Host:
    """Keeps every update; answers permissions with `choice`, or cancels, and forms with `answers`."""

    def __init__(self):
        self.wire = []
        self.outgoing = []
        self.came = asyncio.Event()
        self.updates = []
        self.events = []
        self.asked = []
        self.choice = "allow_once"
        self.forms = []
        self.answers = []
        self.working = asyncio.Event()
        # Set when the agent asks; an answer waits for the second one.
        self.was_asked = asyncio.Event()
        self.may_answer = asyncio.Event()
        self.may_answer.set()

    async def session_update(self, session_id, update, **_):
        seen = update.model_dump(mode="json", by_alias=True, exclude_none=True)
        self.updates.append(seen)
        self.came.set()
        if seen["sessionUpdate"] == "agent_message_chunk" and seen["content"]["text"] == "working":
            self.working.set()

    async def ext_notification(self, method, params):
        # The SDK removes the underscore.
        self.events.append((f"_{method}", params))
        self.came.set()

    def observe(self, event):
        """The messages on the wire, before the SDK parses them."""
        if event.direction is StreamDirection.INCOMING:
            self.wire.append(event.message)
            self.came.set()
        else:
            self.outgoing.append(event.message)

    async def until(self, ready):
        """Waits until a message on the wire, or one that the SDK delivered, makes `ready()` true."""
        while not ready():
            self.came.clear()
            await self.came.wait()

    async def request_permission(self, session_id, tool_call, options, **meta):
        self.asked.append((session_id, tool_call, options, meta))
        self.was_asked.set()
        await self.may_answer.wait()
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


class Peer(unittest.IsolatedAsyncioTestCase):
    """Starts agents, and checks that neither they nor the SDK write complaints."""

    def setUp(self):
        root = tempfile.TemporaryDirectory(prefix="harn-peer-py-")
        self.addCleanup(root.cleanup)
        self.cwd = os.path.realpath(root.name)
        self.state = os.path.join(self.cwd, "state")

    async def asyncSetUp(self):
        # unittest runs the loop in debug mode, which warns of slow steps; they are normal on a loaded machine.
        asyncio.get_running_loop().slow_callback_duration = float("inf")

    @contextlib.asynccontextmanager
    async def agent(self, wish=None, play="peer", form=False, loud=False):
        """A fresh, initialized agent process; at the end checks that nothing wrote complaints.

        `wish` is the profile that the client requests; without it the command line selects plain ACP.
        With `loud` the SDK may report what it does not know.
        """
        host = Host()
        command = [os.environ["HARN_SERVE"], "acp", "--engine", f"script:{SCENARIOS[play]}"]
        command += ["--state-dir", self.state, "--profile", "acp"]
        capabilities = ClientCapabilities(
            field_meta={"harn": {"profile": wish}} if wish else None,
            elicitation=ElicitationCapabilities(form=ElicitationFormCapabilities()) if form else None,
        )
        quiet = self.assertLogs(level="WARNING") if loud else self.assertNoLogs(level="WARNING")
        with tempfile.TemporaryFile("w+") as stderr, quiet as self.complaints:
            async with (
                asyncio.timeout(PATIENCE_S),
                spawn_agent_process(
                    host,
                    *command,
                    # The SDK passes on little of the environment; the user's own rules must not apply here.
                    env={"XDG_CONFIG_HOME": os.environ.get("XDG_CONFIG_HOME", self.cwd)},
                    transport_kwargs={"stderr": stderr, "shutdown_timeout": PATIENCE_S},
                    observers=[host.observe],
                    # Without this the SDK rejects forms.
                    use_unstable_protocol=form,
                ) as (connection, process),
            ):
                self.hello = await connection.initialize(
                    protocol_version=PROTOCOL_VERSION,
                    client_capabilities=capabilities,
                )
                yield host, connection
            stderr.seek(0)
            self.assertEqual(stderr.read(), "", "the agent wrote to stderr")
            self.assertEqual(process.returncode, 0)

    async def cancelled(self, host, connection, session):
        slow = asyncio.create_task(connection.prompt(session_id=session, prompt=[text_block("slow")]))
        await host.working.wait()
        await connection.cancel(session_id=session)
        return (await slow).stop_reason
