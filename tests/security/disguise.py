# pyright: basic
"""Twelve disguises that real programs put on a text, and their undoing.

    DISGUISES[name](text) -> text      13 entries: `wrapped` is there at 40 and at 80 columns
    survives(output, secret) -> bool   can the secret still be read in the output?
    readable(output, text) -> bool     is the text still there as a whole (for look-alikes: `keep`)

Standard library only; the same text always gives the same disguise.
"""

from __future__ import annotations


import html
import json
import re
import unicodedata
from collections.abc import Callable
from urllib.parse import quote, unquote

# --------------------------------------------------------------------------- disguises

_SGR = ("31", "1;32", "33", "38;5;208", "1;34", "38;2;200;80;120", "4;36", "97;41")
_ASSIGN = re.compile(r"^(\"?[A-Za-z_][\w.-]*\"?)([=:]+)(.+)$")


def ansi(text: str) -> str:
    """SGR colors around words, as test runners and highlighters print them (key and value apart)."""
    n = 0

    def paint(word: str) -> str:
        nonlocal n
        n += 1
        return f"\x1b[{_SGR[n % len(_SGR)]}m{word}\x1b[0m"

    def one(m: re.Match) -> str:
        word = m.group()
        pair = _ASSIGN.match(word)
        if pair and not pair.group(3).startswith("//"):
            return paint(pair.group(1)) + pair.group(2) + paint(pair.group(3))
        return paint(word)

    return re.sub(r"\S+", one, text)


_KEYWORD = re.compile(
    r"(?i)passw(?:or[dt])?|token|secret|api.?key|auth|key|clave|senha|contrase\u00f1a|mot de passe"
)


def grep_color(text: str) -> str:
    """`grep --color=always -n` with file and line; the match begins the longest word, keywords match too."""
    out = []
    for number, line in enumerate(text.split("\n"), 1):
        spans = [m.span() for m in _KEYWORD.finditer(line)]
        words = sorted(
            re.finditer(r"[A-Za-z0-9_+/-]{12,}", line), key=lambda m: m.start() - m.end()
        )
        if words:
            spans.append((words[0].start(), words[0].start() + 4))
        marked, last = [], 0
        for start, end in sorted(spans):
            if start < last:
                continue
            marked += [line[last:start], "\x1b[01;31m\x1b[K", line[start:end], "\x1b[m\x1b[K"]
            last = end
        marked.append(line[last:])
        head = (
            f"\x1b[35m\x1b[Ksrc/notes.txt\x1b[m\x1b[K\x1b[36m\x1b[K:\x1b[m\x1b[K"
            f"\x1b[32m\x1b[K{number}\x1b[m\x1b[K\x1b[36m\x1b[K:\x1b[m\x1b[K"
        )
        out.append(head + "".join(marked))
    return "\n".join(out)


def wrapped(text: str, columns: int = 40) -> str:
    """Hard wrap at a column, through words, as a narrow terminal or `fold` does."""
    return "\n".join(
        "\n".join(line[i : i + columns] for i in range(0, len(line), columns)) or ""
        for line in text.split("\n")
    )


def continued(text: str) -> str:
    """Long lines go on behind a backslash, as in shells, Makefiles and Dockerfiles."""
    out = []
    for line in text.split("\n"):
        width = min(48, max(12, (len(line) + 1) // 2))
        out.append("\\\n".join(line[i : i + width] for i in range(0, len(line), width)) or "")
    return "\n".join(out)


def url_encoded(text: str) -> str:
    """A line of an access log with the text as a query value."""
    return f'10.4.0.17 - - [14/Mar/2025:09:26:53 +0000] "POST /v1/notes?body={quote(text, safe="")}&lang=en HTTP/1.1" 201 57'


def json_in_json(text: str) -> str:
    """A JSON string inside a JSON string: escaped twice."""
    inner = json.dumps({"stdout": text, "code": 0})
    return json.dumps({"type": "tool_result", "id": "call_7", "content": inner})


def diff(text: str) -> str:
    """A unified diff that adds the text."""
    lines = text.split("\n")
    return (
        "diff --git a/conf/local.txt b/conf/local.txt\nindex 3b18e51..a9c2f07 100644\n--- a/conf/local.txt\n"
        f"+++ b/conf/local.txt\n@@ -1,2 +1,{len(lines) + 2} @@\n # local settings\n"
        + "\n".join("+" + line for line in lines)
        + "\n # end"
    )


def log_prefix(text: str) -> str:
    """Each line behind time, level and logger."""
    return "\n".join(
        f"2025-03-14 09:26:{53 + i // 8 % 7:02d},{(589 + 13 * i) % 1000:03d} INFO runner.step: {line}"
        for i, line in enumerate(text.split("\n"))
    )


def table_cell(text: str) -> str:
    """A cell of a Markdown table: bars escaped, line ends as <br>."""
    cell = text.replace("|", "\\|").replace("\n", "<br>")
    return (
        f"| step | output | ok |\n|-----:|:-------|:---|\n| 1 | {cell} | yes |\n| 2 | done | yes |"
    )


def full_width(text: str) -> str:
    """ASCII signs in full-width form (U+FF01 to U+FF5E), as input methods and some web pages give them."""
    return "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text)


_ZERO = ("\u200b", "\u200c", "\u2060", "\u200d", "\ufeff", "\u00ad")


def zero_width(text: str) -> str:
    """Zero-width characters between letters and digits, as some editors, PDFs and chats leave them."""
    out, n = [], 0
    for i, c in enumerate(text):
        out.append(c)
        if c.isalnum() and i + 1 < len(text) and text[i + 1].isalnum():
            out.append(_ZERO[n % len(_ZERO)])
            n += 1
    return "".join(out)


def yaml_folded(text: str) -> str:
    """A folded scalar (`>-`): lines of at most 40 signs; words longer than that are broken at 32, as people do."""
    out = []
    for line in text.split("\n"):
        words: list[str] = []
        for word in line.split(" "):
            words += (
                [word] if len(word) <= 40 else [word[i : i + 32] for i in range(0, len(word), 32)]
            )
        row = ""
        for word in words:
            if row and len(row) + 1 + len(word) > 40:
                out.append(row)
                row = word
            else:
                row = f"{row} {word}" if row else word
        out += [row, ""]
    return (
        "step:\n  name: setup\n  note: >-\n"
        + "\n".join("    " + r if r else "" for r in out[:-1])
        + "\n  retries: 2"
    )


DISGUISES: dict[str, Callable[[str], str]] = {
    "ansi": ansi,
    "grep_color": grep_color,
    "wrapped_40": lambda text: wrapped(text, 40),
    "wrapped_80": lambda text: wrapped(text, 80),
    "continued": continued,
    "url_encoded": url_encoded,
    "json_in_json": json_in_json,
    "diff": diff,
    "log_prefix": log_prefix,
    "table_cell": table_cell,
    "full_width": full_width,
    "zero_width": zero_width,
    "yaml_folded": yaml_folded,
}


# --------------------------------------------------------------------------- undoing

_ANSI = re.compile(
    "(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b[\\]PX^_].*?(?:\x07|\x1b\\\\)|\x1b[@-Z\\\\-_]|\x1b[ -/]+[0-~]",
    re.S,
)
_ANSI_GLUED = re.compile(r"\[(?:\d{1,3}(?:;\d{1,3})*)?[mK]")  # what stays when only ESC is dropped
_JSON = re.compile(r'\\(?:(["\\/bfnrt])|u([0-9a-fA-F]{4}))')
_PLAIN = {"n": "\n", "r": "\n", "t": "\t", "b": "", "f": "\n"}
_PREFIX = re.compile(
    r"(?m)^(?:[ \t]*(?:src/notes\.txt|[\w./-]{1,60}):\d+:"  # grep
    r"|\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)? (?:DEBUG|INFO|WARN(?:ING)?|ERROR) [\w.]+: ?"
    r"|\+|[- ](?! )|> ?|[ \t]*#[ \t]+|[ \t]+)"
)


def _unescape(text: str) -> str:
    return _JSON.sub(
        lambda m: chr(int(m.group(2), 16)) if m.group(2) else _PLAIN.get(m.group(1), m.group(1)),
        text,
    )


_SHOWN_ASCII = re.compile(r"[\n\t\r -~]*")  # nothing is hidden in it


def _clean(text: str) -> str:
    text = _ANSI.sub("", text)
    while "\x08" in text:  # overstrikes
        shorter = re.sub("[^\x08]\x08", "", text)
        if shorter == text:
            break
        text = shorter
    if _SHOWN_ASCII.fullmatch(text):
        return text
    text = "".join(
        c
        for c in text
        if c in "\n\t\r"
        or unicodedata.category(c) not in ("Cf", "Cc")
        and c not in "\ufffc\ufffd\u034f\u115f\u1160\u3164\uffa0"
        and not "\ufe00" <= c <= "\ufe0f"
    )
    return unicodedata.normalize("NFKC", text)


def _squash(text: str) -> str:
    return re.sub(r"\s+", "", text)


def views(output: str) -> set[str]:
    """All readings of the output, without white space."""
    base = _clean(output)
    forms = {base, _ANSI_GLUED.sub("", base)}
    level = set(forms)
    for _ in range(3):  # JSON in JSON in JSON
        level = {_clean(_unescape(t)) for t in level}
        forms |= level
    for t in list(forms):  # %25xx as well
        for _ in range(2):
            if "%" not in t:
                break
            t = _clean(unquote(t))
            forms |= {t, _unescape(t)}
    for t in list(forms):
        if re.search(r"&(?:#\w+|[a-z]+);", t):
            forms.add(html.unescape(t))
    out = set()
    for t in forms:
        t = re.sub(r"<br ?/?>", "\n", t).replace("\\|", "|")
        for u in (t, re.sub(r"\\[ \t]*\n[ \t]*", "", t)):
            stripped = _PREFIX.sub("", u)
            for v in (u, stripped, _PREFIX.sub("", stripped)):
                out.add(_squash(v))
    return out


def _needles(secret: str) -> set[str]:
    """The secret itself (not decoded further: base64 stays base64)."""
    secret = unicodedata.normalize("NFKC", secret)
    return {_squash(secret), _squash(_unescape(secret)), _squash(unquote(secret))} - {""}


def readable(output: str, text: str) -> bool:
    """Does the text stand in the output as a whole, after undoing each disguise?"""
    read = views(output)
    return any(n in v for n in _needles(text) for v in read)


def survives(output: str, secret: str, run: int = 64) -> bool:
    """Can the secret still be read? Whole; of one longer than 160 signs (keys) also `run` signs in a row."""
    read = views(output)
    for needle in _needles(secret):
        if any(needle in v for v in read):
            return True
        if len(needle) > 160:
            if any(needle[i : i + run] in v for v in read for i in range(0, len(needle) - run + 1)):
                return True
    return False
