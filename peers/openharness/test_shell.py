"""Tests the promises of docs/openharness.md: a Shell in Python against `harn-serve serve`."""

import json
import threading
import time
import unittest

from shell import PATIENCE_S, TOKENS, Shell


class OpenHarness(Shell):
    def test_a_card(self):
        cards = {"openharness.ui.rich_cards": True, "openharness.streaming": True, "com.example.unknown": True}
        request = self.request(
            "how many lines?",
            capabilities=cards,
            shell={"shell_kind": "im_bot", "locale": "en-GB", "unknown": [1]},
            environment_state={"os": "linux", "privacy_tier": "restricted"},
            attachments=[{"uri": "file:///a.rs", "filename": "a.rs", "mime_type": "text/rust"}],
        )
        status, envelope = self.post(json.dumps(request))
        response = envelope["response"]
        self.assertEqual((status, response["status"], self.state_of(response)), (200, "success", "ended"))
        [denial] = envelope["capability_denials"]
        self.assertEqual((denial["capability"], denial["code"]), ("openharness.streaming", "not_supported"))
        message = self.directive(response, "render_message")["payload"]
        self.assertEqual((message["text"], message["format"]), ("There are **three** lines.", "markdown"))
        self.assertEqual(message["text"], message["message"])
        card = self.directive(response, "render_ui")["payload"]
        self.assertEqual(card["component"], "dev.harn.run")
        [call] = card["data"]["calls"]
        self.assertEqual((call["tool"], call["status"]), ("look", "completed"))
        self.assertEqual([entry["content"] for entry in card["data"]["plan"]], ["Look at the file", "Answer"])
        self.assertEqual(response["extensions"]["dev.harn"]["calls"], card["data"]["calls"])

    def test_shells_differ(self):
        kinds = {"terminal": "text", "com.example.tv": "text", "im_bot_cli": "markdown", "toaster": "markdown"}
        for kind, form in kinds.items():
            with self.subTest(kind):
                response = self.say("how many lines?", session_id=kind, shell={"shell_kind": kind})
                [message] = response["action_directives"]
                self.assertEqual(message["payload"]["format"], form)
                stars = "**" if form == "markdown" else ""
                self.assertEqual(message["payload"]["text"], f"There are {stars}three{stars} lines.")
        path = "/openharness/invoke"
        self.assertEqual(self.ask(self.request("how many lines?"), path=path)["status"], "success")

    def park(self, intent="write it down", **more):
        """Starts a run that waits for a person, and returns the directive and the continuation."""
        response = self.say(intent, **more)
        self.assertEqual((response["status"], self.state_of(response)), ("success", "parked"))
        return self.directive(response, "request_approval"), response["continuation"]

    def decide(self, asked, continuation, decision, **more):
        approval = {"id": asked["payload"]["id"], "decision": decision}
        return self.say(continuation=continuation, harn={"approval": approval}, **more)

    def test_approval_by_continuation(self):
        for decision in ("once", "reject", "always"):
            with self.subTest(decision):
                self.notes.unlink(missing_ok=True)
                asked, continuation = self.park()
                self.assertEqual(asked["risk_tier"], "caution")
                self.assertEqual(asked["payload"]["paths"], ["notes.txt"])
                [diff] = asked["payload"]["diffs"]
                self.assertEqual((diff["path"], diff["new_text"]), (str(self.notes), "Seen by a peer.\n"))
                self.assertNotIn("old_text", diff)
                offered = [option["decision"] for option in asked["payload"]["options"]]
                self.assertIn(decision, offered)
                # Text decides nothing.
                response = self.say("yes", continuation=continuation)
                self.assertEqual((response["status"], self.state_of(response)), ("success", "parked"))
                self.assertFalse(self.notes.exists())

                response = self.decide(asked, continuation, decision)
                self.assertEqual((response["status"], self.state_of(response)), ("success", "ended"))
                self.assertIn("That was it.", self.text(response))
                [call] = response["extensions"]["dev.harn"]["calls"]
                self.assertEqual(call["status"], "failed" if decision == "reject" else "completed")
                self.assertEqual(self.notes.exists(), decision != "reject")
                # A later decision gets an error; the answer has the whole run from its beginning.
                self.refused(self.decide(asked, continuation, "once"), "approval_not_found")
                whole = self.say(continuation={"run_id": continuation["run_id"]})
                self.assertTrue(self.text(whole).startswith("May I write a note? "))
        # After "always" the agent does not ask again.
        self.notes.unlink()
        self.assertEqual(self.state_of(self.say("write it down", session_id="other")), "ended")
        self.assertTrue(self.notes.exists())

    def test_the_same_request_again(self):
        request = self.request("how many lines?")
        first = self.ask(request)
        self.assertEqual(self.ask(request), first)
        reordered = dict(reversed(request.items())) | {"unknown": 1, "correlation_id": "another"}
        self.assertEqual(self.ask(reordered), first)
        other = self.request("something else", request_id=request["request_id"])
        self.refused(self.ask(other), "request_id_conflict")
        # Another tenant has its own ids, and cannot see the run.
        theirs = self.ask(request, token=TOKENS["ada"])
        self.assertNotEqual(theirs["continuation"], first["continuation"])
        stolen = self.request(continuation=first["continuation"])
        self.refused(self.ask(stolen, token=TOKENS["ada"]), "continuation_not_found")
        self.restart()
        self.assertEqual(self.ask(request), first)

    def test_a_shell_that_gives_up(self):
        request = self.request("soon, please")
        with self.assertRaises(TimeoutError):
            self.ask(request, patience=0.3)
        response = self.ask(request)
        self.assertEqual((self.text(response), self.state_of(response)), ("One moment. Here it is.", "ended"))
        nothing_more = self.say(continuation=response["continuation"])
        self.assertEqual((nothing_more["action_directives"], self.state_of(nothing_more)), ([], "ended"))
        # There was only one run, so the next run is the second.
        following = self.say("how many lines?", continuation=response["continuation"])
        self.assertEqual(self.text(following), "There are **three** lines.")
        self.assertNotEqual(following["continuation"]["run_id"], response["continuation"]["run_id"])

    def test_an_approval_that_a_crash_took_away(self):
        asked, continuation = self.park()
        self.restart(kill=True)
        response = self.say(continuation=continuation)
        self.refused(response, "run_interrupted")
        self.assertEqual(self.state_of(response), "interrupted")
        self.refused(self.decide(asked, continuation, "once"), "approval_not_found")
        self.assertFalse(self.notes.exists())

    def test_cancel(self):
        # While it waits.
        _, continuation = self.park()
        cancel = self.request(continuation=continuation, harn={"cancel": True})
        response = self.ask(cancel)
        self.refused(response, "run_cancelled")
        self.assertEqual(response["extensions"]["dev.harn"]["stop_reason"], "cancelled")
        self.assertEqual(self.ask(cancel), response)
        self.assertFalse(self.notes.exists())
        # While it works, and another request waits for it.
        asked, continuation = self.park("forever")
        self.assertEqual(asked["risk_tier"], "dangerous")
        allow = self.request(
            continuation=continuation, harn={"approval": {"id": asked["payload"]["id"], "decision": "once"}}
        )
        waiting = []
        waiter = threading.Thread(target=lambda: waiting.append(self.ask(allow)), daemon=True)
        waiter.start()
        self.settled(asked, continuation)
        self.refused(self.say(continuation=continuation, harn={"cancel": True}), "run_cancelled")
        waiter.join(PATIENCE_S)
        [waited] = waiting
        self.refused(waited, "run_cancelled")
        # The session is free again.
        self.assertEqual(self.say("how many lines?")["status"], "success")

    def settled(self, asked, continuation):
        """Returns when the approval is decided: before that, text is the wrong answer; after it, no question is open."""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            unfit = {"answer": {"id": asked["payload"]["id"], "text": "?"}}
            if self.say(continuation=continuation, harn=unfit)["error"]["code"] == "approval_not_found":
                return
        self.fail("the approval was never decided")

    def test_a_question(self):
        response = self.say("release")
        question = self.directive(response, "dev.harn.question")
        payload = question["payload"]
        self.assertEqual((payload["prompt"], payload["answered_by"]), ("Which port?", "answer"))
        self.assertEqual((question["risk_tier"], len(payload["choices"])), ("safe", 2))
        continuation = response["continuation"]
        wrong = self.say(continuation=continuation, harn={"answer": {"id": payload["id"], "text": "80"}})
        self.refused(wrong, "invalid_request")
        right = self.say(continuation=continuation, harn={"answer": {"id": payload["id"], "text": "9090"}})
        self.assertEqual(self.text(right), "Noted.")

    def test_failure(self):
        response = self.say("break")
        self.assertEqual(self.refused(response, "engine_error")["message"], "the model is out of reach")
        self.assertEqual((self.text(response), self.state_of(response)), ("I begin, ", "failed"))

    def test_bad_input(self):
        good = self.request("hello")
        context = good["request"]["context"]
        wrong = lambda **context_: json.dumps(good | {"request": {"context": context | context_}})
        bodies = [
            (400, "invalid_request", "{"),
            (400, "invalid_request", b"\xff"),
            (400, "invalid_request", "[]"),
            (400, "invalid_request", "[" * 5000),
            (400, "invalid_request", json.dumps(good | {"protocol_version": "1.0"})),
            (400, "invalid_request", json.dumps(good | {"request_id": None})),
            (400, "invalid_request", wrong(user_intent=7)),
            (400, "invalid_request", wrong(user_intent=" ")),
            (400, "invalid_request", wrong(attachments=[{"uri": ["data:text/plain,secret-canary"]}])),
            (200, "protocol_version_unsupported", json.dumps(good | {"protocol_version": "2.0.0"})),
            (200, "continuation_not_found", wrong(continuation={"run_id": "run_none"})),
            (413, "request_too_large", wrong(user_intent="x" * (1 << 20))),
        ]
        for status, code, body in bodies:
            with self.subTest(code, body=body[:200]):
                got, envelope = self.post(body, X_Request_ID="req_header")
                self.assertEqual(got, status)
                self.refused(envelope["response"], code)
                self.assertNotIn("canary", json.dumps(envelope))
                # The id is from the body if that is JSON and has one; if the body is not JSON, it is from the header.
                lacks = body == "[]" or '"request_id": null' in str(body)
                known = None if lacks else "req_1" if "req_1" in str(body) and status != 413 else "req_header"
                self.assertEqual(envelope.get("request_id"), known)
        _, envelope = self.post(wrong(attachments=[{"uri": 1}]))
        self.assertEqual(envelope["response"]["error"]["details"]["field"], "request.context.attachments[0].uri")
        self.assertEqual(envelope["request_id"], good["request_id"])
        _, envelope = self.post("{", X_Request_ID="req_header", X_Correlation_ID="trace_header")
        self.assertEqual((envelope["request_id"], envelope["correlation_id"]), ("req_header", "trace_header"))

    def test_the_door(self):
        body = json.dumps(self.request("hello"))
        cases = [
            (401, "unauthorized", {"token": None}),
            (401, "unauthorized", {"token": "not-a-token-we-know"}),
            (403, "forbidden", {"Origin": "https://example.com"}),
            (405, "method_not_allowed", {"method": "GET"}),
            (415, "unsupported_media_type", {"Content_Type": "text/plain"}),
            (421, "misdirected_request", {"Host": "example.com"}),
        ]
        for status, code, how in cases:
            with self.subTest(code):
                got, envelope = self.post(body, **how)
                self.assertEqual(got, status)
                self.refused(envelope["response"], code)


if __name__ == "__main__":
    unittest.main()
