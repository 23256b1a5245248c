"""The dependencies of service functions."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from mcp_reflect.clock import Clock
from mcp_reflect.config import Scopes, Settings
from mcp_reflect.log import Log
from mcp_reflect.storage.bank import Bank

if TYPE_CHECKING:
    from mcp_reflect.analysis.reflector import Scorer
    from mcp_reflect.llm.protocol import LLM
    from mcp_reflect.llm.runner import ModelRunner


@dataclass(frozen=True)
class Context:
    """Settings, storage and helpers, the same for every call of an engine.

    `scorer` and `llm` are objects that a caller in Python passed; None uses those that are installed or configured.
    `session` is the id of the engine's own session.
    `by_rules` has the ids of lessons that rules made since the engine was opened.
    """

    settings: Settings
    scopes: Scopes
    bank: Bank
    clock: Clock
    log: Log
    scorer: "Scorer | None" = None
    llm: "LLM | None" = None
    session: str = ""
    by_rules: set[str] = field(default_factory=set[str])

    @cached_property
    def runner(self) -> "ModelRunner":
        """The language models and their prompts. Created when first used: a recall needs none of it."""
        from mcp_reflect.llm.runner import ModelRunner  # noqa: PLC0415 - see above

        return ModelRunner(
            self.settings, self.bank.usage.of(self.scopes.own.tenant), llm=self.llm, log=self.log, clock=self.clock
        )
