"""Commands, scripts and programs said to have run well or badly."""

import re
from collections.abc import Iterator

from mcp_reflect.critique.checks.evidence.judgement import Evidence, Judgement, verdict
from mcp_reflect.critique.checks.evidence.reading import Seen
from mcp_reflect.critique.checks.evidence.sentences import Sentence

_NEGATED = re.compile(r"\b(?:not|never|no longer|n't|nothing)\b|n't\b", re.IGNORECASE)
_COMMAND = re.compile(
    r"\b(?:(npm|pip|yarn|pnpm|cargo|go|git|make|docker|python|node|java|curl|uv|poetry|gradle|mvn)(?: "
    r"[\w:-]+)?(?: \w+)?|"
    r"(?:script|program|command|run|job|process|it|collection|exception|tests|connection|removal))\b",
    re.IGNORECASE,
)
_RAN_WELL = re.compile(
    r"\b(?:ran|runs|run|finished|finishes|completed|completes|exits|exited|executed)(?: \w+)? (?:without (?:any "
    r")?(?:errors?|exceptions?|problems?)|"
    r"success\w*|cleanly|fine)|\b(?:script|program|command|cargo run|npm (?:run )?\w+|npm install|make|pip "
    r"install)(?: \w+)? "
    r"(?:succeeded|succeeds|passes|completed successfully|ran successfully|finished without errors|(?:was|ran) "
    r"successful)|"
    r"\b(?:ran|run|runs|running|executed)\b.{0,60}\b(?:without|with no) (?:any )?(?:errors?|exceptions?|problems?)|"
    r"\bno exceptions? (?:was|were|is) (?:raised|thrown)|\bsuccessfully\b.{0,20}\b(?:ran|executed)\b",
    re.IGNORECASE,
)
_RAN_BADLY = re.compile(
    r"\b(?:script|program|command|npm (?:run )?\w+|make(?: \w+)?|pip|it|connection|removal|run)(?: \w+)? "
    r"(?:fails|failed|crashes|crashed|panics|panicked|stops|was not found|exits with an error)\b",
    re.IGNORECASE,
)


def judge_commands(sentence: Sentence, evidence: Evidence) -> Iterator[Judgement]:
    """Claims like "the script ran without errors" against the way the commands ended, where they all ended alike."""
    for clause in sentence.clauses:
        if clause.hedged:
            continue
        well, badly = _RAN_WELL.search(clause.text), _RAN_BADLY.search(clause.text)
        if bool(well) == bool(badly) or (well and _NEGATED.search(clause.text)):
            continue
        ended = {result.ended_well for result in _meant(clause.text, evidence)}
        if len(ended) != 1 or None in ended:
            continue
        fine = ended.pop()
        yield verdict(
            sentence,
            holds=fine == bool(well),
            expected="it ended well" if fine else "it ended with an error",
            detail="the exit code or output says otherwise",
        )


def _meant(clause: str, evidence: Evidence) -> list[Seen]:
    """The results of the command that the clause names, else all of them."""
    found = _COMMAND.search(clause)
    if found is None or not found[1]:
        return list(evidence.seen)
    word = found[1].lower()
    named = [result for result in evidence.seen if word in result.tool or word in result.text[:2_000].lower()]
    return named[-1:]
