"""The input of a host's hook, whatever the host calls its parts."""

from dataclasses import dataclass
from enum import StrEnum

from mcp_reflect.models.common import Json


class Moment(StrEnum):
    """The moment at which a hook is called."""

    START = "start"
    PROMPT = "prompt"
    BEFORE = "before"
    AFTER = "after"
    STOP = "stop"
    END = "end"


@dataclass(frozen=True, slots=True, kw_only=True)
class HookInput:
    """What a host sent; None for what it did not send. `error` is set if the host reports a failure.

    `answer_key` is None where the host reads no text, `holds` true where it can refuse the call; `watched` is false
    in a session whose output no person reads. `message` is the agent's last one, `again` true where it stops after that
    was held, `of_agent` where a subagent stops.
    """

    event: str
    moment: Moment
    session: str
    answer_key: str | None = None
    holds: bool = False
    watched: bool = True
    folder: str | None = None
    tool: str | None = None
    call_id: str | None = None
    arguments: Json = None
    result: Json = None
    error: str | None = None
    prompt: str | None = None
    transcript: str | None = None
    anew: bool = False
    message: str | None = None
    again: bool = False
    of_agent: bool = False
