# A small MCP server on stdio for the tests of this crate. A test selects its behaviour by the tool it calls.
import json
import os
import subprocess
import sys
import time

HELPER = subprocess.Popen(["sleep", "600"])

TOOLS = {
    "pids": lambda args: f"{os.getpid()} {HELPER.pid}",
    "where": lambda args: os.getcwd(),
    "env": lambda args: json.dumps(dict(os.environ)),
    "die": lambda args: os._exit(args["code"]),
    "sleep": lambda args: time.sleep(600),
}


def answer(request):
    method = request["method"]
    if method == "initialize":
        return {
            "protocolVersion": request["params"]["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "small", "version": "1"},
        }
    if method == "tools/list":
        return {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in TOOLS]}
    params = request["params"]
    text = TOOLS[params["name"]](params.get("arguments", {}))
    return {"content": [{"type": "text", "text": text}]}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message and "method" in message:
        result = answer(message)
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
