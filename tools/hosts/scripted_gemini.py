"""An endpoint of the Gemini API on loopback that plays the model, so that the real Gemini CLI needs no account."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class GeminiModel:
    """Says each part of a script once, and keeps what it was asked with tools."""

    def __init__(self) -> None:
        self.script: list[dict[str, Any]] = []
        self.requests: list[dict[str, Any]] = []

    def reply(self, request: dict[str, Any]) -> dict[str, Any]:
        if not request.get("tools"):  # a side request of the host: which model, whether it is done
            return {
                "text": '{"reasoning": "", "next_speaker": "user", "model_choice": "pro", "complexity_score": 50}'
            }
        self.requests.append(request)
        return self.script.pop(0) if self.script else {"text": "Done."}


def function_call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """A call of a tool, as the model says it."""
    return {"functionCall": {"name": name, "args": arguments}}


def serve_gemini(model: GeminiModel) -> ThreadingHTTPServer:
    """The endpoint, on a free port of loopback."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class names it so
            pass

        def do_POST(self) -> None:
            sent = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
            if "countTokens" in self.path:
                self._send(b'{"totalTokens": 10}', "application/json")
                return
            content = {"role": "model", "parts": [model.reply(sent)]}
            answer = {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}]}
            answer |= {
                "usageMetadata": {
                    "promptTokenCount": 1,
                    "candidatesTokenCount": 1,
                    "totalTokenCount": 2,
                }
            }
            text = json.dumps(answer).encode()
            if "streamGenerateContent" in self.path:
                self._send(b"data: " + text + b"\n\n", "text/event-stream")
            else:
                self._send(text, "application/json")

        def _send(self, body: bytes, kind: str) -> None:
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server
