"""A stand-in MCP server of a few lines, which starts in no time. Its argument says how it behaves."""

import json
import sys


def main(behaviour: str) -> int:
    """Echo each request's params; notify before every answer, or go wrong as told."""
    if behaviour == "crashes":
        sys.stderr.write("the disk is on fire\n")
        return 3
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request or behaviour == "silent":
            continue
        if behaviour == "chatty":
            sys.stdout.write("starting up\n")
        if request["method"] == "fails":
            answer = {"error": {"code": -32601, "message": "no such method"}}
        else:
            answer = {"result": {"method": request["method"], "params": request.get("params")}}
        for message in ({"method": "notifications/progress"}, {"id": request["id"], **answer}):
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else ""))
