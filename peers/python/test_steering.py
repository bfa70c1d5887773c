"""Steering through the Python SDK: the messages of a host to a running turn, and the updates it gets.

The SDK puts an underscore before every method that the host adds; the agent knows the methods of the contract by
those names too. Only `session/cancel` as a request uses the connection below the SDK.
"""

import asyncio
import unittest

from acp import RequestError, text_block

from host import Peer

OWNER = {"clientId": "legacy-acp-client", "role": "host_owner", "source": "acp"}


class Steering(Peer):
    async def open(self, connection):
        """A session, and its methods of steering."""
        session = (await connection.new_session(cwd=self.cwd)).session_id

        async def call(method, **params):
            params = {"sessionId": session, **params}
            if method == "session/cancel":
                return await connection._conn.send_request(method, params)
            return await connection.ext_method(method, params)

        return session, call

    async def begin(self, host, connection, session):
        """Starts a turn that waits for a person until `host.may_answer` is set."""
        host.was_asked.clear()
        host.may_answer.clear()
        turn = asyncio.create_task(connection.prompt(session_id=session, prompt=[text_block("work")]))
        await host.was_asked.wait()
        return turn

    def delivered(self, host):
        return [(u["messageId"], u["content"]["text"]) for u in host.of("user_message_chunk")]

    async def refused(self, call):
        with self.assertRaises(RequestError) as caught:
            await call
        data = dict(caught.exception.data)
        self.assertEqual(data.pop("details"), str(caught.exception))
        return caught.exception.code, data

    async def test_initialize_says_so(self):
        async with self.agent(play="steer"):
            self.assertEqual(self.hello.field_meta["steering"], {"supported": True})
            # ACP has no such capability, and the SDK's types leave it out.
            self.assertFalse(hasattr(self.hello.agent_capabilities, "session"))

    async def test_a_steer_is_delivered_at_the_seam_and_the_rest_as_another_round(self):
        for wish in ["acp", "meta", "harn"]:
            with self.subTest(wish):
                async with self.agent(wish, play="steer", loud=wish == "harn") as (host, connection):
                    session, call = await self.open(connection)
                    turn = await self.begin(host, connection, session)
                    last = await call("session/inject", mode="queue", content="Then c.txt.")
                    steer = await call("session/inject", mode="steer", content="Mind b.txt.")
                    self.assertEqual((last["status"], steer["status"]), ("accepted", "accepted"))
                    self.assertEqual(steer["_meta"]["harn"], {"actor": OWNER, "pendingCount": 2})
                    self.assertEqual(self.delivered(host), [])
                    host.may_answer.set()
                    self.assertEqual((await turn).stop_reason, "end_turn")

                    self.assertRegex(
                        host.text("agent_message_chunk"),
                        r"(?s)^working.*message: Mind b\.txt\..*End of the work\.Answered\.$",
                    )
                    messages = [(steer["messageId"], "Mind b.txt."), (last["messageId"], "Then c.txt.")]
                    sent = [p["update"] for p in host.sent("session/update")]
                    if wish == "harn":
                        # The contract's own update is on the wire; the SDK does not deliver it to the host.
                        sent = [u for u in sent if u["sessionUpdate"] == "user_message"]
                        self.assertEqual([(u["messageId"], u["content"][0]["text"]) for u in sent], messages)
                        self.assertEqual(self.delivered(host), [])
                    else:
                        self.assertEqual(self.delivered(host), messages)
                if wish == "harn":
                    self.assertEqual(len(self.complaints.records), 2)

    async def test_what_waits_is_listed_changed_and_taken_back(self):
        async with self.agent("meta", play="steer") as (host, connection):
            session, call = await self.open(connection)
            early = await self.refused(call("session/inject", mode="steer", content="early"))
            self.assertEqual(early, (-32004, {"reason": "no_active_prompt", "sessionId": session}))

            turn = await self.begin(host, connection, session)
            first, second = [(await call("session/inject", mode="steer", content=it))["messageId"] for it in "ab"]
            answer = await call("session/replace_inject", messageId=first, content="A")
            self.assertEqual(answer, {"messageId": first, "status": "replaced"})
            states = [(await call("session/revoke_inject", messageId=second))["status"] for _ in range(2)]
            self.assertEqual(states, ["revoked", "already_revoked"])
            waiting = await call("session/pending_injections")
            self.assertEqual([row["content"][0]["text"] for row in waiting["injections"]], ["A"])
            gone = await self.refused(call("session/replace_inject", messageId=second, content="B"))
            self.assertEqual(gone, (-32602, {"reason": "already_revoked", "messageId": second}))
            host.may_answer.set()
            await turn

            self.assertEqual(self.delivered(host), [(first, "A")])
            late = await self.refused(call("session/revoke_inject", messageId=first))
            self.assertEqual(late, (-32602, {"reason": "already_delivered", "messageId": first}))
            # The agent reports the outcome of a control after its answer, and before the next answer.
            await call("session/pending_injections")
            outcomes = [p["outcome"] for p in host.sent("_harn/agentEvent") if p["kind"] == "control_outcome"]
            self.assertEqual(
                outcomes,
                ["no_active_prompt", "accepted", "accepted", "replaced", "revoked", "already_revoked",
                 "already_revoked", "already_delivered"],
            )

    async def test_session_steering_is_a_method_of_the_sdk(self):
        async with self.agent(play="steer") as (host, connection):
            session, _ = await self.open(connection)

            async def steer(text, **meta):
                params = {"sessionId": session, "prompt": [{"type": "text", "text": text}], **meta}
                return await connection.ext_method("session/steering", params)

            required = {"_meta": {"steering": {"idleBehavior": "promptRequired"}}}
            turn = await self.begin(host, connection, session)
            self.assertEqual(await steer("Mind b.txt.", **required), {"outcome": "injected"})
            host.may_answer.set()
            await turn
            # A plain client shows its own message, so the agent does not repeat it.
            self.assertEqual(self.delivered(host), [])
            seen = len(host.updates)
            answer = await steer("Too late.", **required)
            self.assertEqual(answer, {"outcome": "promptRequired", "reason": "noRunningTurn"})
            self.assertEqual(len(host.updates), seen)
            self.assertEqual(await steer("Now."), {"outcome": "startedNewTurn"})
            await host.until(lambda: host.text("agent_message_chunk").endswith("Answered."))

    async def test_reminders(self):
        async with self.agent("meta", play="steer") as (host, connection):
            session, call = await self.open(connection)
            turn = await self.begin(host, connection, session)
            answer = await call("session/remind", mode="finish_step", id="tests", body="Run the tests.")
            self.assertEqual(answer, {"reminderId": "tests"})
            notice = {"sessionId": session, "mode": "finish_step", "body": "Be brief."}
            await connection.ext_notification("session/remind", notice)
            code, data = await self.refused(call("session/remind", body="x", propagate="everybody"))
            self.assertEqual((code, data["reason"], data["code"]), (-32602, "invalid_reminder", "HARN-RMD-005"))
            host.may_answer.set()
            self.assertEqual((await turn).stop_reason, "end_turn")
            carried = [u.get("_meta", {}).get("harn", {}) for u in host.of("session_info_update")]
            told = [f["reminder"]["body"] for f in carried if f.get("sessionUpdate") == "reminder_emitted"]
            self.assertEqual(told, ["Run the tests.", "Be brief."])

    async def test_an_agent_that_stays(self):
        async with self.agent("meta", play="steer") as (host, connection):
            session, call = await self.open(connection)
            signs = lambda: [it for _, it in host.events if it["kind"] == "agent_idle"]
            waits = lambda n: host.until(lambda: any(it["iteration"] == n for it in signs()))
            stays = asyncio.create_task(connection.prompt(session_id=session, prompt=[text_block("stay")]))
            await waits(0)
            message = (await call("session/inject", mode="queue", content="Look."))["messageId"]
            await waits(1)
            await host.until(lambda: self.delivered(host))
            self.assertEqual(self.delivered(host), [(message, "Look.")])
            await connection.ext_notification("agent/resume", {"sessionId": session})
            await waits(2)
            self.assertEqual((await call("session/cancel"))["status"], "cancelled")
            self.assertEqual((await stays).stop_reason, "cancelled")
            self.assertEqual({method for method, _ in host.events}, {"_harn/agentEvent"})
            self.assertEqual(host.sent("agent/idle"), [])

    async def test_what_waits_when_a_turn_is_cancelled_comes_with_the_next_prompt(self):
        # The agent withdraws a question with `$/cancel_request`; the SDK does not know it and complains once.
        async with self.agent(play="steer", loud=True) as (host, connection):
            session, call = await self.open(connection)
            turn = await self.begin(host, connection, session)
            message = (await call("session/inject", mode="steer", content="Mind b.txt."))["messageId"]
            await connection.cancel(session_id=session)
            self.assertEqual((await turn).stop_reason, "cancelled")
            self.assertEqual(self.delivered(host), [])
            host.may_answer.set()
            answer = await connection.prompt(session_id=session, prompt=[text_block("hello")])
            self.assertEqual(answer.stop_reason, "end_turn")
            self.assertEqual(self.delivered(host), [(message, "Mind b.txt.")])
            self.assertTrue(host.text("agent_message_chunk").endswith("Answered.Answered."))
        self.assertEqual(len(self.complaints.records), 1)


if __name__ == "__main__":
    unittest.main()
