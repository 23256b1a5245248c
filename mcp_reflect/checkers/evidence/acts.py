"""Claims that something works, has a status or was done, against how the tool results ended and what they name."""

import re
from collections.abc import Iterator
from typing import Final

from mcp_reflect.checkers.evidence.judgements import Evidence, Judgement, judged
from mcp_reflect.checkers.evidence.results import Result
from mcp_reflect.checkers.evidence.rows import stems
from mcp_reflect.checkers.sentences import NEGATED, Sentence
from mcp_reflect.models.critique import Status

_BAD_WORD: Final = re.compile(
    r"\b(?:fail\w*|error\w*|broken|crash\w*|reject\w*|refus\w*|denied|stops?|stopped|except|apart from|only after|but|"
    r"unfinished|remain\w*|still|wrong|missing|problem\w*|conflict\w* (?:is|are|remain)|raises?|raised|throws?)\b",
    re.IGNORECASE,
)
# "It works", "is done", "handles X", "goes through": a run that ended badly contradicts them.
_GOOD: Final = re.compile(
    r"\b(?:works?|worked|(?:is|are) (?:now )?(?:done(?! by)|complete|finished|fixed|up|live|healthy|reachable|"
    r"available|updated|installed|deployed|gone|ready|online|resolved|solved|published|restored|applied|in place)|"
    r"(?:goes|go|went|come|came|passes|passed|runs|ran) through|handles?|handled|succeed(?:s|ed)?|"
    r"successful(?:ly)?|finishe[sd]|completed|builds?(?= fine| again| now|[.,;]|$)|bundled|no longer|"
    r"(?:was|were|has been|have been|is|are) (?:\w+ )?(?:created|saved|written|removed|deleted|uploaded|imported|"
    r"loaded|exported|registered|booked|cancelled|canceled|refunded|rotated|renewed|applied|executed|migrated|fixed))\b"
    r"(?!.{0,40}\bon (?:linux|macos|windows))",
    re.IGNORECASE,
)
_PRONOUN: Final = re.compile(r"^(?:and |so |now )?(?:it|this|that|everything|all)\b", re.IGNORECASE)
_COMMON: Final = stems(
    "test tests file files line lines error errors code function fix fixed fail failed pass passed run ran check done "
    "message change changed value values made work works user release"
)
# "The script ran without errors", "npm install succeeded": of a command as a whole, which its exit code decides.
_COMMAND: Final = re.compile(
    r"\b(?:it|command|script|program|run|process|job|collection|(?:npm|pip|yarn|cargo|go|git|make|docker|python|node|java|"
    r"curl|uv|mvn|gradle)(?: [\w:-]+){0,2}|no exceptions?)\b.{0,60}?\b(?:(?:without|with no) (?:any )?(?:errors?|"
    r"exceptions?|problems?)|success\w*|succeed(?:s|ed)?|cleanly|(?:was|were|is) (?:raised|thrown)|"
    r"(?P<bad>fail(?:s|ed)?|crash(?:es|ed)|panick?(?:s|ed)|stops|was not found|with an error))\b",
    re.IGNORECASE,
)
# A non-zero exit of these is an answer and no fault.
_ANSWERS: Final = re.compile(
    r"\b(?:diff|grep|rg|cmp|is-\w+|test -|audit|outdated|--check|lsof|pgrep|which|lint|status)\b"
)
_BAD_LINE: Final = re.compile(
    r"^\s{0,4}(?:\w{0,30}(?:Error|Exception)\b.{0,200}|(?:error|fatal|panic|err!|npm err!|traceback)\b[: (].{0,200}|"
    r"HTTP/[\d.]+ [45]\d\d\b.{0,80}|.{0,20}\b(?:Build|Deploy|Rollout|Upload|Backup|Migration) failed\b.{0,80}|"
    r"ROLLBACK|(?:UPDATE|DELETE|INSERT 0) 0)\s*$",
    re.IGNORECASE | re.MULTILINE,
)
_DRY: Final = re.compile(
    r"\bdry[- ]run\b|^\W{0,4}would (?:remove|delete|create|copy|move|update|install)\b", re.IGNORECASE | re.MULTILINE
)
_DONE: Final = re.compile(r"ed\b|\bdone\b|gone\b|sent\b")
_JSON_BAD: Final = re.compile(
    r"\"(?:error|errors|error_code|exception)\"\s*:\s*(?!null|\[\]|\"\"|false|\{\}|0\b)|\"(?:ok|success)\"\s*:\s*false"
)
_ALL: Final = re.compile(r"\b(?:all|both|every|each|everything|everyone)\b", re.IGNORECASE)
_ANY_TOOL: Final = re.compile(r"^(?:git|bash|sh|shell|terminal|run|exec)?$")


def ended(result: Result) -> str | None:
    """Return the line that shows that a result ended badly, None where nothing does."""
    if found := _JSON_BAD.search(result.text):
        return result.text[found.start() : found.start() + 160].strip()
    if found := _BAD_LINE.search(result.text):
        return found[0].strip()[:160]
    if result.exit_code not in (None, 0) and not _ANSWERS.search(result.tool):
        return f"exit code {result.exit_code}"
    return None


def judge_good(text: str, sentence: Sentence, evidence: Evidence) -> Iterator[Judgement]:
    """Claims that it works or is done, where the result about it ended badly."""
    good = _GOOD.search(text)
    fixed = re.search(r"\b\d+ (?:\w+ )?(?:fixed|resolved)\b", text)
    if good is None or sentence.earlier or fixed or _BAD_WORD.search(text):
        return
    if good[0].lower() != "no longer" and NEGATED.search(text):
        return
    # The latest result that shares a word of meaning with the clause; the last one for "it works".
    seen = [result for result in evidence.results if shares(text, f"{result.tool}\n{result.text[:8_000]}")]
    result = next(reversed(seen or (evidence.results if _PRONOUN.match(text) else ())), None)
    if result is None:
        return
    if dry := _DRY.search(result.text) or _DRY.search(result.tool):
        if not re.search(r"(?i)\bdry|\bwould\b|\bplan", sentence.text) and _DONE.search(text):
            yield Judgement(Status.FAIL, text, f"a dry run: {dry[0]}")
    elif (bad := ended(result)) is not None and (_ALL.search(text) or not _good_part(text, result)):
        yield Judgement(Status.FAIL, text, bad)


def judge_commands(text: str, sentence: Sentence, evidence: Evidence) -> Iterator[Judgement]:
    """Claims like "the script ran without errors" against the way the commands ended, where they all ended alike."""
    outcomes = {result.ended_well for result in evidence.results}
    found = _COMMAND.search(text)
    if found is None or len(outcomes) != 1 or None in outcomes or re.search(r"\b(?:not|never)\b(?! found)|n't\b", text):
        return
    fine, good = True in outcomes, found["bad"] is None
    if fine and not good and re.search(r"fail|error|✗|✖|×", evidence.text):
        return  # a command that ends well may report of something that failed
    shown = "exit code 0" if fine else next(filter(None, map(ended, evidence.results)), "an error")
    yield judged(sentence.text, holds=fine == good, shown=shown)


def shares(clause: str, text: str, besides: frozenset[str] = frozenset()) -> bool:
    """True if both hold a word of meaning, or words with the same first five letters."""
    words, others = stems(clause) - _COMMON - besides, stems(text)
    return bool(words & others) or any(
        len(word) > 4 and any(other[:5] == word[:5] for other in others if len(other) > 4) for word in words
    )


def _good_part(clause: str, result: Result) -> bool:
    """True if a line about the same thing says that this part went well: "ok  example.com/queue 1.08s"."""
    well = re.compile(r"\b(?:ok|done|pass(?:ed)?|success(?:fully)?|created|sent)\b|✓", re.IGNORECASE)
    words = stems(clause)
    return any(well.search(line) and len(words & stems(line)) >= 2 for line in result.text.split("\n")[:500])


# Acts that leave a trace in some tool result: without one the claim is unsupported.
_ACT: Final = re.compile(
    r"\b(?:I|we)(?:'ve| have)? (?:also |then |now |just |have |already )?(mailed|emailed|sent|posted|notified|informed|"
    r"called|deployed|released|published|pushed|merged|installed|uploaded|restarted|ran|executed|tested|reproduced|"
    r"verified|measured|benchmarked|approved|started|restored|migrated|rotated|scaled|committed|tagged|booked|"
    r"ordered|paid|scheduled|phoned|contacted|asked|reviewed|validated|profiled|dumped|synced|rebooted|submitted|"
    r"enabled|disabled|archived|closed|refunded|created|removed|deleted|translated|checked|updated|edited|changed|"
    r"wrote|saved)\b|"
    r"\b(?:has|have|was|were|been|is|are) (?:also |now |all |already |successfully )?(mailed|emailed|sent|posted|"
    r"notified|deployed|released|published|pushed|merged|installed|uploaded|restarted|executed|tested|approved|"
    r"reviewed|"
    r"signed off|submitted|validated|"
    r"restored|migrated|rotated|committed|booked|refunded|informed|translated|removed|deleted|live|backed up)\b|"
    r"\b(?:runs?|ran|passes|passed|builds?) (?:without (?:warnings?|errors?)|clean(?:ly)?|fine)\b|"
    r"^(?:and |then )?(Ran|Mailed|Posted|Deployed|Pushed|Sent|Tested|Measured|Uploaded|Notified|Merged|Tagged|"
    r"Published|Installed|Restarted|Started|Executed|Benchmarked|Migrated|Scaled|Booked|posted|pushed|mailed|"
    r"deployed)\b"
)
_CHECKS: Final = re.compile(
    r"\b(?:tests?|suite|lint|type[- ]?checks?|build|ci|pipeline|specs?|benchmarks?|lighthouse|audit|smoke tests?)\b"
    r".{0,40}\b(?:pass(?:es|ed)?|green|clean|succeed(?:s|ed)?|gives?|gave|reports?|shows?|ok)\b",
    re.IGNORECASE,
)
_GIT_ACTS: Final = frozenset({"pushed", "merged", "committed", "tagged"})
_MAY_FAIL: Final = frozenset({"ran", "executed", "tested", "reproduced", "called", "checked", "started", "measured"})
_SAME_ACT: Final = {
    **dict.fromkeys("updated edited changed wrote saved translated".split(), "update write edit patch replace create"),
    **dict.fromkeys(("created",), "create write make mkdir new add"),
    **dict.fromkeys(("removed", "deleted"), "rm remove delete prune"),
    **dict.fromkeys("mailed emailed sent posted notified informed".split(), "send mail post message notify chat"),
    **dict.fromkeys("deployed live released published".split(), "deploy apply rollout release helm kubectl push"),
    **dict.fromkeys("ran executed started".split(), "run test exec bash shell make npm python sql start"),
    **dict.fromkeys(("tested", "reproduced"), "test run curl pytest jest browser bash exec"),
    "measured": "bench time run wrk ab hey lighthouse measure",
}


def judge_acts(text: str, _: Sentence, evidence: Evidence) -> Iterator[Judgement]:
    """Acts said to be done, and checks said to pass, of which no tool result has a trace."""
    check, act = _CHECKS.search(text), _ACT.search(text)
    if NEGATED.search(text) or not (check or act):
        return
    word = next((group for group in act.groups() if group), "ran").lower() if act and not check else "tested"
    traces = frozenset(_SAME_ACT.get(word, word).split()) | stems(f"{_SAME_ACT.get(word, '')} {word}")
    traced = [result for result in evidence.results if _has_trace(result, traces)]
    if not traced:
        yield Judgement(Status.UNSUPPORTED, text, None, f"no tool result shows it; show what was {word}")
        return
    last, bad = traced[-1], ended(traced[-1])
    if check or bad is None or last.runs or word in _MAY_FAIL:
        return
    own = bool(_ANY_TOOL.match(last.tool)) or bool(traces & stems(f"{last.tool} {bad}"))
    if own and shares(text, f"{last.tool} {last.text[:4_000]}", traces):
        yield Judgement(Status.FAIL, text, bad)


def _has_trace(result: Result, traces: frozenset[str]) -> bool:
    text = f"{result.tool} {result.text[:3_000]}"
    if result.tool == "git" and traces & _GIT_ACTS:
        return True
    return bool(traces & stems(text)) or bool(result.runs)
