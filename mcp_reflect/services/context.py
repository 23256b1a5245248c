"""The dependencies of service functions."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from mcp_reflect.clock import Clock
from mcp_reflect.config import Scopes, Settings
from mcp_reflect.log import Log
from mcp_reflect.models.lesson import Recall, RecallQuery
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

        return ModelRunner(self.settings, self.bank.usage, llm=self.llm, log=self.log, clock=self.clock)

    async def recall(self, query: RecallQuery, project: str | None = None, *, applied: bool = True) -> Recall:
        """Recall by a query that was read already. `applied=False` does not count the lessons as applied."""
        scope = self.scopes.named(project)
        result = await self.bank.recalls.recall(scope, query, applied=applied, holdout=self.settings.holdout)
        self.log("lessons_recalled", recall_id=result.recall_id, hits=len(result.lessons), project=scope.project)
        return result
