"""Tell advice that says nothing, such as "be more careful", from a lesson that says what to do differently."""

from typing import Final

from mcp_reflect.patterns import lazy_compile

_WORDS_OF_VAGUE_ADVICE: Final = frozenset(
    """
    a about act acting again alert all always an and any are as attention attentive attentively avoid aware be become
    before being best better bugs careful carefully caution cautious check checking checks closely closer concentrate
    correct correctly details diligent do does doing don't double down easy effort else error errors every everything
    extra fail failing fewer first focus focused for from future get go going good great hard harder have i importance
    important improve in is issues it just keep learn less lesson let make making me mind mindful mistake mistakes more
    most must my need needs never next no not now of on once our out pass patient pay please plus precise problems
    properly prudent quality really remember repeat result results review right same should slow slower smarter so stay
    stop sure take task test testing tests than that the them then things think thinking this thorough thoroughly
    thought time to too try twice us verify very vigilant was watch we well when while will with without work working
    works would wrong you your
    """.split()
)
_WORD: Final = lazy_compile(r"[^\s,.;:!?()…–—-]+")


def is_vague(text: str) -> bool:
    """Return whether a text only says in English to be careful, to test more or to do better.

    True for "Double check everything next time!", False for "Check the port": "port" is none of the vague words.
    """
    words = _WORD.findall(text.lower().replace("’", "'"))
    return bool(words) and _WORDS_OF_VAGUE_ADVICE.issuperset(words)
