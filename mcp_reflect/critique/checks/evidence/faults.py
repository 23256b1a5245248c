"""Claims about exceptions, places in files, error codes, exit codes and HTTP statuses."""

import re
from collections.abc import Iterator

from mcp_reflect.critique.checks.evidence.judgement import Evidence, Judgement, unsupported, verdict
from mcp_reflect.critique.checks.evidence.sentences import Sentence

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
