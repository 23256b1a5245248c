"""An equal reflection that exists is found before anybody is asked to make it anew."""

from mcp_reflect.arguments.run import ReflectShape
from mcp_reflect.context_ import Parts
from mcp_reflect.llm.protocol import Role
from mcp_reflect.llm.runner import Host
from mcp_reflect.models.common import Scope
from mcp_reflect.models.reflection import StoredReflection
from mcp_reflect.reflecting.evaluating import name_of
from mcp_reflect.reflecting.results import from_body


async def equal(parts: Parts, scope: Scope, sent: ReflectShape, run_digest: str, host: Host) -> StoredReflection | None:
    """What the same kind of thinker said of the same run, scored by all criteria that are asked for; null for none.

    An analysis is a new judgement, and a run by its id asks for the next version: neither is looked for. What rules
    wrote because a model failed is no model's word: with a model at hand, it is asked again.
    """
    if sent.analysis is not None or sent.reflection_id is not None:
        return None
    by_model = parts.thinking.llm(Role.REFLECTOR, host) is not None
    wanted = {name_of(one) for one in sent.criteria}
    for stored in await parts.bank.reflections.of_same_run(scope, run_digest, by_model=by_model):
        body = stored.body
        assert isinstance(body, dict)  # noqa: S101 - written by the engine
        assessment = from_body(dict(body)).assessment
        if wanted <= set(assessment.scores if assessment else ()):
            return stored
    return None
