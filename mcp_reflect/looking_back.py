"""The part of the engine that looks back: when, on what, what is kept of it and how it is found again.

Each method imports what it needs when it is called: the command line recalls without any of it.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from mcp_reflect.context_ import Parts
    from mcp_reflect.llm.prompts import Rendered
    from mcp_reflect.llm.runner import Host
    from mcp_reflect.models.critique import Critique
    from mcp_reflect.models.reflection import Analysis, Reflection
    from mcp_reflect.models.trigger import Advice
    from mcp_reflect.reflecting import Generated, Kept


class LookingBack:
    """Methods of `Engine`, which brings the parts that they work on."""

    @property
    def _parts(self) -> "Parts":
        return cast("Parts", self)

    async def should_reflect(self, /, **arguments: Any) -> "Advice":
        """Whether to look back at this step, and why; a run's processes share the budget of its steps."""
        from mcp_reflect.triggering import should_reflect  # noqa: PLC0415 - see above

        return await should_reflect(self._parts, arguments)

    async def reset_step_counts(self, run_id: str | None = None) -> None:
        """Give the steps of a run (null: of every run of the project) their whole budget of reflections again."""
        from mcp_reflect.security.redact import clean_text  # noqa: PLC0415 - see above

        await self._parts.bank.steps.reset(self._parts.scopes.own, run_id and clean_text(run_id))

    async def reflect(self, /, **arguments: Any) -> "Reflection":
        """Look back at a run, keep what it teaches; see `reflecting`."""
        return await self._reflect(arguments, None)

    async def _reflect(self, arguments: Mapping[str, Any], host: "Host | None") -> "Reflection":
        from mcp_reflect.llm.runner import NO_HOST  # noqa: PLC0415 - same
        from mcp_reflect.reflecting import reflect  # noqa: PLC0415 - see above

        return await reflect(self._parts, arguments, host or NO_HOST)

    async def generate_reflection(self, /, **arguments: Any) -> "Generated":
        """Look back at a run, and store nothing; the arguments are those of `reflect`."""
        from mcp_reflect.llm.runner import NO_HOST  # noqa: PLC0415 - same
        from mcp_reflect.reflecting import generate  # noqa: PLC0415 - see above

        return await generate(self._parts, arguments, NO_HOST)

    async def store_reflection(self, generated: "Generated") -> "Kept":
        """Store what `generate_reflection` gave; its ids. InputError where a check of its decision failed."""
        from mcp_reflect.reflecting import store  # noqa: PLC0415 - see above

        return await store(self._parts, generated)

    async def query_reflections(
        self, query_text: str | None = None, k: int = 5, min_importance: float = 0.5, tags: Sequence[str] = ()
    ) -> "tuple[Reflection, ...]":
        """At most `k` reflections (1 to 50) of that importance (0..1) with any of the tags.

        Those that fit the text, best first; without a text the most important first.
        """
        from mcp_reflect.reflecting.finding import query  # noqa: PLC0415 - see above

        asked = {"task": query_text, "limit": k, "min_importance": min_importance, "tags": tuple(tags)}
        return await query(self._parts, asked)

    def build_reflection_prompt(self, /, **arguments: Any) -> "Rendered":
        """What a language model would be told to reflect on a run; asks none, and opens no bank."""
        from mcp_reflect.reflecting.prompting import reflection_prompt  # noqa: PLC0415 - see above

        return reflection_prompt(self._parts, arguments)

    def build_improvement_prompt(
        self,
        goal: str,
        steps: Sequence[str] | str,
        found: "Critique | Sequence[str]",
        tool_results: Sequence[Mapping[str, Any]] = (),
    ) -> "Rendered":
        """What a language model would be told to put right in `steps` what was `found` wrong; asks none.

        `found` is a critique or a list of issues.
        """
        from mcp_reflect.reflecting.prompting import improvement_prompt  # noqa: PLC0415 - see above

        return improvement_prompt(self._parts, goal, steps, found, tool_results)

    @staticmethod
    def parse_reflection(text: Any, event_ids: Sequence[str] = ()) -> "Analysis":
        """A model's reflection, JSON or markdown, as values; InputError names what cannot be used. Needs no bank."""
        from mcp_reflect.analysis.agent_analysis import read_analysis  # noqa: PLC0415 - see above

        return read_analysis(text, event_ids)
