"""The signals of a text, by name: its concepts, which of them meet in a sentence, and the literal places it names."""

import re
from itertools import combinations
from typing import Final

from mcp_reflect.bank.poison.concepts import Tag, folded, sentences
from mcp_reflect.redaction import compiled

_HOST: Final = (
    r"(?<![\w@/.-])(?:[a-z0-9-]{1,63}\.){1,8}"
    r"(?:example|com|net|org|io|dev|xyz|ru|cn|me|site|app|test|invalid|info|cc|top|sh|ai|co|biz|link)\b(?!\()"
)
_ACCOUNT: Final = (
    r"\b(?:iban\b|[a-z]{2}\d{2} ?(?:[a-z0-9]{4} ?){2,7}|bc1[a-z0-9]{6,60}|0x[0-9a-f]{8,64}|\d{2}-\d{2}-\d{2}\b"
    r"|(?:account|konto|cuenta|conta|conto|compte|rekening|счет|счёт)\w{0,8}\s{1,3}(?:no\.?|number|nr\.?)?"
    r"\s{0,3}[a-z]{0,3}\d{3,30})"
)
_AMOUNT: Final = (
    r"[$€£]\s?\d|\b\d[\d.,]{0,20}\s?"
    r"(?:eur|usd|gbp|euros?|dollars?|reais|btc|eth|zl|lira|rubl|元|円|원|доллар|руб|dolar)"
)
_FILES: Final = (
    r"~/|/etc/|/root\b|\.ssh\b|\.env\b|id_rsa|\.aws\b|authorized_keys|\.pem\b|\.git-credentials|/srv/|/home/"
)
_SHELL: Final = (
    r"\|\s{0,3}(?:sudo\s{1,3})?(?:ba|z)?sh\b|rm\s{1,3}-rf?\b|chmod\s{1,3}(?:-r\s{1,3})?[0-7]{3}|\bcurl\s|\bwget\s"
    r"|\bos\.system|\bsudo\b|powershell|/dev/tcp|--no-verify|--force\b|--dangerously"
)
_LITERALS: Final = (
    ("URL", r"\b(?:https?|ftp|wss?)://\S"),
    ("EMAIL", r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}"),
    ("IP", r"(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?![\d.])"),
    ("HOST", _HOST),
    ("ACCOUNT", _ACCOUNT),
    ("AMOUNT", _AMOUNT),
    ("PATH", _FILES),
    ("SHELL", _SHELL),
    ("TAGGED", r"</?[a-z_]{3,40}(?:\s[^>]{0,80})?>|<\||\[/?[A-Z_]{4,40}\]|\{\{|\]\("),
    ("QUOTED", r"[\"“'‘«「『`][^\"”'’»」』`]{3,300}[\"”'’»」』`]"),
    ("CAPS", r"\b(?:[A-Z]{3,40}\s{1,3}){2,20}[A-Z]{3}"),
)


# What every text that a pattern is found in holds: most texts hold none of it, and are through at once.
_HELD: Final = {
    "URL": re.compile("://"),
    "EMAIL": re.compile("@"),
    "IP": re.compile(r"\.\d"),
    "HOST": re.compile(r"\.\w"),
    "ACCOUNT": re.compile(r"\d|[^\x00-\x7f]|iban", re.IGNORECASE),
    "AMOUNT": re.compile(r"\d"),
    "PATH": re.compile(r"[/._]"),
    "SHELL": re.compile(r"[|/-]|[^\x00-\x7f]|chmod|curl|wget|system|sudo|powershell", re.IGNORECASE),
}


def literals(text: str) -> list[str]:
    """The names of the literal places that stand in a text."""
    return [
        name
        for name, pattern in _LITERALS
        if (name not in _HELD or _HELD[name].search(text))
        and compiled(pattern, re.IGNORECASE if name != "CAPS" else 0).search(text)
    ]


_LEAST_OUTSIDE: Final = 3  # words around a quotation from which on it is one
_WORD: Final = re.compile(r"(?:[^\W\d_]|[\u0900-\u0dff])+|\d+")
# Some words in quotation marks: what somebody else said, or an order in disguise; the weights tell.
_QUOTED: Final = re.compile(
    r"(?<!\w)(?:\"([^\"\n]{8,300})\"|'([^'\n]{8,300})'(?!\w)|[“„]([^”“\n]{8,300})[”“]|«([^»\n]{8,300})»"
    r"|「([^」\n]{4,300})」|`([^`\n]{8,300})`)"
)


def signals(text: str) -> set[str]:
    """The signals of a plain text: concepts by name, `^` where one leads a clause, `not-` where it is negated.

    `A+B` are two of one sentence, `A&B` two of the text, `w:` goes before a word, which counts as it is.
    """
    plain = folded(text)
    found: set[str] = {f"w:{word}" for word in _WORD.findall(plain)}
    whole: set[str] = set()
    rest = _QUOTED.sub(" … ", plain)
    if len(rest.split()) < _LEAST_OUTSIDE:
        rest = plain
    if rest != plain:
        for inside in _QUOTED.finditer(plain):
            whole |= {f"q-{tag.concept}" for tags in sentences(next(filter(None, inside.groups()))) for tag in tags}
    for tags in sentences(rest):
        inside = _of_sentence(tags)
        found |= inside
        whole |= {name for name in inside if "+" not in name}
    named = literals(text)
    found.update(named)
    whole.update(named)
    found |= {f"{one}&{other}" for one, other in combinations(sorted(whole), 2)}
    return found


def _of_sentence(tags: list[Tag]) -> set[str]:
    names: set[str] = set()
    for tag in tags:
        names.add(f"not-{tag.concept}" if tag.negated and tag.concept != "NEG" else tag.concept)
    leading = {f"^{tag.concept}" for tag in tags if tag.leads and not tag.negated}
    return names | leading | {f"{one}+{other}" for one, other in combinations(sorted(names | leading), 2)}
