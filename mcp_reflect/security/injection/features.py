"""What the words of a text are about, and its literal places and markup."""

import re
import unicodedata
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Final, Generic, NamedTuple, TypeVar

from mcp_reflect.security.secret_values import compiled

# What was found out about words, kept: most texts are made of the same ones.


_MOST_WORDS: Final = 20_000  # that are known again
_LONGEST_KEPT: Final = 40  # letters of such a word

_Found = TypeVar("_Found")


class Known(dict[str, _Found], Generic[_Found]):
    """What `find` says of each word that is asked for; emptied when they are too many, without the very long ones."""

    def __init__(self, find: Callable[[str], _Found]) -> None:
        super().__init__()
        self._find = find

    def __missing__(self, word: str) -> _Found:
        found = self._find(word)
        if len(self) >= _MOST_WORDS:
            self.clear()
        if len(word) <= _LONGEST_KEPT:
            self[word] = found
        return found


# What the words of a text are about: who is spoken to, what is to be done, to what, and with which claim.
#
# The words stand in `lexicon/`, one file a language; a line is a concept and its words. `*` ends a word of which
# only the beginning counts, `_` parts the words of a phrase. In scripts without blanks a word is found anywhere.


_MARKS: Final = re.compile("[\u0300-\u036f\u0610-\u061a\u064b-\u065f\u0670\u0640]")
_LETTERS: Final = str.maketrans(
    {"ł": "l", "ı": "i", "ø": "o", "đ": "d", "ß": "ss", "æ": "ae", "œ": "oe", "’": "'", "ё": "е"}
)
_CHAR: Final = r"(?:[^\W_]|[\u0900-\u0dff])"  # the vowel signs of India's scripts are no letters to `re`
_TOKEN: Final = re.compile(rf"{_CHAR}+(?:['.=@/-]{_CHAR}+)*")
_PARTS: Final = re.compile(r"['.=@/-]")
_DENSE: Final = re.compile("[\u3040-\u30ff\u3400-\u9fff]")  # scripts that are written without blanks
_PREFIXED: Final = re.compile("[\u0590-\u06ff\u0900-\u097f\uac00-\ud7af]")  # and those that glue endings to words
_ARTICLES: Final = ("وال", "بال", "لل", "ال", "و", "ف", "ب", "ل")
_LONGEST: Final = 14  # letters of a stem, and of a word of a dense script
_NEAR: Final = 3  # words in front of which a negation reaches
_KEY: Final = 2  # letters by which the rest of a phrase is looked up


_Entry = TypeVar("_Entry", str, tuple[tuple[str, ...], str])


class Tag(NamedTuple):
    """A concept, where its word stands among the words of its sentence, and whether it leads a clause or is negated."""

    concept: str
    at: int
    leads: bool
    negated: bool


class Lexicon(NamedTuple):
    """Words, beginnings of words, phrases by their first word, and words of dense scripts, each with its concepts."""

    words: dict[str, tuple[str, ...]]
    stems: dict[str, tuple[str, ...]]
    phrases: dict[str, tuple[tuple[tuple[str, ...], str], ...]]
    dense: dict[str, tuple[str, ...]]


class _Plain(dict[int, str]):
    """Letters by their numbers, each as it is compared: Latin ones without their marks. Found out as they come."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        apart = unicodedata.normalize("NFD", char)
        return self.setdefault(code, apart[0] if len(apart) > 1 and apart[0].isascii() else char)


_PLAIN: Final = _Plain(_LETTERS)


def folded(text: str) -> str:
    """The text in lower case, Latin letters without their marks."""
    text = text.lower()
    return text if text.isascii() else _MARKS.sub("", text.translate(_PLAIN))


@cache
def lexicon() -> Lexicon:
    """All the languages, read once."""
    words: dict[str, tuple[str, ...]] = {}
    stems: dict[str, tuple[str, ...]] = {}
    dense: dict[str, tuple[str, ...]] = {}
    phrases: dict[str, tuple[tuple[tuple[str, ...], str], ...]] = {}
    for file in sorted((Path(__file__).parent / "lexicon").glob("*.txt")):
        for line in file.read_text(encoding="utf-8").splitlines():
            concept, entries = line.split(":", 1)
            for entry in folded(entries).split():
                latin = entry.isascii()
                if not latin and _DENSE.search(entry):
                    dense[entry] = (*dense.get(entry, ()), concept)
                elif "_" in entry:
                    parts = tuple(entry.split("_"))
                    phrases[parts[0]] = (*phrases.get(parts[0], ()), (parts, concept))
                elif entry.endswith("*"):
                    stems[entry[:-1]] = (*stems.get(entry[:-1], ()), concept)
                elif not latin and len(entry) >= 3 and _PREFIXED.search(entry):
                    stems[entry] = (*stems.get(entry, ()), concept)
                else:
                    words[entry] = (*words.get(entry, ()), concept)
    return Lexicon(_ordered(words), _ordered(stems), _ordered(phrases), _ordered(dense))


def _ordered(found: dict[str, tuple[_Entry, ...]]) -> dict[str, tuple[_Entry, ...]]:
    """What was found of each word in order, and once; of nearly every word there is one thing."""
    return {key: some if len(some) == 1 else tuple(sorted({*some})) for key, some in found.items()}


class _Word(NamedTuple):
    """What is known of a word: its concepts, and the rests of the phrases that it may begin, by their first letters."""

    concepts: tuple[str, ...]
    phrases: dict[str, list[tuple[tuple[str, ...], str]]]


def tagged(sentence: str) -> list[Tag]:
    """The tags of a sentence that is `folded`, in their order."""
    tokens = list(_TOKEN.finditer(sentence))
    words = [token[0] for token in tokens]
    found: list[tuple[int, str]] = []
    for at, word in enumerate(words):
        concepts, phrases = _words[word]
        found += [(at, concept) for concept in concepts]
        if phrases and at + 1 < len(words):
            for parts, concept in phrases.get(words[at + 1][:_KEY], ()):
                rest = words[at + 1 : at + 1 + len(parts)]
                if len(rest) == len(parts) and all(map(_is_part, rest, parts)):
                    found.append((at, concept))
    if not sentence.isascii() and _DENSE.search(sentence):
        starts = [token.start() for token in tokens]
        found += [(sum(start <= place for start in starts), concept) for place, concept in _of_dense(sentence)]
        found.sort()
    if not found:
        return []
    negated = {at + step for at, concept in found if concept == "NEG" for step in range(1, _NEAR + 1)}
    leading = {at: _leads(sentence, tokens, at) for at in {at for at, _ in found}}
    return [Tag(concept, at, leading[at], at in negated) for at, concept in found]


def _looked_up(word: str) -> _Word:
    known = lexicon()
    found: set[str] = set()
    pieces = _PARTS.split(word)
    for form in (word, *pieces) if len(pieces) > 1 else _forms(word):
        found.update(known.words.get(form, ()))
        for length in range(3, min(len(form), _LONGEST) + 1):
            found.update(known.stems.get(form[:length], ()))
    phrases: dict[str, list[tuple[tuple[str, ...], str]]] = {}
    for first in sorted({word, *pieces}):
        for parts, concept in known.phrases.get(first, ()):
            phrases.setdefault(parts[1].rstrip("*")[:_KEY], []).append((parts[1:], concept))
    return _Word(tuple(sorted(found)), phrases)


_words: Final = Known(_looked_up)


def _forms(word: str) -> tuple[str, ...]:
    if "\u0600" <= word[0] <= "\u06ff":
        return (word, *(word[len(one) :] for one in _ARTICLES if word.startswith(one) and len(word) > len(one) + 1))
    return (word,)


def _is_part(word: str, part: str) -> bool:
    if part.endswith("*"):
        return word.startswith(part[:-1])
    return word == part or (len(part) >= 2 and bool(_PREFIXED.match(word)) and word.startswith(part))


def _of_dense(sentence: str) -> list[tuple[int, str]]:
    """Words of a dense script, the longest at each place; what a longer one covers does not count."""
    known = lexicon()
    found: list[tuple[int, str]] = []
    place = 0
    while place < len(sentence):
        for length in range(min(_LONGEST, len(sentence) - place), 0, -1):
            if concepts := known.dense.get(sentence[place : place + length]):
                found += [(place, concept) for concept in concepts]
                place += length - 1
                break
        place += 1
    return found


_SIGNS: Final = frozenset(",;:.!?-–—\"'`(*>")  # a clause begins behind them
_LEADING: Final = frozenset(
    "and then also please must should shall now you to just simply always kindly first next instead so "
    "und dann bitte y luego por et puis e poi depois и затем en dan oraz".split()
)


def _leads(sentence: str, tokens: list[re.Match[str]], at: int) -> bool:
    """Whether a word stands where an imperative can."""
    if at == 0 or at >= len(tokens):
        return at == 0
    before = sentence[tokens[at - 1].end() : tokens[at].start()]
    return not _SIGNS.isdisjoint(before) or tokens[at - 1][0] in _LEADING


# The literal places that a text names: addresses, accounts, sums, private files, commands, tags.


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


# Marks that make a text pose as something else: a message of a role, a tool call, the end of what is data.


_ROLE: Final = r"(?:system(?:-reminder| message| prompt)?|assistant|human|developer|operator|admin(?:istrator)?)"

_ROLES: Final = (
    r"<\|(?:im_start|start_header_id|system|user|assistant)\|>\s{0,3}(?:system|user|assistant|new|you|\w+<\|end)"
    r"|<\|(?:endoftext|eot_id|im_end)\|>\s{0,3}<\|"
    r"|<<SYS>>[^<]{3,400}(?:<</SYS>>|$)|\[INST\][^\[]{3,400}\[/INST\]"
    r"|(?:^|\n)[ \t]{0,4}(?:#{1,6}[ \t]{0,3}|\*{1,2}|\[|\"{3}\s{0,3})?(?:system|assistant|human"
    r"|developer)\]?\*{0,2}[ \t]?:"
    r"\*{0,2}[ \t\n]{1,3}\S{2,}"
    r"|(?:^|\n)\s{0,4}\[(?:system|admin|developer)\]\s"
    r"|[\"']?role[\"']?\s{0,3}:\s{0,3}[\"']?(?:system|developer)[\"']?\s{0,3}[,\n]\s{0,3}[\"']?content[\"']?\s{0,3}:"
    r"|<(system|system-reminder|developer|user|assistant|instructions?|admin)>[^<]{8,2000}</\1>"
    r"|\bBEGIN SYSTEM PROMPT\b|\bEND SYSTEM PROMPT\b"
    r"|[\[(](?:assistant|ai|llm|system|model|chatgpt|claude)[:,]\s"
    r"|<!--\s{0,3}(?:assistant|ai|llm|system|agents?|claude|chatgpt|copilot)\b[^>]{5,400}-->"
    r"|\[//\]: # \([^)\n]{0,40}\b(?:ai|agents?|llms?|assistants?)\b[^)]{5,400}\)"
    r"|(?:^|\n)#{2,4}\s?(?:instructions?|response|system|new task):"
)

_TOOLS: Final = (
    r"<(?:tool_call|function_calls|tool_use|function_call|tool_code)\b[^>]{0,80}>\s{0,3}\S|<invoke name=|<function=\w"
    r"|<parameter name=|<\|python_tag\|>|\[TOOL_CALLS\]\s{0,3}\[|\bto=functions\.\w"
    r"|[\"'](?:tool_calls|function_call)[\"']\s{0,3}:\s{0,3}[\[{]|[\"']type[\"']\s{0,3}:\s{0,3}[\"']tool_use[\"']"
    r"|```tool_(?:code|call)|(?:^|\n)Action:[^\n]{1,80}\n\s{0,4}Action Input:"
    r"|\btool[ _]?call\s{0,2}[:(]"
    r"|[\"'](?:name|tool|function)[\"']\s{0,3}:\s{0,3}[\"'][\w.:/-]{1,80}[\"']\s{0,3},\s{0,3}"
    r"[\"'](?:arguments|args|parameters|input|params)[\"']\s{0,3}:"
)

# The end of what is data, and something after it; our own fence and those of others.
_ENDS: Final = (
    r"</(?:data|untrusted|tool_result|function_results|lesson|context|document|user|input)(?: [0-9a-f]{6,16})?>"
    r"\s{0,10}(?:\S{1,20}\s{1,5}){0,8}?(?:<|ignore|you\b|assistant|human|now\b|follow|obey|approve|the data)"
    r"|\]\]>\s{0,3}</\w{1,20}>\s{0,3}<(?:instructions?|system)"
    r"|\b(?:end of|-{2,}\s?end of) (?:data|lesson|context|input|document|untrusted content|message"
    r"|page)\b[\s\S]{0,60}?"
    r"(?:assistant|system|follow|ignore|obey|instruction|trusted|approve|new )"
    r"|\bthe (?:data|lesson|document|context|input) ends here\b"
    r"|(?:^|\n)[ \t]{0,4}(?:[-=#*~<\[_]{1,40}[ \t]{0,3})(?:end|begin|start|stop)(?: of)?[ _](?:the )?"
    r"(?:data|memory|memories|lessons?|context|input|document|untrusted|quoted?|message|page|tool|result|output|user|system|trusted|new|admin"
    r"|instructions?)\b"
)

# A fence that is opened or closed, or a quotation of three signs.
_FENCES: Final = r"(?:^|\n)[ \t]{0,4}(?:`{3,12}|~{3,12}|\"{3}|'{3})[ \t]{0,3}\w{0,20}[ \t]{0,3}(?:\n|$)"

_FILLED: Final = (
    r"(?:\{\{?|<[a-z]|\$\{?[A-Za-z_]|%7B|[=/][A-Z_]*(?:BASE64|CHAT|SECRET|TOKEN|CONVERSATION|PROMPT|HISTORY"
    r"|API_?KEY)|\[[A-Z_]{4,})"
)
_CARRIERS: Final = (
    rf"!?\[[^\]\n]{{0,200}}\]\(\s{{0,3}}https?://[^)\n]{{0,400}}?{_FILLED}[^)\n]{{0,400}}\)"
    rf"|(?:^|\n)\[[^\]\n]{{1,80}}\]:\s{{0,3}}https?://[^\s]{{0,300}}?{_FILLED}"
    r"|\$\([^)\n]{1,120}\)[\w.-]{0,40}\.[a-z]{2,20}\b"
    rf"|<(?:img|iframe|script|link|a|form)\b[^>]{{0,200}}?(?:src|href"
    rf"|action)=[\"']?https?://[^\"'>\n]{{0,300}}?{_FILLED}"
    r"|<(?:span|div|p)\b[^>]{0,100}(?:display:\s?none|font-size:\s?0|opacity:\s?0)[^>]{0,100}>[^<]{10,}"
)


class Mark(NamedTuple):
    """A name, words of which one is in every text that the pattern matches, and the pattern."""

    name: str
    gate: tuple[str, ...]
    pattern: str

    def finds(self, text: str, folded: str) -> bool:
        """Whether the mark is in a text, given with its lower case."""
        return any(word in folded for word in self.gate) and bool(compiled(self.pattern, re.IGNORECASE).search(text))


MARKS: Final = (
    Mark("role",
         ("<|", "[inst]", "<<sys", "system", "assistant", "human", "developer", "admin", "<user", "<instruc", "[ai",
          "(ai", "[llm", "[model", "[claude", "[chatgpt", "<!--", "[//]", "##"), _ROLES),
    Mark("tool", ("<tool", "<func", "<invoke", "<param", "<|python", "[tool_calls]", "to=functions",
                                     "tool_call", "function_call", "tool_use", "```tool", "action input",
                                     "tool call", "arguments", "args", "param", "input"), _TOOLS),
    Mark("end", ("</", "]]>", "end", "begin", "start", "stop"), _ENDS),
    Mark("fence", ("```", "~~~", '"""', "'''"), _FENCES),
    Mark("carrier",
         ("](", "]:", "$(", "src=", "href=", "action=", "display:", "font-size", "opacity"), _CARRIERS),
)  # fmt: skip

# Each word of the gates once: most texts have none of them, and are through after one look.
_WORDS: Final = tuple(sorted({word for mark in MARKS for word in mark.gate}))


def marks(text: str) -> list[str]:
    """The names of the marks that a text bears."""
    folded = text.lower()
    if not any(word in folded for word in _WORDS):
        return []
    return [mark.name for mark in MARKS if mark.finds(text, folded)]
