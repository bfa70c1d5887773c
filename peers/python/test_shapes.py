"""Compares the pinned lines of fixtures/clients with the lines that the Python SDK sends.

tests/tests/it/clients.rs pins the answers to them.
"""

import asyncio
import json
import os
import unittest

from acp import RequestError, text_block

from host import FIXTURES, Peer

FILE = FIXTURES / "clients" / "python-sdk.jsonl"
TO_AGENT = '{"to":"agent","message":'


class Shapes(Peer):
    async def test_what_is_sent_to_steer_is_what_is_pinned(self):
        names = {self.cwd: "/workspace"}
        async with self.agent("acp", play="steer") as (host, connection):
            host.may_answer.clear()
            session = (await connection.new_session(cwd=self.cwd)).session_id
            names[session] = "session-1"
            blocks = lambda text: [{"type": "text", "text": text}]

            async def call(method, **params):
                return await connection.ext_method(method, {"sessionId": session, **params})

            async def steer():
                meta = {"steering": {"idleBehavior": "promptRequired"}}
                params = {"sessionId": session, "prompt": blocks("And d.txt."), "_meta": meta}
                await connection.ext_method("session/steering", params)

            prompt = lambda text: asyncio.create_task(
                connection.prompt(session_id=session, prompt=[text_block(text)])
            )
            turn = prompt("work")
            await host.was_asked.wait()
            [ask] = [m["id"] for m in host.wire if m.get("method") == "session/request_permission"]
            names[ask] = "agent-1"
            first = (await call("session/inject", mode="steer", content="Mind b.txt."))["messageId"]
            last = (await call("session/inject", mode="queue", content=blocks("Then c.txt.")))["messageId"]
            names |= {first: "message-1", last: "message-2"}
            await call("session/replace_inject", messageId=first, content=blocks("Mind b.txt and a.txt."))
            await call("session/revoke_inject", messageId=last)
            await call("session/remind", mode="finish_step", body="Run the tests.", tags=["tests"])
            notice = {"sessionId": session, "mode": "finish_step", "body": "Be brief."}
            await connection.ext_notification("session/remind", notice)
            await steer()
            await call("session/pending_injections")
            host.may_answer.set()
            await turn
            with self.assertRaises(RequestError):
                await call("session/revoke_inject", messageId=first)
            await steer()

            stays = prompt("stay")
            await host.until(lambda: host.text("agent_message_chunk").endswith("Ready."))
            await connection.ext_notification("agent/resume", {"sessionId": session})
            await connection.cancel(session_id=session)
            await stays

        entries = []
        for message in host.outgoing:
            line = json.dumps(message, separators=(",", ":"))
            for real, name in names.items():
                line = line.replace(real, name)
            entries.append(f"{TO_AGENT}{line}}}")
        pinned = [line for line in FILE.read_text().splitlines() if line.startswith(TO_AGENT)]
        if os.environ.get("UPDATE_EXPECT") == "1" and entries != pinned:
            # The test that replays the lines writes the answers.
            FILE.write_text("".join(f"{entry}\n" for entry in entries))
            return
        self.assertEqual(entries, pinned)


if __name__ == "__main__":
    unittest.main()
