"""Claims about errors, exit codes, statuses, fields of results and quoted output."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import cast

from mcp_reflect.checkers.evidence.reading import parsed_json
from mcp_reflect.checkers.evidence.sentences import WORDS, Evidence, Judgement, unsupported, verdict
from mcp_reflect.checkers.sentences import Sentence, quotations

# Claims about exceptions, places in files, error codes, exit codes and HTTP statuses.


_EXCEPTION = re.compile(r"\b([A-Z][a-z]\w{0,60}(?:Error|Exception)|KeyboardInterrupt|SystemExit|StopIteration)\b")
_SHOWN_EXCEPTION = re.compile(r"\b([a-z_][\w.]{0,80}(?:error|exception))\b")
_RAISED = re.compile(
    r"\b(?:fail|fails|failed|raise|raises|raised|throw|throws|threw|thrown|crash|crashes|crashed|error is|is an?|"
    r"with an?|"
    r"stops|dies|reports|shows|caused by)\b",
    re.IGNORECASE,
)
_BEHAVIOUR = re.compile(
    r"\b(?:function|method|helper|handler|constructor|class|decorator|parser|validator|api|which)\b", re.IGNORECASE
)
_NEGATED = re.compile(
    r"\b(?:no|not|never|without|n't|instead of|rather than|fixed|avoids?|prevents?|handles?|catch\w*)\b|n't\b",
    re.IGNORECASE,
)


def _exceptions(evidence: Evidence) -> set[str]:
    return {found[1] for found in evidence.every(_SHOWN_EXCEPTION)}


def judge_exceptions(sentence: Sentence, evidence: Evidence) -> Iterator[Judgement]:
    """Claims like "fails with a KeyError" against the exceptions that the output names."""
    for clause in sentence.clauses:
        names = _EXCEPTION.findall(clause.text)
        if not names or clause.hedged or _NEGATED.search(clause.text) or not _RAISED.search(clause.text):
            continue
        shown = evidence.once(_exceptions)
        if not shown or _BEHAVIOUR.search(clause.text):
            continue
        if all(name.lower() in evidence.text for name in names):
            yield _with_message(sentence, names[0], evidence)
        elif "traceback" in evidence.text or "exception in thread" in evidence.text or "\n    at " in evidence.text:
            yield verdict(
                sentence, holds=False, expected=", ".join(sorted(shown)[:4]), detail="the output names another error"
            )


_MESSAGE = re.compile(r"\b([A-Z]\w{0,60}(?:Error|Exception)): ([^\n]{1,200}?)[.!]?$")


def _with_message(sentence: Sentence, name: str, evidence: Evidence) -> Judgement:
    """A name with a message, "KeyError: 'total'", must be in the output with that message."""
    found = _MESSAGE.search(sentence.text)
    if found is None or f"{name}: {found[2]}".lower() in evidence.text:
        return verdict(sentence, holds=True)
    short = re.search(re.escape(name.lower()) + r": ([^\n]{1,200})", evidence.text)
    # Only a short message, as a key's name is, can be told from a paraphrase.
    if short and re.fullmatch(r"'[^' ]{1,60}'", found[2]) and re.fullmatch(r"'[^' ]{1,60}'", short[1]):
        return verdict(sentence, holds=False, expected=short[0], detail="the message differs")
    return unsupported(sentence, "the error is there, with other words")


_PLACE = re.compile(
    r"\b([\w./-]{1,120}\.[A-Za-z]{1,5})(?::| at line | line |, line | in line )(\d{1,6})\b|"
    r"\bline (\d{1,6}) (?:of|in) `?([\w./-]{1,120}\.[A-Za-z]{1,5})\b"
)
_POINTING = re.compile(
    r"\b(?:error|fails?|failed|failing|failure|crash\w*|raised?|raises|throws?|complains?|assertion|panics?|"
    r"violat\w+|warning|"
    r"exception|bug|reported|reports|points|traceback)\b",
    re.IGNORECASE,
)


def judge_places(sentence: Sentence, evidence: Evidence) -> Iterator[Judgement]:
    """Claims like "the error is in load.py at line 42": a fail where the output points into it and never at 42."""
    text = sentence.stated
    if not _POINTING.search(text) or _NEGATED.search(text):
        return
    for first, line, other, second in _PLACE.findall(text.replace("`", "")):
        name, number = (first or second).rsplit("/", 1)[-1].lower(), line or other
        pointed: list[str] = re.findall(re.escape(name) + r"(?::|\(|\", line |, line |:line )(\d{1,6})", evidence.text)
        if number in pointed:
            yield verdict(sentence, holds=True)
        elif pointed and not (number in evidence.text and re.search(rf"(?<!\d){number}(?!\d)", evidence.text)):
            shown = f"{name}:{', '.join(dict.fromkeys(pointed))}"[:120]
            yield verdict(sentence, holds=False, expected=shown, detail="the output points elsewhere")


_EXIT = re.compile(
    r"\bexit(?:s|ed|ing)?(?: with)?(?: an?)?(?: exit)? ?(?:code|status)?(?: was| is|:)? (\d{1,3})\b(?! means)|"
    r"\b(?:exit|return) (?:code|status)(?: was| is|:)? (\d{1,3})\b(?! means)",
    re.IGNORECASE,
)


_SHOWN_EXIT = re.compile(r"exit (?:status|code):? (\d{1,3})\b")


def _exit_codes(evidence: Evidence) -> set[int]:
    given = {result.exit_code for result in evidence.seen if result.exit_code is not None}
    return given | {int(found[1]) for found in evidence.every(_SHOWN_EXIT)}


def judge_exits(sentence: Sentence, evidence: Evidence) -> Iterator[Judgement]:
    """Exit codes."""
    known = evidence.once(_exit_codes)
    for clause in sentence.clauses:
        found = _EXIT.search(clause.text)
        if found is None or clause.hedged or not known or _NEGATED.search(clause.text):
            continue
        code = int(found[1] or found[2])
        shown = ", ".join(str(number) for number in sorted(known))
        yield verdict(sentence, holds=code in known, expected=f"exit code {shown}", detail="it ended otherwise")


_CODE = re.compile(r"\b(?:(E|TS|CS|C|W|F|S|B|RUF|UP|SC)(\d{3,5})|(E[A-Z]{4,12}))\b")
_NOT_POSIX = frozenset({"ERROR", "EVERY", "EITHER", "EMAIL", "EVENT", "ENGLISH", "EXAMPLE", "EXCEPT", "EMPTY", "EXIT"})


def judge_codes(sentence: Sentence, evidence: Evidence) -> Iterator[Judgement]:
    """Diagnostic codes: E0277, TS2741, F401, ETARGET."""
    if _NEGATED.search(sentence.stated) or not _POINTING.search(sentence.stated):
        return
    for clause in sentence.clauses:
        for letters, digits, word in () if clause.hedged else _CODE.findall(clause.text):
            code = (letters + digits or word).lower()
            if code.upper() in _NOT_POSIX:
                continue
            if code in evidence.text:
                yield verdict(sentence, holds=True)
            elif letters and (alike := _alike(letters.lower(), len(digits), evidence)):
                yield verdict(sentence, holds=False, expected=", ".join(alike)[:80].upper())


_SHOWN_CODE = re.compile(r"\b([a-z]{1,3})(\d{3,5})\b")


def _alike(letters: str, digits: int, evidence: Evidence) -> list[str]:
    """Codes of the same family that the output has."""
    shown = [found for found in evidence.every(_SHOWN_CODE) if found[1] == letters and len(found[2]) == digits]
    return list(dict.fromkeys(found[0] for found in shown))


_STATUS = re.compile(
    r"\b(?:return(?:s|ed)?|respon(?:ds|ded|se)|status(?: code)?|answer(?:s|ed)?|http|gives?|gave|got)\b"
    r"(?: (?:with|is|was|of|code|status|an?|http|us))*:? ?\b([1-5]\d\d)\b",
    re.IGNORECASE,
)
_SHOWN_STATUS = re.compile(r"\bhttp/\d(?:\.\d)? ([1-5]\d\d)\b|\"(?:status|status_code|statuscode)\": ?([1-5]\d\d)\b")
_UNREACHED = re.compile(
    r"\b(?:failed to connect|connection refused|couldn't connect|could not resolve host|econnrefused)\b"
)
# What a server does in general, or sometimes, is not what it did here.
_GENERAL = re.compile(r"\b(?:for|when|if|during|while|only|unless|in case|after|until|sometimes)\b", re.IGNORECASE)
_REQUEST = re.compile(
    r"\b(?:request|call|endpoint|server|service)\b.{0,40}\b(?:succeeded|succeeds|successful|reachable|works)\b",
    re.IGNORECASE,
)


def _statuses(evidence: Evidence) -> set[str]:
    return {found[1] or found[2] for found in evidence.every(_SHOWN_STATUS)}


def judge_statuses(sentence: Sentence, evidence: Evidence) -> Iterator[Judgement]:
    """HTTP statuses, and requests said to have worked."""
    shown = evidence.once(_statuses)
    unreached = bool(evidence.every(_UNREACHED))
    if not shown and not unreached:
        return
    expected = ", ".join(sorted(shown)) or "no connection"
    for clause in sentence.clauses:
        if clause.hedged or _NEGATED.search(clause.text) or _GENERAL.search(clause.text):
            continue
        if found := _STATUS.search(clause.text):
            yield verdict(sentence, holds=found[1] in shown, expected=expected, detail="the server answered otherwise")
        elif _REQUEST.search(clause.text):
            fine = not unreached and all(status[0] in "23" for status in shown)
            yield verdict(sentence, holds=fine, expected=expected, detail="the server answered otherwise")


# Claims about the fields of a JSON result: "the email is ...", "2 orders were found".


_MOST = 3_000


@dataclass(slots=True)
class _Fields:
    """Leaf values, and lengths of lists (-1 where a key has several), by key in lower case with spaces."""

    leaves: dict[str, list[object]] = field(default_factory=dict[str, list[object]])
    lengths: dict[str, int] = field(default_factory=dict[str, int])

    def read(self, value: object, key: str = "") -> None:
        """Takes in a parsed value; its depth is bounded by the reader that parsed it."""
        if len(self.leaves) > _MOST:
            return
        if isinstance(value, dict):
            for name, inner in cast("dict[str, object]", value).items():
                self.read(inner, name.replace("_", " ").replace("-", " ").lower())
        elif isinstance(value, list):
            items = cast("list[object]", value)
            self.lengths[key] = -1 if key in self.lengths else len(items)
            for inner in items:
                self.read(inner, key)
        else:
            self.leaves.setdefault(key, []).append(value)


_CLAIM = re.compile(
    r"[`\"']?\b([A-Za-z][\w-]*(?: [a-z]+)?)[`\"']?(:| ?=| is:?| was:?| equals)? [`\"']?"
    r"([\w.+-]+@[\w.-]+\w|-?\d[\d,]*(?:\.\d+)?\b|true\b|false\b|[\w]+(?:-[\w]+)+)[`\"']?",
)
_FOUND = re.compile(
    r"\b(?:found|returned|returns|contains|has|lists?|there (?:are|is|were))\b.{0,12}?\b(\w+) (\w+)\b", re.IGNORECASE
)
_SKIP = re.compile(
    r"\b(?:not|never|n't|no longer|was previously|changed|set|from|should|step|line)\b|n't\b", re.IGNORECASE
)


def _read(evidence: Evidence) -> _Fields:
    fields = _Fields()
    for result in evidence.seen:
        if (value := parsed_json(result.text)) is not None:
            fields.read(value)
    return fields


def judge_fields(sentence: Sentence, evidence: Evidence) -> Iterator[Judgement]:
    """Only a key that stands once in all results can contradict, and only a value of the same type."""
    fields = evidence.once(_read)
    if not fields.leaves and not fields.lengths:
        return
    for clause in sentence.clauses:
        if clause.hedged or _SKIP.search(clause.text):
            continue
        for name, copula, said in _CLAIM.findall(clause.text):
            if copula or re.search(r"\b(?:id|number)$", name, re.IGNORECASE):
                yield from _judged(sentence, name, said, fields.leaves)
        yield from _lengths(sentence, clause.text, fields)


def _judged(sentence: Sentence, name: str, said: str, found: dict[str, list[object]]) -> Iterator[Judgement]:
    key = name.lower().replace("_", " ")
    last = key.rsplit(" ", 1)[-1]
    for wanted in (key, last):
        values = found.get(wanted)
        if values and len(values) == 1 and (same := _same(values[0], said)) is not None:
            yield verdict(
                sentence, holds=same, expected=f"{wanted}: {values[0]}", detail="the result has another value"
            )
            return


def _same(value: object, said: str) -> bool | None:
    """None where the two are of different types and nothing can be said."""
    if isinstance(value, bool):
        return str(value).lower() == said if said in {"true", "false"} else None
    if isinstance(value, int | float):
        number = said.replace(",", "")
        return (
            float(number) == value if re.fullmatch(r"-?\d{1,15}(?:\.\d{1,15})?", number) and abs(value) < 1e15 else None
        )
    if isinstance(value, str) and " " not in value and _shape(value) == _shape(said) != "word":
        return value.lower() == said.lower().rstrip(".")
    return None


def _shape(text: str) -> str:
    """Addresses are compared with addresses, numbers with numbers, ids with ids; plain words not at all."""
    if "@" in text:
        return "address"
    if re.fullmatch(r"-?\d+(?:\.\d+)?", text):
        return "number"
    return "id" if re.search(r"\d", text) else "word"


def _lengths(sentence: Sentence, clause: str, fields: _Fields) -> Iterator[Judgement]:
    for word, noun in _FOUND.findall(clause):
        number = WORDS.get(word.lower(), int(word) if word.isdecimal() and len(word) < 8 else None)
        length = fields.lengths.get(noun.lower(), -1)
        if number is None or length < 0:
            continue
        totals = [value for key in ("count", "total", "total count") for value in fields.leaves.get(key, [])]
        fits = number == length or number in totals
        yield verdict(sentence, holds=fits, expected=f"{length} {noun}", detail="the result has another number of them")


# Quotations, addresses and file names that are said to stand in an output.


_SAYING = re.compile(
    r"\b(?:output|log|logs|error|message|page|report|console|response|traceback|result|terminal|it|file|manual|"
    r"document|"
    r"pytest|npm|pip|git|make|jest|mypy|ruff|eslint|tsc|compiler|server|program)\b.{0,60}?"
    r"\b(?:says?|said|shows?|showed|reads?|prints?|printed|reports?|reported|states?|contains?|is|panics with|"
    r"fails with)"
    r"[^\"“«]{0,20}$",
    re.IGNORECASE,
)
_SPACE = re.compile(r"\s+")
_DIGITS = re.compile(r"\d+(?:\.\d+)?")


def judge_quotations(sentence: Sentence, evidence: Evidence) -> Iterator[Judgement]:
    """A quotation that differs from the output in its numbers only is wrong; one that is not there is unchecked."""
    upto = len(sentence.stated)
    quoted = [
        text
        for start, text in quotations(sentence.text)
        if start < upto and len(text) > 7 and _SAYING.search(sentence.plain[:start])
    ]
    if not quoted or not evidence.text:
        return
    shown = evidence.once(_flat)
    for text in quoted:
        wanted = _SPACE.sub(" ", text).strip(" .").lower()
        if wanted in shown:
            yield verdict(sentence, holds=True)
            continue
        alike = _DIGITS.sub("#", wanted)
        if "#" in alike and len(alike) > 11 and alike in evidence.once(_masked):
            yield verdict(
                sentence, holds=False, expected=_original(shown, alike), detail="the output has other numbers"
            )
        else:
            yield unsupported(sentence, "the output given does not show this quotation")


def _flat(evidence: Evidence) -> str:
    return _SPACE.sub(" ", evidence.text)


def _masked(evidence: Evidence) -> str:
    return _DIGITS.sub("#", evidence.once(_flat))


def _original(shown: str, alike: str) -> str | None:
    pattern = r"\d+(?:\.\d+)?".join(re.escape(part) for part in alike.split("#")[:12])
    found = re.search(pattern, shown)
    return found[0][:200] if found else None


_ADDRESS = re.compile(r"\bhttps?://[^\s<>\"'`)\]]{3,300}")


def judge_addresses(sentence: Sentence, evidence: Evidence) -> Iterator[Judgement]:
    """Addresses that no tool result shows may be made up."""
    for address in dict.fromkeys(_ADDRESS.findall(sentence.text)):
        wanted = address.rstrip(".,;:!").lower()
        path = wanted.split("://", 1)[-1]
        if wanted in evidence.text or ("/" in path and f"get /{path.split('/', 1)[1]} " in evidence.text):
            yield verdict(sentence, holds=True)
        elif evidence.text:
            yield unsupported(sentence, f"no tool result shows {wanted[:120]}")


_FILE = re.compile(
    r"(?<![\w/.-])((?:[\w-]{1,60}/){0,8}[\w.-]{1,80}\.(?:py|js|ts|tsx|jsx|json|toml|yaml|yml|md|txt|go|rs|java|c|"
    r"h|lock|cfg|sql|sh|html|css))\b"
)
_GIT_STATUS = re.compile(r"^\t(modified|deleted|new file|renamed):[ ]{1,20}(\S{1,300})$", re.MULTILINE)
_HOLDING = re.compile(
    r"\b(?:contains?|has|lists?|uses?|there is|there are|in the folder|is in|exists?)\b", re.IGNORECASE
)


def judge_files(sentence: Sentence, evidence: Evidence) -> Iterator[Judgement]:
    """Claims like "a.txt is modified" against git's status, and files said to be there."""
    names = [name.lower() for name in _FILE.findall(sentence.stated)]
    if (
        not names
        or not evidence.text
        or sentence.clauses[:1] == ()
        or any(clause.hedged for clause in sentence.clauses)
    ):
        return
    for name in names:
        if name not in evidence.text:
            if _HOLDING.search(sentence.stated):
                yield unsupported(sentence, f"no tool result shows {name[:80]}")
            continue
        claimed = re.search(
            rf"{re.escape(name)} (?:is|was|has been) (modified|deleted|untracked|new)\b", sentence.stated.lower()
        )
        shown = {found[2]: found[1].replace("new file", "new") for found in evidence.every(_GIT_STATUS)}.get(name)
        if shown and claimed:
            yield verdict(
                sentence, holds=claimed[1] == shown, expected=f"{name} is {shown}", detail="git says otherwise"
            )
        elif _HOLDING.search(sentence.stated):
            yield verdict(sentence, holds=True)
