"""Tests the promises of docs/threads.md, and a fold of the notifications: a client in Python against `harn-serve threads`."""

import contextlib
import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

from client import Client, Refused, fold


class Threads(unittest.TestCase):
    def setUp(self):
        root = tempfile.TemporaryDirectory(prefix="harn-peer-threads-")
        self.addCleanup(root.cleanup)
        self.state = os.path.join(os.path.realpath(root.name), "state")
        self.cwd = os.path.join(os.path.realpath(root.name), "work")
        os.mkdir(self.cwd)
        self.notes = Path(self.cwd, "notes.txt")

    @contextlib.contextmanager
    def client(self):
        """Starts a server; at the end closes its input, and checks that it exits without complaints."""
        client = Client(self.cwd, self.state)
        try:
            yield client
            self.assertEqual(client.close(), (0, ""))
        finally:
            client.kill()

    def new(self, client, **params):
        return client.ask("thread.create", **params)["thread"]["threadId"]

    def items(self, client, thread, kind):
        return [i for i in fold(client.told(thread))["items"].values() if i["type"] == kind]

    def told_as_replayed(self, client, thread):
        """The fold of the streamed notifications, which must equal the fold of the history."""
        live = fold(client.told(thread))
        self.assertEqual(fold(client.ask("thread.get", threadId=thread)["events"]), live)
        return live

    def refused(self, code):
        @contextlib.contextmanager
        def check():
            with self.assertRaises(Refused) as caught:
                yield
            self.assertEqual(caught.exception.code, code, caught.exception)

        return check()

    def test_a_turn(self):
        with self.client() as client:
            hello = client.ask("initialize", clientInfo={"name": "harn-peer", "version": "1"})
            self.assertEqual(hello["version"], "1.0.0")
            self.assertEqual(hello["serverInfo"]["name"], "harn-serve")
            thread = self.new(client, title="Lines")
            self.assertEqual(client.heard[1]["method"], "thread.created")
            turn = client.start(thread, "how many lines?")
            end = client.end_of(turn)
            self.assertEqual((end["status"], end["stopReason"]), ("completed", "end_turn"))

            # The order that clients rely on.
            at = [m.get("method", "answer") for m in client.heard[3:]]
            self.assertEqual(at[:4], ["turn.started", "answer", "item.started", "item.completed"])
            self.assertEqual(at[-1], "turn.completed")

            shown = self.told_as_replayed(client, thread)
            kinds = [item["type"] for item in shown["items"].values()]
            self.assertEqual(kinds, ["user_message", "assistant_message", "tool_exec", "assistant_message"])
            said, thought, look, words = shown["items"].values()
            self.assertEqual(said["data"]["parts"], [{"type": "text", "text": "how many lines?"}])
            self.assertEqual((thought["text"], thought["data"]["reasoning"]), ("Where is it?", True))
            self.assertEqual((look["data"]["tool"], look["data"]["title"]), ("look", "Look at a.rs"))
            self.assertEqual(words["text"], "There are **three** lines.")
            self.assertNotIn("reasoning", words["data"])
            for item in (thought, words):
                self.assertEqual(item["data"]["text"], item["text"])
            self.assertTrue(all(item["done"] for item in shown["items"].values()))
            deltas = [p["delta"] for p in client.told() if p["notification"] == "item.delta" and "delta" in p]
            self.assertIn("are ", deltas, "the words stream")

    def test_each_decision(self):
        # The written text, the end of the call, and whether the agent asks again in another process.
        cases = {"once": (True, "output", True), "always": (True, "output", False), "reject": (False, "error", True)}
        for decision, (written, ending, again) in cases.items():
            with self.subTest(decision), tempfile.TemporaryDirectory() as self.state:
                self.notes.unlink(missing_ok=True)
                with self.client() as client:
                    thread = self.new(client)
                    turn = client.start(thread, "write it down")
                    asked = client.next("approval.requested", turnId=turn)
                    self.assertEqual(asked["patterns"], ["notes.txt"])
                    self.assertLessEqual({"title", "kind", "input", "reason", "deadline"}, asked["metadata"].keys())
                    self.assertFalse(self.notes.exists())

                    # The history has the call open; later notifications continue it.
                    known = client.ask("thread.get", threadId=thread)["events"]
                    place = len(client.told(thread))
                    self.assertFalse(fold(known)["items"][asked["itemId"]]["done"])

                    request = asked["requestId"]
                    answered = client.ask("approval.respond", requestId=request, decision=decision)
                    self.assertEqual(answered, {"ok": True})
                    self.assertEqual(client.end_of(turn)["status"], "completed")
                    shown = self.told_as_replayed(client, thread)
                    self.assertEqual(fold(known + client.told(thread)[place:]), shown)

                    self.assertEqual(shown["items"][asked["itemId"]]["data"]["reply"], decision)
                    [call] = self.items(client, thread, "tool_exec")
                    self.assertIn(ending, call["data"])
                    self.assertEqual(self.notes.exists(), written)
                    with self.refused(-32004):
                        client.ask("approval.respond", requestId=request, decision="once")
                self.notes.unlink(missing_ok=True)
                with self.client() as client:
                    client.ask("thread.get", threadId=thread)
                    turn = client.start(thread, "write it down")
                    if again:
                        asked = client.next("approval.requested", turnId=turn)
                        client.ask("approval.respond", requestId=asked["requestId"], decision="reject")
                    client.end_of(turn)
                    self.assertEqual(len(self.items(client, thread, "approval")), int(again))
                    self.assertEqual(self.notes.exists(), not again)

    def test_output_streams(self):
        with self.client() as client:
            thread = self.new(client)
            turn = client.start(thread, "count")
            asked = client.next("approval.requested", turnId=turn)
            self.assertEqual(asked["patterns"], ["echo one && echo two"])
            client.ask("approval.respond", requestId=asked["requestId"], decision="once")
            client.end_of(turn)
            [call] = self.items(client, thread, "tool_exec")
            self.assertIn("one\ntwo\n", call["text"])
            self.assertEqual(call["text"], call["data"]["output"])
            self.told_as_replayed(client, thread)

    def test_cancel_and_a_busy_thread(self):
        with self.client() as client:
            thread, other = self.new(client), self.new(client)
            self.assertEqual(client.ask("turn.cancel", threadId=thread), {"ok": True})
            turn = client.start(thread, "slow")
            client.next("item.delta", turnId=turn, delta="working")
            with self.refused(-32002):
                client.start(thread, "another")
            # At the same time another thread works.
            self.assertEqual(client.end_of(client.start(other, "how many?"))["status"], "completed")
            self.assertEqual(client.ask("turn.cancel", threadId=thread), {"ok": True})
            end = client.end_of(turn)
            self.assertEqual((end["notification"], end["status"]), ("turn.error", "cancelled"))
            self.assertEqual(client.end_of(client.start(thread, "how many?"))["status"], "completed")
            self.told_as_replayed(client, thread)
            self.told_as_replayed(client, other)

    def test_failure_and_a_question(self):
        with self.client() as client:
            thread = self.new(client)
            end = client.end_of(client.start(thread, "break"))
            self.assertEqual((end["status"], end["error"]), ("error", "the model is out of reach"))
            self.assertEqual(client.end_of(client.start(thread, "release"))["status"], "completed")
            words = "".join(item["text"] for item in self.items(client, thread, "assistant_message"))
            self.assertIn("Which port?", words)
            self.told_as_replayed(client, thread)

    def test_restart(self):
        with self.client() as client:
            thread = self.new(client)
            client.end_of(client.start(thread, "how many lines?"))
            client.end_of(client.start(thread, "break"))
            live = self.told_as_replayed(client, thread)
        with self.client() as client:
            [listed] = client.ask("thread.list")["threads"]
            self.assertEqual((listed["threadId"], listed["title"]), (thread, "how many lines?"))
            got = client.ask("thread.get", threadId=thread)
            self.assertEqual(fold(got["events"]), live)
            times = [event["timestamp"] for event in got["events"]]
            self.assertEqual(times, sorted(set(times)), "no two events have one time")
            client.end_of(client.start(thread, "and now?"))
            after = fold(client.ask("thread.get", threadId=thread)["events"])
            self.assertEqual(fold(got["events"] + client.told(thread)), after)
        # The same thread, as a session of ours.
        for command in (["list"], ["show", thread]):
            shown = self.harn("sessions", *command, "--sessions-dir", f"{self.cwd}/.harness")
            self.assertIn(thread if command == ["list"] else "and now?", shown)

    def harn(self, *args):
        command = [os.environ["HARN_SERVE"], *args]
        return subprocess.run(command, check=True, capture_output=True, encoding="utf-8", timeout=60).stdout

    def test_a_crash_in_the_middle(self):
        client = Client(self.cwd, self.state)
        try:
            thread = self.new(client)
            turn = client.start(thread, "write it down")
            asked = client.next("approval.requested", turnId=turn)
        finally:
            client.kill()
        # A line that was not written completely does not count.
        log = Path(self.cwd, ".harness", "threads", thread, "events.jsonl")
        with log.open("a") as file:
            file.write('{"half of a')
        with self.client() as client:
            events = client.ask("thread.get", threadId=thread)["events"]
            shown = fold(events)
            self.assertEqual(shown["turns"][turn]["status"], "error")
            approval = shown["items"][asked["itemId"]]
            self.assertEqual((approval["data"]["reply"], approval["done"]), ("reject", True))
            self.assertTrue(all(item["done"] for item in shown["items"].values()))
            self.assertFalse(self.notes.exists())
            self.assertEqual(client.end_of(client.start(thread, "go on"))["status"], "completed")

    def test_bad_input(self):
        with self.client() as client:
            thread = self.new(client)
            lines = {
                "{": -32700,
                "[]": -32600,
                '{"id": 900, "method": "thread.list"}': -32600,
                '{"jsonrpc": "2.0", "id": null, "method": "thread.list"}': -32600,
            }
            for line, code in lines.items():
                with self.subTest(line):
                    before = len(client.heard)
                    client.write(line)
                    client.until(lambda: len(client.heard) > before or None, "a refusal")
                    self.assertEqual(client.heard[before]["error"]["code"], code)
            refusals = [
                (-32601, "thread.drop", {}),
                (-32602, "thread.get", {}),
                (-32602, "turn.start", {"threadId": thread, "input": []}),
                (-32602, "turn.start", {"threadId": thread, "input": "hello"}),
                (-32602, "approval.respond", {"requestId": "r", "decision": "maybe"}),
                (-32001, "thread.get", {"threadId": "ses_none"}),
                (-32001, "turn.start", {"threadId": "ses_none", "input": [{"type": "text", "text": "hi"}]}),
                (-32001, "turn.cancel", {"threadId": "ses_none"}),
                (-32004, "approval.respond", {"requestId": "r", "decision": "once"}),
            ]
            for code, method, params in refusals:
                with self.subTest(method, **params), self.refused(code):
                    client.ask(method, **params)
            # The server continues: well-formed messages still work.
            self.assertEqual(client.end_of(client.start(thread, "still there?"))["status"], "completed")
            self.assertTrue(all(json.dumps(m["id"]) != "0" for m in client.heard if "method" not in m))


if __name__ == "__main__":
    unittest.main()
