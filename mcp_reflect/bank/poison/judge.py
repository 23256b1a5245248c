"""The judgement of a record's texts: null, or in words what is suspicious about one of them."""

import re
from collections.abc import Iterable
from typing import Final

from mcp_reflect.bank.poison import english, languages
from mcp_reflect.bank.poison.hidden import hides_text
from mcp_reflect.bank.poison.markup import MARKS
from mcp_reflect.bank.poison.model import weigh, weights
from mcp_reflect.bank.poison.views import decoded, views
from mcp_reflect.redaction import compiled

_QUOTED: Final = re.compile(
    r"\"[^\"\n]{3,300}\"|“[^”\n]{3,300}”|(?<!\w)'[^'\n]{3,300}'(?!\w)|`[^`\n]{3,300}`|«[^»\n]{3,300}»"
)
_QUOTE: Final = re.compile("[\"“'`«]")
# Words of somebody who tells of an attack, where they stand outside the quotation that they tell of.
_TOLD: Final = re.compile(
    r"\b(?:filter|attack|attacker|inject\w*|jailbreak\w*|classifier|scanner|detector|phrases?|sentences?|the words?|"
    r"test (?:string|set|case)s?|payloads?|flag(?:s|ged)?|block(?:s|ed)?|refused?|missed|report(?:s|ed)?|example"
    r"|fixture|regex)\b",
    re.IGNORECASE,
)
# Each word of the rules' gates once: most texts have few of them, and are through after one look.
_RULE_WORDS: Final = tuple(sorted({word for rule in english.RULES for word in rule.gate}))
_MARK_WORDS: Final = tuple(sorted({word for mark in MARKS for word in mark.gate}))
_LEAST_OUTSIDE: Final = 3  # words around a quotation from which on it is told of


def suspicion(texts: Iterable[str | None]) -> str | None:
    """What is suspicious about a record of these texts, in words; null where nothing is. Each text counts alone."""
    for text in texts:
        if text and (reason := _of_text(text)):
            return reason
    return None


def _of_text(text: str) -> str | None:
    shown = tuple(views(text))
    return by_signs(text, shown) or by_words(shown)


def by_signs(text: str, shown: Iterable[str] | None = None) -> str | None:
    """What signs say that no weighing can take back: hidden letters, marks of roles and tools, orders in a code.

    `shown` are the text's views, where they are known already.
    """
    if hides_text(text):
        return "it hides text in signs that are not shown"
    for view in views(text) if shown is None else shown:
        unquoted = without_quotations(view)
        folded = unquoted.lower()
        here = {word for word in _MARK_WORDS if word in folded}
        for mark in MARKS if here else ():
            if mark.finds(unquoted, folded):
                return mark.reason
    if any(_orders(view) for view in decoded(text)):
        return "it holds orders to its reader in a code"
    return None


def by_words(shown: Iterable[str]) -> str | None:
    """What the sentences of a text's views say: the weights alone where they are sure, else a rule as well."""
    known = weights()
    for view in shown:
        heaviest = weigh(view)
        ruled = orders(view) if heaviest.sum > known.doubt else None
        if ruled or heaviest.sum > known.limit:
            return ruled or f"it reads as an order to its reader: {heaviest.why}"
    return None


def orders(view: str) -> str | None:
    """What the rules say of the sentences of a view."""
    return _orders(without_quotations(view))


def _orders(text: str) -> str | None:
    folded = text.lower()
    here = {word for word in _RULE_WORDS if word in folded}
    for rule in english.RULES if here else ():
        if not here.isdisjoint(rule.gate) and rule.finds(text, folded):
            return rule.reason
    if text.isascii() and not [word for word in _LATIN_WORDS if word in folded]:
        return None
    for reason, pattern in languages.RULES:
        if compiled(pattern, re.IGNORECASE).search(text):
            return reason
    return None


# One of these is in every order of the other languages that are written in plain Latin letters.
_LATIN_WORDS: Final = tuple(
    """ignor vergiss vergess benutzer nutzer anwender befehl oubli instruc istruz usuari utilisat
    utente d'ora ahora agora maintenant olvid esque dimentica jetzt sofort negeer vergeet zignoruj zapomnij talimat
    kural""".split()
)


def without_quotations(text: str) -> str:
    """The text without what it only quotes, where the words around say that it tells of an attack."""
    if not _QUOTE.search(text):
        return text
    rest = _QUOTED.sub(' "…" ', text)
    if len(rest.split()) >= _LEAST_OUTSIDE and _TOLD.search(rest):
        return rest
    return text
