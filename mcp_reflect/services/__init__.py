"""One module a use case, and the Engine that composes them. A module is imported when it is first used."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcp_reflect.services import consolidate as consolidate
    from mcp_reflect.services import critique as critique
    from mcp_reflect.services import critique_models as critique_models
    from mcp_reflect.services import dream_proposals as dream_proposals
    from mcp_reflect.services import enforced as enforced
    from mcp_reflect.services import finding_asks as finding_asks
    from mcp_reflect.services import findings as findings
    from mcp_reflect.services import ground as ground
    from mcp_reflect.services import guards as guards
    from mcp_reflect.services import hooks as hooks
    from mcp_reflect.services import imports as imports
    from mcp_reflect.services import last_message as last_message
    from mcp_reflect.services import learn as learn
    from mcp_reflect.services import lesson_edits as lesson_edits
    from mcp_reflect.services import lessons as lessons
    from mcp_reflect.services import outcomes as outcomes
    from mcp_reflect.services import promote as promote
    from mcp_reflect.services import promotion_refresh as promotion_refresh
    from mcp_reflect.services import proposals as proposals
    from mcp_reflect.services import reflect as reflect
    from mcp_reflect.services import reminders as reminders
    from mcp_reflect.services import replan as replan
    from mcp_reflect.services import replay as replay
    from mcp_reflect.services import roots as roots
    from mcp_reflect.services import shared as shared
    from mcp_reflect.services import spooled_calls as spooled_calls
    from mcp_reflect.services import statistics as statistics
    from mcp_reflect.services import transcripts as transcripts
    from mcp_reflect.services import triggers as triggers
    from mcp_reflect.services import warnings as warnings


def __getattr__(name: str) -> object:
    """Import a service, so that a recall on the command line does not load analysis, checkers or language models."""
    module = f"mcp_reflect.services.{name}"
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        raise AttributeError(f"there is no service '{name}'") from error
