"""A Shell of OpenHarness, written from docs/openharness.md, and the server it talks to."""

import http.client
import json
import os
import re
import subprocess
import tempfile
import threading
import unittest
from pathlib import Path

from jsonschema import Draft202012Validator

SCENARIO = Path(__file__).resolve().parents[1] / "wires.yaml"
# A deadline, so that a hang fails the test: nothing here measures time.
PATIENCE_S = 90
TOKENS = {"owner": "peers-token-of-the-owner", "ada": "peers-token-of-ada-0001"}
# The table of directives: required and optional members of the payload, `priority`, and the tiers.
CONTINUED = {"message", "continuation"}
ASKED = CONTINUED | {"id", "options"}
DIRECTIVES = {
    "render_message": ({"text", "message", "format"}, set(), "normal", {"safe"}),
    "render_ui": ({"component", "data", "message"}, set(), "normal", {"safe"}),
    "request_approval": (
        ASKED | {"title", "tool"},
        {"kind", "command", "paths", "diffs", "arguments", "reason", "worker"},
        "high",
        {"safe", "caution", "dangerous"},
    ),
    "dev.harn.question": (
        ASKED - {"options"} | {"kind", "prompt", "answered_by"},
        {"detail", "choices", "default", "options"},
        "high",
        {"safe", "caution"},
    ),
    "noop": (CONTINUED, set(), "low", {"safe"}),
}
ORDER = list(DIRECTIVES)


def schema(name):
    """A schema as the binary prints it."""
    command = [os.environ["HARN_SERVE"], "schema", name]
    printed = subprocess.run(command, check=True, capture_output=True, encoding="utf-8", timeout=PATIENCE_S)
    return Draft202012Validator(json.loads(printed.stdout))


class Server:
    """`harn-serve serve` on a free port of loopback, with two tenants."""

    def __init__(self, cwd, state):
        os.makedirs(state, exist_ok=True)
        token = Path(state, "token")
        if not token.exists():
            with open(os.open(token, os.O_CREAT | os.O_WRONLY, 0o600), "w") as file:
                file.writelines(f"{name} {value}\n" for name, value in TOKENS.items())
        environment = {k: v for k, v in os.environ.items() if k != "HARN_SERVE_TOKEN"}
        command = [os.environ["HARN_SERVE"], "serve", "--cwd", cwd, "--state-dir", state]
        self.process = subprocess.Popen(
            [*command, "--engine", f"script:{SCENARIO}"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            env=environment,
        )
        self.stderr = ""
        self.port = None
        self.listens = threading.Event()
        self.reader = threading.Thread(target=self._listen, daemon=True)
        self.reader.start()
        if not self.listens.wait(PATIENCE_S) or self.port is None:
            self.kill()
            raise AssertionError(f"the server does not listen: {self.stderr}")

    def _listen(self):
        for line in self.process.stderr:
            self.stderr += line
            if found := re.search(r"listening on http://127\.0\.0\.1:(\d+)/", line):
                self.port = int(found[1])
                self.listens.set()
        self.listens.set()

    def end(self):
        """Ends it with SIGTERM, and returns the exit code and the text of stderr."""
        self.process.terminate()
        code = self.process.wait(PATIENCE_S)
        self.reader.join(PATIENCE_S)
        return code, self.stderr

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(PATIENCE_S)
        self.reader.join(PATIENCE_S)
        self.process.stderr.close()


class Shell(unittest.TestCase):
    """Checks every answer, of any status, against the schema and the table."""

    @classmethod
    def setUpClass(cls):
        cls.fits = schema("openharness-response")
        cls.may_be_asked = schema("openharness-request")

    def setUp(self):
        root = tempfile.TemporaryDirectory(prefix="harn-peer-openharness-")
        self.addCleanup(root.cleanup)
        self.state = os.path.join(os.path.realpath(root.name), "state")
        self.cwd = os.path.join(os.path.realpath(root.name), "work")
        os.mkdir(self.cwd)
        self.notes = Path(self.cwd, "notes.txt")
        self.server = None
        self.addCleanup(self.stop)
        self.restart()
        self.count = 0

    def restart(self, kill=False):
        if kill:
            self.server.kill()
            self.server = None
        self.stop()
        self.server = Server(self.cwd, self.state)

    def stop(self):
        """Ends the server, and checks that its stderr is empty."""
        server, self.server = self.server, None
        if server is None:
            return
        try:
            code, stderr = server.end()
        finally:
            server.kill()
        self.assertEqual(code, 0, stderr)
        self.assertNotRegex(stderr, re.compile(r"\b(warn|error)\b|panicked", re.IGNORECASE))

    def post(self, body, *, path="/v1/openharness", method="POST", token=TOKENS["owner"], patience=PATIENCE_S, **headers):
        """Posts bytes, checks the rules for every answer, and returns its status and envelope."""
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=patience)
        try:
            head = {"Content-Type": "application/json"} | {k.replace("_", "-"): v for k, v in headers.items()}
            if token:
                head["Authorization"] = f"Bearer {token}"
            try:
                connection.request(method, path, body=body, headers=head)
            except BrokenPipeError:
                # The server rejects a body that is too long before it has received all of it.
                pass
            answer = connection.getresponse()
            envelope = json.loads(answer.read())
        finally:
            connection.close()
        self.check(envelope)
        return answer.status, envelope

    def check(self, envelope):
        faults = [f"{fault.json_path}: {fault.message}" for fault in self.fits.iter_errors(envelope)]
        self.assertEqual(faults, [], json.dumps(envelope, indent=1))
        self.assertEqual(envelope["supported_protocol_versions"], ["1.0.0"])
        response = envelope["response"]
        self.assertEqual("error" in response, response["status"] == "error")
        # An answer about a run has all of these, also if the run failed; a rejection has none.
        self.assertIn("action_directives", response)
        of_a_run = {"continuation", "engine_latency_ms", "extensions"} & response.keys()
        self.assertIn(len(of_a_run), (0, 3) if "error" in response else (3,))
        places = []
        for directive in response["action_directives"]:
            kind, payload = directive["action_type"], directive["payload"]
            must, may, priority, tiers = DIRECTIVES[kind]
            self.assertLessEqual(must, payload.keys(), kind)
            self.assertLessEqual(payload.keys(), must | may, kind)
            self.assertEqual(directive["priority"], priority)
            self.assertIn(directive["risk_tier"], tiers)
            asks = kind == "request_approval" or payload.get("answered_by") == "approval"
            self.assertEqual(directive.get("requires_user_approval", False), asks)
            self.assertEqual("deadline_ms" in directive, kind in ("request_approval", "dev.harn.question"))
            if "continuation" in payload:
                self.assertEqual(payload["continuation"], response["continuation"])
            places.append(ORDER.index(kind))
        self.assertEqual(places, sorted(places))

    def request(self, intent=None, *, harn=None, request_id=None, capabilities=None, **context):
        """A request; without an id it gets the next one."""
        self.count += 1
        if intent is not None:
            context["user_intent"] = intent
        if harn is not None:
            context["extensions"] = {"dev.harn": harn}
        context.setdefault("session_id", "desk")
        request = {
            "protocol_version": "1.0.0",
            "request_id": request_id or f"req_{self.count}",
            "correlation_id": f"trace_{self.count}",
            "capabilities": capabilities or {},
            "request": {"context": context},
        }
        self.may_be_asked.validate(request)
        return request

    def ask(self, request, **how):
        """Sends a valid request, and checks that the answer is valid and names it."""
        status, envelope = self.post(json.dumps(request), **how)
        self.assertEqual(status, 200)
        for member in ("request_id", "correlation_id"):
            self.assertEqual(envelope[member], request[member])
        return envelope["response"]

    def say(self, intent=None, **more):
        return self.ask(self.request(intent, **more))

    def refused(self, response, code, retryable=False):
        error = response["error"]
        self.assertEqual((error["code"], error["retryable"]), (code, retryable), error)
        return error

    @staticmethod
    def directive(response, kind):
        [found] = [d for d in response["action_directives"] if d["action_type"] == kind]
        return found

    @staticmethod
    def text(response):
        texts = [d["payload"]["text"] for d in response["action_directives"] if d["action_type"] == "render_message"]
        return "".join(texts)

    @staticmethod
    def state_of(response):
        return response["extensions"]["dev.harn"]["state"]
