"""Usage by role and provider."""

import pytest

from mcp_reflect.llm.budget import Meter, Metering, Use
from mcp_reflect.llm.protocol import AuthError, Reply, Request, Role, Stop, Usage
from tests.llm.frozen import FrozenClock
from tests.llm.requests import asking
from tests.scripted import Scripted

REPLY = Reply(text="x", stop=Stop.LENGTH, llm="x:y", usage=Usage(input_tokens=10, output_tokens=2, cache_read=4))


async def test_replies_and_failures_add_up_by_role_and_provider() -> None:
    meter = Meter()
    with Scripted(REPLY, REPLY, AuthError("x:y", "no", "Check"), REPLY) as llm:
        metered = Metering(llm, "x:y", meter)
        await metered.complete(asking())
        await metered.complete(asking())
        with pytest.raises(AuthError):
            await metered.complete(asking())
        await metered.complete(asking(role=Role.CRITIC))
    totals = meter.totals()
    reflector, critic = totals[Role.REFLECTOR, "x:y"], totals[Role.CRITIC, "x:y"]
    assert (reflector.completions, reflector.failures, critic.completions) == (3, 1, 1)
    assert reflector.usage == Usage(input_tokens=20, output_tokens=4, cache_read=8)
    totals.clear()
    assert meter.totals()


async def test_each_use_is_told_with_its_seconds_and_its_end() -> None:
    uses: list[Use] = []
    clock = FrozenClock()

    def answer(request: Request) -> Reply:
        del request
        clock.at += 1.5
        return REPLY

    with Scripted(answer, AuthError("x:y", "no", "Check")) as llm:
        metered = Metering(llm, "x:y", Meter(uses.append), clock)
        await metered.complete(asking())
        with pytest.raises(AuthError):
            await metered.complete(asking())
    assert [(use.seconds, use.ended, use.usage) for use in uses] == [
        (1.5, "length", REPLY.usage),
        (0.0, "auth", Usage()),
    ]
