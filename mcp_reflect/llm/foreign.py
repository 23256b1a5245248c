"""A provider from another package, held to the contract of ours: whatever it raises is an `LLMError`."""

from mcp_reflect.llm.errors import GarbledReplyError, LLMError
from mcp_reflect.llm.protocol import LLM, Reply, Request


class Foreign:
    """Stands around a provider that came in through an entry point. `package` is who made it."""

    def __init__(self, llm: LLM, name: str, package: str) -> None:
        self._llm = llm
        self._name = name
        self._package = package

    async def complete(self, request: Request) -> Reply:
        """The reply of the wrapped one, or an `LLMError`, its own or ours.

        What it raised is not repeated: it may hold a key, or the question.
        """
        try:
            reply: object = await self._llm.complete(request)
            did = f"returned {type(reply).__name__}"
        except LLMError:
            raise
        except Exception as error:  # noqa: BLE001 - code that is not ours: its bug costs a rung, never the tool
            reply, did = None, f"raised {type(error).__name__}"
        if isinstance(reply, Reply):
            return reply
        raise GarbledReplyError(
            self._name, f"the package {self._package} {did}", "Report it to its makers, or bind another provider"
        )
