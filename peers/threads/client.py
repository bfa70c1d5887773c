"""A client of `harn-serve threads`, written from docs/threads.md with only the standard library."""

import json
import os
import subprocess
import tempfile
import threading
import time
from pathlib import Path

SCENARIO = Path(__file__).resolve().parents[1] / "wires.yaml"
# A deadline, so that a hang fails the test: nothing here measures time.
PATIENCE_S = 60


class Refused(Exception):
    """An answer that is an error."""

    def __init__(self, error):
        super().__init__(f"{error['code']}: {error['message']}")
        self.code = error["code"]


class Client:
    """One server process; `heard` has every message it sent, in order of arrival."""

    def __init__(self, cwd, state):
        command = [os.environ["HARN_SERVE"], "threads", "--cwd", cwd, "--state-dir", state]
        self.stderr = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            [*command, "--engine", f"script:{SCENARIO}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.stderr,
            encoding="utf-8",
        )
        self.heard = []
        self.broken = None
        self.ended = False
        self.came = threading.Condition()
        self.last_id = 0
        self.reader = threading.Thread(target=self._listen, daemon=True)
        self.reader.start()

    def _listen(self):
        for line in self.process.stdout:
            with self.came:
                try:
                    self.heard.append(json.loads(line))
                except ValueError:
                    self.broken = line
                self.came.notify_all()
        with self.came:
            self.ended = True
            self.came.notify_all()

    def until(self, find, what):
        """Waits until `find()` returns a value, and returns it."""
        end = time.monotonic() + PATIENCE_S
        with self.came:
            while True:
                if self.broken is not None:
                    raise AssertionError(f"no message on stdout: {self.broken!r}")
                if (found := find()) is not None:
                    return found
                left = end - time.monotonic()
                if self.ended or left <= 0:
                    raise AssertionError(f"waited in vain for {what}; heard {self.heard[-5:]}")
                self.came.wait(left)

    def write(self, line):
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()

    def send(self, method, **params):
        """Sends a request, and returns its id."""
        self.last_id += 1
        request = {"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params}
        self.write(json.dumps(request))
        return self.last_id

    def answer(self, to):
        def find():
            return next((m for m in self.heard if "method" not in m and m["id"] == to), None)

        message = self.until(find, f"the answer to {to}")
        if "error" in message:
            raise Refused(message["error"])
        return message["result"]

    def ask(self, method, **params):
        return self.answer(self.send(method, **params))

    def told(self, thread=None):
        """The params of all notifications, or of those of a thread."""
        told = [m["params"] for m in self.heard if "method" in m]
        return [p for p in told if thread in (None, thread_of(p))]

    def next(self, what, **like):
        """Waits for the notification `what` with these members."""

        def find():
            fits = (p for p in self.told() if p["notification"] == what)
            return next((p for p in fits if like.items() <= p.items()), None)

        return self.until(find, f"{what} {like}")

    def start(self, thread, text):
        return self.ask("turn.start", threadId=thread, input=[{"type": "text", "text": text}])["turnId"]

    def end_of(self, turn):
        def find():
            ends = (p for p in self.told() if p["notification"] in ("turn.completed", "turn.error"))
            return next((p for p in ends if p["turnId"] == turn), None)

        return self.until(find, f"the end of {turn}")

    def close(self):
        """Ends the input, and returns the exit code and the text of stderr."""
        self.process.stdin.close()
        code = self.process.wait(PATIENCE_S)
        self.reader.join(PATIENCE_S)
        self.stderr.seek(0)
        return code, self.stderr.read()

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(PATIENCE_S)
        self.reader.join(PATIENCE_S)
        for stream in (self.process.stdout, self.stderr):
            stream.close()
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass


def thread_of(params):
    return params["item"]["threadId"] if "item" in params else params["threadId"]


def fold(events):
    """One thread as a client shows it, folded from its notifications: turns, and items that grow and end."""
    state = {"turns": {}, "items": {}, "asked": []}
    for event in events:
        kind = event["notification"]
        if kind.startswith("turn."):
            known = state["turns"].setdefault(event["turnId"], {"started": event["time"]})
            if kind != "turn.started":
                known["ended"] = event["time"]
                known |= {k: event[k] for k in ("status", "stopReason", "error") if k in event}
        elif kind == "item.started":
            item = event["item"]
            assert item["itemId"] not in state["items"], f"{item['itemId']} starts twice"
            shown = {"type": item["type"], "turn": item["turnId"], "data": dict(item["data"])}
            state["items"][item["itemId"]] = shown | {"text": "", "done": False}
        elif kind == "item.delta":
            item = state["items"][event["itemId"]]
            assert not item["done"], f"{event['itemId']} grows after its end"
            item["text"] += event.get("delta", "")
            item["data"] |= event.get("data", {})
        elif kind == "item.completed":
            item = state["items"][event["itemId"]]
            assert not item["done"], f"{event['itemId']} ends twice"
            item["done"] = True
            item["data"] |= event.get("data", {})
        elif kind == "approval.requested":
            assert not state["items"][event["itemId"]]["done"]
            state["asked"].append(event["requestId"])
    return state
