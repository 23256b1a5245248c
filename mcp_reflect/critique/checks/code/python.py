"""Python: parsed, never compiled or run."""

import ast
import re
import textwrap
import warnings

from mcp_reflect.critique.checks.code.faults import Fault, is_partial

_SESSION = re.compile(r"^\s{0,80}(?:>>>|\$ |%\w|!\w|In \[\d+\]|Traceback \(most|\?\w)", re.MULTILINE)
_PYTHON_2 = re.compile(
    r"^\s{0,200}(?:print\s+[^\s(=.,:]|print\s*>>|exec\s+[\"'\w]|raise \w+,|except [\w.]+, \w+:)|<>|"
    r"\bur?['\"].{0,200}`|\b0[0-7]{2,}\b|"
    r"\bxrange\(",
    re.MULTILINE,
)
# Valid in a Python newer than the one we run on: type aliases, generics, freer f-strings, template strings.
_NEWER = re.compile(
    r"^\s{0,200}(?:type \w+.{0,200}=|(?:async )?def \w+\[|class \w+\[|except \w+, \w+|lazy )|\b[rR]?[fFtT][rR]?[\"']",
    re.MULTILINE,
)
_FRAGMENT = re.compile(r"^(?:elif\b|else\b|except\b|finally\b|case\b|\)|\]|\}|,|and\b|or\b)")
_PSEUDO = re.compile(
    r"^\s{0,200}(?:function\b|end\b|begin\b|procedure\b|repeat\b|until\b|input:|output:|step \d|then\b)|"
    r"^\s{0,200}(?:[a-zA-Z]+,? ){4,30}[a-zA-Z]+[.:]?$|^\s{0,200}(?:for each|foreach)\b|\bend (?:if|for|while)\b|"
    r":=(?= )|←",
    re.MULTILINE | re.IGNORECASE,
)
_CHAIN = re.compile(r"(?:[-+~]\s?){60}|(?:\*\*){60}")
_NESTING = re.compile(r"\b(?:lambda|not|await|else|if)\b")
_MOST_NESTED = 40
_HEADER_ONLY = re.compile(r"(?:^@[^\n]{1,300}|:)\s*$")
_INDENTED_LATER = ("unexpected indent", "'return' outside", "'await' outside", "'yield' outside")


def python_fault(body: str) -> Fault | bool | None:
    """The syntax error, None where it parses, True where the text is none of our business."""
    if _SESSION.search(body) or _too_nested(body) or not body.strip() or body[:1] in " \t":
        return True
    fault = _parsed(body)
    if fault is None:
        return None
    if is_partial(body) or _is_foreign(body):
        return True
    # Methods shown one after another, or a piece from the middle of a function.
    if fault.message.startswith(_INDENTED_LATER) or _parsed("if 1:\n" + textwrap.indent(body, "    ")) is None:
        return True
    return fault


def _too_nested(body: str) -> bool:
    """Operators that a parser follows by calling itself: too many on one line are not worth its stack."""
    return bool(_CHAIN.search(body)) or any(len(_NESTING.findall(line)) > _MOST_NESTED for line in body.split("\n"))


def _is_foreign(body: str) -> bool:
    first = body.lstrip().split("\n", 1)[0]
    patterns = (_PYTHON_2, _NEWER, _PSEUDO)
    cut = _HEADER_ONLY.search(body.rstrip().rsplit("\n", 1)[-1])
    return bool(_FRAGMENT.match(first)) or bool(cut) or any(pattern.search(body) for pattern in patterns)


def _parsed(body: str) -> Fault | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(body)
    except SyntaxError as error:
        return Fault(error.msg, error.lineno)
    except (ValueError, RecursionError, MemoryError):
        return None
    return None
