"""What a new lesson is compared with, however many others are near."""

from itertools import pairwise

from mcp_reflect.services.engine import Engine
from mcp_reflect.storage.similarity import COMPARED

SITUATION = "The parser fell over a settings file without any sections"


async def test_the_same_lesson_is_found_among_many_of_one_situation(engine: Engine) -> None:
    words = [
        f"{head}{tail}" for head in ("bor", "kel", "mun", "tas", "vip", "zor") for tail in ("ak", "em", "ol", "ub")
    ]
    todo = [f"Ask {one} for {other} first" for one, other in zip(words, reversed(words), strict=True)]
    todo += [f"Look {one} up beside {other}" for one, other in pairwise(words)]
    assert len(todo) > COMPARED
    stored = [await engine.store_lesson(mistake=SITUATION, correction=one) for one in todo]
    again = await engine.store_lesson(mistake=SITUATION, correction=todo[0])
    assert (again.status, again.lesson_id) == ("merged", stored[0].lesson_id)
