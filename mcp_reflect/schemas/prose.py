"""A reflection in prose: its sections by their headings, its insights, and its verdict on a decision."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from mcp_reflect.models.reflection import Assessment, Insights
from mcp_reflect.patterns import lazy_compile
from mcp_reflect.schemas.fields import normalized

TITLES: Final = (
    "reflection reflection_text reflections root_cause what_went_wrong what_happened what_went_right why diagnosis "
    "analysis summary strategy strategy_text strategies next_time next_strategy recommendation importance confidence "
    "tags tag mistake problem correction lesson lesson_learned lessons_learned fix prevention solution symptoms "
    "symptom keywords wrong_call right_call scores overview executive_summary tldr conclusion strengths what_went_well "
    "what_worked improvements areas_for_improvement weaknesses what_did_not_work what_could_be_better recommendations "
    "next_steps suggestions advice decision execution"
).split()
"""Names of sections that are known where nothing but a colon marks them as headings."""

_BULLET: Final = re.compile(r"^\s*(?:[-*+•‣◦–—·]|\(?\d{1,3}[.)]|[a-zA-Z][.)])\s+")
_FENCE: Final = re.compile(r"\s*(```|~~~)")
_HASH: Final = re.compile(r"\s{0,3}#+\s*(?P<title>[^#\s].*)$")
_BOLD: Final = re.compile(
    r"\s*(?P<mark>\*\*\*|\*\*|__)(?P<title>[^*_\n]{1,80}?)(?P=mark)\s*(?P<colon>[:：–—-]?)\s*(?P<rest>.*)$"
)
_LABELED: Final = re.compile(r"\s*(?P<title>[^\W\d_][^:：\n]{0,60}?)\s*[:：]\s*(?P<rest>.*)$")
# A known title inside of a line: after the end of a sentence or a mark, or with a capital after a small letter.
_INSIDE: Final = lazy_compile(
    r"(?:^|(?<=[^\W\d][.!?;,…。！？；])\s+|(?<=[*`)])\s+|(?<=[a-z])\s+(?=[A-Z*]))(?=(?:(?:[-*•|]|\d{1,2}[.)])\s+)?(?:\*\*|__)?"
    rf"(?i:({'|'.join(TITLES).replace('_', '[ _]')}))(?:\*\*|__)?\s*[:：])",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Section:
    """A heading without its marks, and the text under it. Text before the first heading has an empty title."""

    title: str
    body: str

    @property
    def name(self) -> str:
        """The title as a field name: `2. What went wrong:` is `what_went_wrong`."""
        return field_name(self.title)


def field_name(title: str) -> str:
    """Return a title in lower case with underscores, without its number and the signs around it."""
    words = re.sub(r"[^\w\s-]+", "", _BULLET.sub("", title.replace("’", "'")))
    return re.sub(r"_+", "_", normalized(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", words))).strip("_")


def split_sections(markdown: str) -> list[Section]:
    """Return the sections of a text in order.

    Headings are `## Title` and `**Title:** text`, and of the known `TITLES` also `Title: text` and a title in a list;
    inside of a line where the text has several of them.
    """
    if len({title.lower() for title in _INSIDE.findall(markdown)}) > 1:
        markdown = _INSIDE.sub("\n", markdown)
    parts: list[tuple[str, list[str]]] = [("", [])]
    fenced = False
    for line in markdown.splitlines():
        fenced ^= bool(_FENCE.match(line))
        heading = None if fenced else _heading(line)
        if heading is None:
            parts[-1][1].append(line)
        else:
            parts.append((heading[0].strip("*_`:： \t"), [heading[1]]))
    sections = [Section(title, "\n".join(body).strip()) for title, body in parts]
    return [section for section in sections if section.title or section.body]


def _heading(line: str) -> tuple[str, str] | None:
    """Return the title that a line gives and the text after it; None where it gives none."""
    if match := _HASH.match(line):
        title, _, rest = match["title"].rstrip("# ").partition(":")
        return (title, rest.strip(" *_")) if field_name(title) in TITLES else (match["title"].rstrip("# "), "")
    bare = _BULLET.sub("", line, count=1)
    match = _BOLD.match(bare) or _LABELED.match(bare)
    if match is None:
        return (bare, "") if bare != line and field_name(bare) in TITLES else None
    bold = "mark" in match.re.groupindex
    colon = not bold or match["colon"] in (":", "：") or match["title"].rstrip().endswith((":", "："))
    named = field_name(match["title"]) in TITLES and (colon or bool(match["colon"]))
    return (
        (match["title"], match["rest"]) if named or (bold and bare == line and (colon or not match["rest"])) else None
    )


def items(body: str) -> list[str]:
    """Return the items of a list, at any depth and with any sign, each on one line; other text is one item."""
    listed: list[str] = []
    for line in filter(str.strip, body.splitlines()):
        text = _BULLET.sub("", line, count=1)
        if text != line or not listed:
            listed.append(text.strip())
        else:
            listed[-1] = f"{listed[-1]} {text.strip()}"
    return listed


# The meaning of a heading by a part of its name ("Key strengths of the run").
_STEMS: Final = {
    "summary": re.compile(r"summary|overview|conclusion|^(?:tldr|abstract|reflection|analysis)$"),
    "strengths": re.compile(r"strength|positive|went_well|worked_well|^(?:what_worked|successes|pros|good)$"),
    "improvements": re.compile(
        r"improve|weakness|limitation|went_wrong|could_be_better|did_?no?t_work|^(?:issues|problems?|mistakes|cons)$"
    ),
    "recommendation": re.compile(r"recommend|suggestion|next_step|next_time|action_item|^(?:strategy|advice)$"),
}


def read_insights(markdown: str) -> Insights:
    """Return the sections by meaning; a missing one is None or empty, and `raw_sections` has all by their headings.

    Text before any heading is the summary where no heading gives one.
    """
    raw: dict[str, str] = {}
    bodies: dict[str | None, list[str]] = {}
    for section in split_sections(markdown):
        if section.title:
            raw[section.title] = f"{raw.get(section.title, '')}\n\n{section.body}".strip()
        about = section.name.startswith(("reflection_on_", "decision_", "execution_"))  # it names a thing
        kind = next((kind for kind, stem in _STEMS.items() if not about and stem.search(section.name)), None)
        bodies.setdefault(kind if section.title else "intro", []).append(section.body)
    texts = {kind: "\n\n".join(filter(None, parts)) or None for kind, parts in bodies.items()}
    return Insights(
        summary=texts.get("summary") or texts.get("intro"),
        strengths=tuple(item for body in bodies.get("strengths", ()) for item in items(body)),
        improvements=tuple(item for body in bodies.get("improvements", ()) for item in items(body)),
        recommendation=texts.get("recommendation"),
        raw_sections=raw,
    )


# The verdict: whether the decision was appropriate, the execution effective, and how sure the text is.

Subject = Literal["decision", "execution"]

_NAMES: Final[tuple[Subject, ...]] = ("decision", "execution")
_WORDS: Final = {
    head: frozenset(words.split())
    for line in Path(__file__).with_name("judging_words.txt").read_text(encoding="utf-8").splitlines()
    for head, _, words in (line.partition(": "),)
}
_SENTENCE: Final = re.compile(r"[.!]\s|(?<=\?)\s|\n+")
_CLAUSE: Final = re.compile(r"[;:]|,?\s\b(?:but|yet|although|though|however|nevertheless|while)\b")
# Wishes, plans, conditions, doubts and questions judge nothing.
_OPEN: Final = re.compile(
    r"\b(?:next|will|shall|must|needs? to|ensure|recommend\w*|should|consider|avoid|prevent|if|unless|whether|would"
    r"|not (?:sure|clear)|un(?:sure|clear|certain)|part(?:ly|ially)|mixed)\b|^\W*to \w|\?\s*$"
)
_SAYS_NOT: Final = re.compile(r"n't\b|\b(?:anything but|far from)\b")
_SAYS_SURELY: Final = re.compile(r"\b(?:without|beyond|no) (?:any )?doubt\b")
_WORD: Final = re.compile(r"[a-z]+(?:-[a-z]+)*")
_LABEL: Final = re.compile(
    r"(?i)\b(?P<what>decision|execution|confidence)(?:[ _](?:was[ _])?(?:appropriate|effective|level))?\**\s*[:=]"
    r"[\s*_`\"']*(?P<value>yes|no|true|false|high|medium|moderate|low|null|unclear|[01]?\.\d+|[01]\b|\d{1,3}\s*%)"
)
_TRUTH: Final[Mapping[str, bool]] = {"yes": True, "true": True, "no": False, "false": False}
# Sections that judge nothing: they advise, or list what was good and bad.
_SKIPPED: Final = re.compile(
    r"recommend|next|suggest|action_item|advice|strateg|plan|improvement|strength|problem|correction|lesson"
)


def level_of(share: float) -> str:
    """Return a confidence in 0..1 as a word."""
    return "high" if share >= 0.75 else "medium" if share >= 0.4 else "low"


def read_assessment(markdown: str) -> Assessment:
    """Return what a text says of the decision and its execution; fields are None where it does not say.

    A label (`Execution effective: no`) takes precedence over sentences; of sentences the majority counts.
    """
    stated = {match["what"].lower(): match["value"].lower() for match in _LABEL.finditer(markdown)}
    balance: dict[str, int] = {}
    words: set[str] = set()
    for section in split_sections(_LABEL.sub(" ", markdown)):
        if _SKIPPED.search(section.name):
            continue
        subject: Subject | None = next((subject for subject in _NAMES if subject in section.name), None)
        for sentence in _SENTENCE.split(re.sub(r"[*_`#>]+", " ", section.body.lower().replace("’", "'"))):
            judged: dict[Subject, bool] = {}
            text = _SAYS_SURELY.sub("clearly", _SAYS_NOT.sub(" not", sentence))
            for clause in _CLAUSE.split(text):
                said = _WORD.findall(clause)
                named: list[Subject] = [
                    name for word in said for name in _NAMES if word in _WORDS[f"{name} names"] and word != "it"
                ]
                if named:
                    subject = named[0]
                elif subject is None and "it" in said:
                    subject = "execution"
                judged |= {} if _OPEN.search(sentence) or subject is None else _judged(said, subject)
            for name, good in judged.items():
                balance[name] = balance.get(name, 0) + (1 if good else -1)
            words |= {*_WORD.findall(text)} if judged else set()
    verdicts = {
        name: _TRUTH.get(stated.get(name, ""), balance[name] > 0 if balance.get(name) else None) for name in _NAMES
    }
    sure = "low" if words & _WORDS["hedges"] else "high" if words & _WORDS["emphasis"] else "medium"
    known = set(verdicts.values()) != {None}
    if (value := stated.get("confidence", "")) and known:
        number = value.rstrip("% ")
        share = float(number) / (100 if "%" in value else 1) if number[-1:].isdigit() else None
        sure = value.replace("moderate", "medium") if share is None else level_of(share)
    return Assessment(
        decision_appropriate=verdicts["decision"],
        execution_effective=verdicts["execution"],
        confidence=sure if balance or (value and known) else None,
    )


def _judged(words: list[str], subject: Subject) -> dict[Subject, bool]:
    """Return the judgments of a clause; each negation before a judging word turns it round."""
    judged: dict[Subject, bool] = {}
    negated = False
    for word in words:
        negated ^= word in _WORDS["negations"]
        for about in ("either", *_NAMES):
            good = word in _WORDS[f"{about} praises"]
            if good or word in _WORDS[f"{about} blames"]:
                judged[subject if about == "either" else about] = good ^ negated
                negated = False
    return judged
