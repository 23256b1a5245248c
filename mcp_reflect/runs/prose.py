"""A reflection in prose: its sections by their headings, its insights, and its verdict on a decision."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final, Literal

from mcp_reflect.models.reflection import Assessment, Insights
from mcp_reflect.runs.text import pattern, word_set

_FENCE: Final = re.compile(r"\s*(```|~~~)")
_HASH: Final = re.compile(r"\s{0,3}#+\s*(?P<title>[^#\s].*)$")
_BULLET: Final = re.compile(r"^\s*(?:[-*+•‣◦–—·]|\(?\d{1,3}[.)]|[a-zA-Z][.)])\s+")
_BOLD: Final = re.compile(
    r"\s*(?P<mark>\*\*\*|\*\*|__)(?P<title>[^*_\n]{1,80}?)(?P=mark)\s*(?P<colon>[:：–—-]?)\s*(?P<rest>.*)$"
)
_LABELLED: Final = re.compile(r"\s*(?P<title>[^\W\d_][^:：\n]{0,60}?)\s*[:：]\s*(?P<rest>.*)$")
_INSIDE: Final = re.compile(
    r"(?<!\S)(?:(?:[-*+•‣◦–—·|]|\(?\d{1,3}[.)])\s+)?(?=(?P<title>[^\s:：][^:：\n]{0,50})[:：])\S"
)
_NUMBERING: Final = re.compile(r"^\s*(?:\(?\d{1,3}[.):]+|[ivxIVX]{1,4}[.)])\s*")


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
    """Lower case with underscores, without numbers before it and signs around it; camelCase is taken apart."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", _NUMBERING.sub("", title))
    return re.sub(r"\W+", "_", words.replace("'", "").replace("’", "")).strip("_").lower()


def split_sections(markdown: str, known: Collection[str]) -> list[Section]:
    """The sections of a text in order.

    Headings are `## Title` and `**Title:** text`; and `Title: text` or a numbered or bulleted title
    where its field name is in `known`, also inside of a line where the text has several of them.
    """
    parts: list[tuple[str, list[str]]] = [("", [])]
    fenced = False
    several = len({field_name(match["title"]) for match in _INSIDE.finditer(markdown)}.intersection(known)) > 1
    for line in markdown.splitlines():
        fenced ^= bool(_FENCE.match(line))
        for piece in _pieces(line, known) if several and not fenced else (line,):
            heading = None if fenced else _heading(piece, known)
            if heading is not None:
                parts.append((heading[0], [heading[1]]))
            else:
                parts[-1][1].append(piece)
    sections = [Section(title, "\n".join(body).strip()) for title, body in parts]
    return [section for section in sections if section.title or section.body]


def _pieces(line: str, known: Collection[str]) -> list[str]:
    """A line parted before the known titles in it: in bold, after a sign, or with a capital after a small letter."""
    cuts = [0]
    for match in _INSIDE.finditer(line):
        title, before = match["title"], line[: match.start()][-80:].split()[-1:]
        if before and field_name(title) in known:
            begins = title.startswith(("**", "__")) or (title[0].isupper() and before[0][0].islower())
            cuts += [match.start()] if begins or before[0][-1] in ".!?;,…。！？；*`)" else []
    return [line[start:end].strip() for start, end in pairwise((*cuts, len(line)))] if cuts[1:] else [line]


def _heading(line: str, known: Collection[str]) -> tuple[str, str] | None:
    """The title that a line gives and the text after it."""
    if match := _HASH.match(line):
        # The signs that close it are taken off here: a pattern for them would look at long lines again and again.
        title, colon, rest = match["title"].rstrip().rstrip("#").rstrip().partition(":")
        labels = bool(colon) and field_name(title) in known
        return (_clean(title), rest.strip(" *_")) if labels else (_clean(f"{title}{colon}{rest}"), "")
    bare = _BULLET.sub("", line, count=1)
    bulleted = bare != line
    if match := _BOLD.match(bare):
        label = match["title"].strip().endswith((":", "：")) or match["colon"] in {":", "："} or not match["rest"]
        named = field_name(match["title"]) in known and (label or match["colon"])
        if named or (label and not bulleted):
            return _clean(match["title"]), match["rest"]
    if (match := _LABELLED.match(bare)) and field_name(match["title"]) in known:
        return _clean(match["title"]), match["rest"]
    return (_clean(bare), "") if bulleted and field_name(bare) in known else None


def _clean(title: str) -> str:
    return title.strip("*_`:： \t")


def items(body: str) -> list[str]:
    """The items of a list, at any depth and with any sign, each on one line; text without bullets is one item."""
    listed: list[str] = []
    for line in body.splitlines():
        bullet = _BULLET.match(line)
        text = line[bullet.end() :].strip() if bullet else line.strip()
        if text and (bullet or not listed):
            listed.append(text)
        elif text:
            listed[-1] = f"{listed[-1]} {text}"
    return listed


# The meaning of a heading by a part of its name ("Key strengths of the run"), and names that count as weak headings.
_STEMS: Final = {
    "summary": re.compile(r"summary|overview|conclusion|^tl_?dr$|^abstract$|^reflection$|^analysis$"),
    "strengths": re.compile(r"strength|positive|went_well|worked_well|^what_worked$|^successes$|^pros$|^good$"),
    "improvements": re.compile(
        r"improve|weakness|shortcoming|limitation|went_wrong|could_be_better|pitfall|did_?no?t_work|^(?:issues|problems|mistakes|cons)$"
    ),
    "recommendation": re.compile(
        r"recommend|suggestion|next_step|next_time|action_item|going_forward|^strategy$|^advice$"
    ),
}
_HEADINGS: Final = word_set("""
    summary overview executive_summary tldr reflection analysis conclusion strengths what_went_well what_worked
    successes pros improvements areas_for_improvement weaknesses what_went_wrong what_did_not_work what_didnt_work
    what_could_be_better issues problems mistakes cons recommendation recommendations next_steps next_time strategy
    suggestions advice action_items
""")


def read_insights(markdown: str) -> Insights:
    """The sections by meaning; a missing one is None or empty, and `raw_sections` has all by their headings.

    Text before any heading is the summary where no heading gives one.
    """
    raw: dict[str, str] = {}
    bodies: dict[str | None, list[str]] = {}
    for section in split_sections(markdown, _HEADINGS):
        if section.title:
            raw[section.title] = f"{raw.get(section.title, '')}\n\n{section.body}".strip()
        bodies.setdefault(_kind(section), []).append(section.body)
    texts = {kind: "\n\n".join(filter(None, parts)) or None for kind, parts in bodies.items()}
    return Insights(
        summary=texts.get("summary") or texts.get("intro"),
        strengths=tuple(item for body in bodies.get("strengths", ()) for item in items(body)),
        improvements=tuple(item for body in bodies.get("improvements", ()) for item in items(body)),
        recommendation=texts.get("recommendation"),
        raw_sections=raw,
    )


def _kind(section: Section) -> str | None:
    """The meaning of a section by its heading; None for another, such as the title of a decision."""
    if section.name.startswith(("reflection_on_", "decision_", "execution_")):
        return None
    kind = next((kind for kind, stem in _STEMS.items() if stem.search(section.name)), None)
    return kind if section.title else "intro"


# The verdict: whether the decision was appropriate, the execution effective, and how sure the text is.

Subject = Literal["decision", "execution"]
Level = Literal["high", "medium", "low"]

HIGH: Final = 0.75  # a confidence in 0..1 from here on is high
MEDIUM: Final = 0.4  # below this it is low

_NAMES: Final[tuple[Subject, ...]] = ("decision", "execution")
# Each line: a subject (`either`: that of the clause), and the words that name, praise or blame it.
_SUBJECTS: Final[dict[str, Subject]] = {}
_JUDGING: Final[dict[str, tuple[Subject | None, bool]]] = {}
for _line in Path(__file__).with_name("judging_words.txt").read_text(encoding="utf-8").splitlines():
    _head, _, _words = _line.partition(": ")
    _subject: Subject | None = next((name for name in _NAMES if _head.startswith(name)), None)
    for _word in _words.split():
        if _subject and _head.endswith("names"):
            _SUBJECTS[_word] = _subject
        else:
            _JUDGING[_word] = (_subject, _head.endswith("praises"))

_NEGATIONS: Final = word_set("not no never neither nothing none nobody without hardly scarcely barely cannot rarely")
_HEDGES: Final = word_set(
    "might may perhaps possibly maybe seems seem seemed appears appeared apparently probably likely presumably"
)
_EMPHASIS: Final = word_set(
    "clearly definitely certainly obviously undoubtedly evidently surely absolutely unmistakably"
)
_UNDECIDED: Final = word_set("unclear uncertain unsure partly partially mixed")
_PHRASES: Final = tuple(
    (re.compile(phrase), words)
    for phrase, words in (
        (r"\b(?:without|beyond|(?:there (?:is|was) )?no)(?: an?y?| the| shadow of)* doubts?\b", " clearly "),
        (r"\b(?:can(?:not| not|'t)|hard to|difficult to) (?:tell|say|know|judge)\b", " unclear "),
        (
            r"(?:\b(?:am|is|are|was|were)|'(?:m|s|re)) (?:not|n't) (?:\w+ )?(?:sure|certain|clear|known|confident)\b",
            " unclear ",
        ),
        (r"\bonly (?:partially|partly)\b", " not "),
        (r"\b(?:highly|very|quite|fully|completely) (?:confident|sure|certain)\b", " clearly "),
        (r"\b(?:anything but|far from|by no means|not at all)\b", " not "),
        (r"n't\b", " not"),
        (r"\bpaid off\b", " succeeded "),
        (r"\b(?:every|good) reasons? to\b|\bwould make the same (?:choice|decision)\b", " the decision was right "),
        (r"\bno reason to\b", " the decision was wrong "),
        (r"\b(?:rolled back|reverted|timed[ -]out|time-?out|ran out of|fell short)\b", " failed run "),
    )
)
# Wishes, plans and questions judge nothing; a regret judges the decision.
_REGRET: Final = re.compile(r"\b(?:should|ought to|could)(?: not)? have (?!been\b)|\bassumed\b|\bwish (?:i|we) had\b")
_PLANNED: Final = pattern(r"""
    \b(?:next|will|shall|going to|must|needs? to|make sure|ensure|recommend\w*|should|ought to|consider|avoid|prevent
    |if|unless|whether|suppose|would)\b|^\W*to \w""")
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+(?=[A-Z\d\"'(*-])|\n+")
_CONTRAST: Final = re.compile(
    r"[;:]|,?\s\b(?:but|yet|although|though|however|nevertheless|while|which shows|so)\b,?|,\s(?=[a-z]+\s)"
)
_WORD: Final = re.compile(r"[a-z]+(?:-[a-z]+)*")
_LABEL: Final = pattern(r"""
    (?i)\b(?P<what>decision[ _](?:was[ _])?appropriate|execution[ _](?:was[ _])?effective|confidence)
    (?:[ _](?:in|level|score|that)\b[^.\n:=]{0,60}?)?[\W_]{0,4}?(?::|=|\bis\b|\bwas\b|\bof\b)[\s*_`\"']*
    (?P<value>yes|no|true|false|high|medium|moderate|low|null|unknown|unclear|[01]?\.\d+|[01]\b|\d{1,3}\s*%)""")
_TRUTH: Final[Mapping[str, bool]] = {"yes": True, "true": True, "no": False, "false": False}
_LEVELS: Final[Mapping[str, Level]] = {"high": "high", "medium": "medium", "moderate": "medium", "low": "low"}
# Sections that judge nothing: they advise, or list what was good and bad.
_SKIPPED: Final = re.compile(
    r"recommend|next|suggest|action_item|advice|strateg|todo|plan|improvement|strength|question"
)


def read_assessment(markdown: str) -> Assessment:
    """Return what a text says of the decision and its execution; fields are None where it does not say.

    A label (`Execution effective: no`) takes precedence over sentences; of sentences the majority counts.
    """
    stated: dict[str, str] = {}
    for match in _LABEL.finditer(markdown):
        stated.setdefault(field_name(match["what"]).split("_")[0], match["value"].lower())
    judged: list[tuple[dict[Subject, bool], Level]] = []
    for section in split_sections(markdown, _NAMES):
        if _SKIPPED.search(section.name):
            continue
        # The heading is the subject of sentences that name none.
        about: Subject | None = next((subject for subject in _NAMES if subject in section.name), None)
        text = re.sub(r"[*_`#>]+", " ", _LABEL.sub(" ", section.body)).replace("’", "'")
        judged += filter(None, (_judgement(part.strip().lower(), about) for part in _SENTENCE.split(text)))
    decision = _TRUTH.get(stated.get("decision", ""), _majority(judged, "decision"))
    execution = _TRUTH.get(stated.get("execution", ""), _majority(judged, "execution"))
    levels = {level for _, level in judged}
    confidence = next((level for level in ("low", "high", "medium") if level in levels), None)
    if confidence == "high" and not any(values for values, _ in judged):  # confident, and of nothing that is said
        confidence = None
    if "confidence" in stated and (decision, execution) != (None, None):
        confidence = _level(stated["confidence"])
    return Assessment(decision_appropriate=decision, execution_effective=execution, confidence=confidence)


def level_of(share: float) -> Level:
    """A confidence in 0..1 as a word."""
    return "high" if share >= HIGH else "medium" if share >= MEDIUM else "low"


def _level(value: str) -> Level | None:
    number = value.rstrip("% ")
    if not re.fullmatch(r"[\d.]+", number):
        return _LEVELS.get(value)
    return level_of(float(number) / (100 if "%" in value else 1))


def _judgement(text: str, about: Subject | None) -> tuple[dict[Subject, bool], Level] | None:
    """The judgements of a sentence; a later clause corrects an earlier one ("right in principle but wrong here")."""
    if text.endswith("?"):
        return None
    said = text
    for phrase, words in _PHRASES:
        text = phrase.sub(words, text)
    judged: dict[Subject, bool] = {}
    subjects: tuple[Subject, ...] = (about,) if about else ()
    for clause in _CONTRAST.split(text):
        tokens = _WORD.findall(clause)
        if judged and _UNDECIDED & {*tokens}:  # a doubt after a judgement takes its certainty, not the judgement
            return judged, "low"
        named: list[Subject] = [_SUBJECTS[word] for word in tokens if word in _SUBJECTS and word != "it"]
        named = named or [_SUBJECTS["it"]] * ("it" in tokens)
        both = {"both", "neither"} & {*tokens} and len({*named}) == 2
        subjects = _NAMES if both else tuple(named[:1]) or subjects
        if _REGRET.search(clause):
            judged["decision"] = False
        elif subjects and not _PLANNED.search(clause):
            judged |= _clause(tokens, subjects)
    words = frozenset(_WORD.findall(text))
    if words & _UNDECIDED:
        return ({}, "low") if words & _SUBJECTS.keys() else None
    level: Level = "low" if words & _HEDGES and not _REGRET.search(text) else "high" if words & _EMPHASIS else "medium"
    return (judged, level) if judged or (level == "high" and "confident" in said) else None


def _clause(tokens: list[str], subjects: tuple[Subject, ...]) -> dict[Subject, bool]:
    """The judgements of a clause; each negation before a judging word turns it round."""
    judged: dict[Subject, bool] = {}
    negated = False
    for word in tokens:
        negated ^= word in _NEGATIONS
        if word in _JUDGING:
            subject, good = _JUDGING[word]
            judged |= dict.fromkeys((subject,) if subject else subjects, good ^ negated)
            negated = False
    return judged


def _majority(judged: list[tuple[dict[Subject, bool], Level]], subject: Subject) -> bool | None:
    """The judgement of most sentences; None where none judges, or where they are even."""
    balance = sum(1 if values[subject] else -1 for values, _ in judged if subject in values)
    return None if balance == 0 else balance > 0
