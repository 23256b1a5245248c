"""The literal places that a text names: addresses, accounts, sums, private files, commands, tags."""

import re
from typing import Final, NamedTuple

from mcp_reflect.redaction import compiled

_TOP: Final = r"(?:example|com|net|org|io|dev|xyz|ru|cn|me|site|app|test|invalid|info|cc|top|sh|ai|co|biz|link)\b"
_HOST: Final = rf"(?<![\w@/.-])(?:[a-z0-9-]{{1,63}}\.){{1,8}}{_TOP}(?!\()"
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


class Literal(NamedTuple):
    """A kind of place: pieces of which one is in the lower case of every text that it matches, pattern and flags."""

    name: str
    gate: tuple[str, ...]
    pattern: str
    flags: int = re.IGNORECASE

    def is_in(self, text: str) -> bool:
        """Whether such a place stands in a text."""
        return bool(compiled(self.pattern, self.flags).search(text))


_LITERALS: Final = (
    Literal("URL", ("://",), r"\b(?:https?|ftp|wss?)://\S"),
    Literal("EMAIL", ("@",), r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}"),
    Literal("TAGGED", ("<", "[", "{"), r"</?[a-z_]{3,40}(?:\s[^>]{0,80})?>|<\||\[/?[A-Z_]{4,40}\]|\{\{|\]\("),
    Literal("PATH", ("~/", "/etc", "/root", ".ssh", ".env", "id_rsa", ".aws", "authorized_keys", ".pem", ".git-",
                     "/srv", "/home"), _FILES),
    Literal("SHELL", ("|", "rm ", "chmod", "curl", "wget", "os.sys", "sudo", "powershell", "/dev/tcp", "--"), _SHELL),
)  # fmt: skip
_WITH_DIGITS: Final = (
    Literal("ACCOUNT", (), _ACCOUNT),
    Literal("AMOUNT", (), _AMOUNT),
    Literal("IP", (), r"(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?![\d.])"),
)
_HOSTS: Final = Literal("HOST", (), _HOST)
_DOMAIN: Final = re.compile(rf"[a-z0-9]\.{_TOP}")
_FIGURES: Final = re.compile(r"\d\d|[$€£\d]\s?[a-z\d元円원]|iban")
_CAPITALS: Final = re.compile("[A-Z]{3}")
_SHOUTED: Final = Literal("CAPS", (), r"\b(?:[A-Z]{3,40}\s{1,3}){2,20}[A-Z]{3}", 0)


def literals(text: str) -> tuple[Literal, ...]:
    """The kinds of literal places that stand in a text."""
    folded = text.lower()
    near = [one for one in _LITERALS if any(piece in folded for piece in one.gate)]
    if _FIGURES.search(folded):
        near += _WITH_DIGITS
    if "." in text and _DOMAIN.search(folded):
        near.append(_HOSTS)
    if _CAPITALS.search(text):
        near.append(_SHOUTED)
    return tuple(one for one in near if one.is_in(text)) if near else ()


def literals_of(part: str, near: tuple[Literal, ...]) -> tuple[str, ...]:
    """The names of those of some kinds that stand in a part of their text."""
    return tuple(one.name for one in near if one.is_in(part))
