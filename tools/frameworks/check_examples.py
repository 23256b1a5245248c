"""The second part of docs/frameworks.md with the real packages: `bash .ci/frameworks DIR` runs it in their environment.

Each agent is driven by a scripted model that makes a call which fails, and then another one that works, in a first
session, in which it is asked for a lesson; the lesson is kept, and the same calls are made in a second. What it is told
in each is checked.
"""

import asyncio
import json
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from mcp_reflect.config import Settings
from mcp_reflect.services.engine import Engine
from tools.frameworks.page import examples

NO_YES = "refusing to deploy without confirm"
WARNED = "goes against a lesson"
ASKED = "keep what it should know with store_lesson"


def deploy(target: str, confirm: bool) -> str:
    """Deploy to a target."""
    if not confirm:
        raise ValueError(NO_YES)
    return f"deployed to {target}"


CALLS = ({"target": "prod", "confirm": False}, {"target": "prod", "confirm": True})


async def langchain_told(page: dict[str, Any], watch: Any) -> list[str]:
    from langchain.agents import create_agent
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage

    class Scripted(GenericFakeChatModel):
        def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
            return self

    def said(number: int, arguments: dict[str, Any]) -> Any:
        return AIMessage("", tool_calls=[{"name": "deploy", "args": arguments, "id": f"c{number}"}])

    script = [
        *(said(number, arguments) for number, arguments in enumerate(CALLS)),
        AIMessage("done"),
    ]
    agent = create_agent(
        Scripted(messages=iter(script)), tools=[deploy], middleware=[page["Watched"](watch)]
    )
    found = await agent.ainvoke({"messages": [{"role": "user", "content": "deploy"}]})
    return [str(message.content) for message in found["messages"] if message.type == "tool"]


async def agents_told(page: dict[str, Any], watch: Any) -> list[str]:
    from agents import Agent, RunConfig, Runner, function_tool
    from agents.items import ModelResponse
    from agents.models.interface import Model
    from agents.usage import Usage
    from openai.types.responses import (
        ResponseFunctionToolCall,
        ResponseOutputMessage,
        ResponseOutputText,
    )

    class Scripted(Model):
        def __init__(self) -> None:
            self.step = 0

        async def get_response(self, *args: Any, **kwargs: Any) -> Any:
            if self.step < len(CALLS):
                sent = json.dumps(CALLS[self.step])
                item: Any = ResponseFunctionToolCall(
                    arguments=sent, call_id=f"c{self.step}", name="deploy", type="function_call"
                )
            else:
                text = ResponseOutputText(annotations=[], text="done", type="output_text")
                item = ResponseOutputMessage(
                    id="m", content=[text], role="assistant", status="completed", type="message"
                )
            self.step += 1
            return ModelResponse(output=[item], usage=Usage(), response_id=None)

        def stream_response(self, *args: Any, **kwargs: Any) -> Any:
            raise NotImplementedError

    tool = function_tool(deploy, failure_error_function=lambda _, error: f"Error: {error}")
    agent = Agent(name="a", model=Scripted(), tools=[page["watched"](tool, watch)])
    found = await Runner.run(agent, "deploy", run_config=RunConfig(tracing_disabled=True))
    return [str(item.output) for item in found.new_items if item.type == "tool_call_output_item"]


async def pydantic_ai_told(page: dict[str, Any], watch: Any) -> list[str]:
    from pydantic_ai import Agent, ModelRetry
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel
    from pydantic_ai.toolsets import FunctionToolset

    state = SimpleNamespace(step=0)

    def model(messages: Any, info: Any) -> Any:
        state.step += 1
        if state.step > len(CALLS):
            return ModelResponse(parts=[TextPart("done")])
        return ModelResponse(parts=[ToolCallPart("deploy", CALLS[state.step - 1])])

    def retried(target: str, confirm: bool) -> str:
        """Deploy to a target."""
        try:
            return deploy(target, confirm)
        except ValueError as error:
            raise ModelRetry(str(error)) from error

    retried.__name__ = "deploy"
    toolset = page["WatchedToolset"](FunctionToolset([retried], max_retries=3), watch)
    found = await Agent(FunctionModel(model), toolsets=[toolset]).run("deploy")
    return [
        str(part.content)
        for message in found.all_messages()
        for part in message.parts
        if part.part_kind in ("tool-return", "retry-prompt")
    ]


async def main() -> int:
    """Two sessions with each package; 1 where the second is not told what the first has seen."""
    page, wrong = examples("The warning before a call"), 0
    for name, told in (
        ("LangChain", langchain_told),
        ("OpenAI Agents", agents_told),
        ("Pydantic AI", pydantic_ai_told),
    ):
        with tempfile.TemporaryDirectory() as folder:
            async with Engine(Settings(bank=Path(folder) / "bank.db", project="app")) as engine:
                first = await told(page, page["Watch"](engine, "first"))
                wrong_call, right_call = (
                    {"tool": "deploy", "arguments": arguments} for arguments in CALLS
                )
                kept = {
                    "mistake": "Deployed without confirm, which is refused",
                    "correction": "Deploy with confirm",
                }
                await engine.store_lesson(**kept, wrong_call=wrong_call, right_call=right_call)
                second = await told(page, page["Watch"](engine, "second"))
        fine = (
            NO_YES in first[0]
            and WARNED not in first[0]
            and first[1].startswith("deployed to prod")
            and ASKED in first[1]
            and WARNED in second[0]
            and second[1].startswith("deployed to prod")
        )
        print(
            f"{name}: {'the first session is asked, the second is warned' if fine else f'WRONG {first} {second}'}"
        )
        wrong += not fine
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
