"""Secrets by the name before them: assignments in code and configuration, and sentences."""

import re
from collections.abc import Callable, Iterable
from typing import Final

from mcp_reflect.patterns import lazy_compile
from mcp_reflect.security.secret_values import (
    CORES,
    FOREIGN_CORES,
    LONG_VALUE,
    START,
    Barren,
    Holds,
    Place,
    Secret,
    alone,
    anything,
    chance,
    drawn,
    holds,
    in_prose,
    is_chance,
    is_key,
    is_mixed,
    is_mixed_case,
    is_password,
    is_place,
    is_reference,
    is_said,
    is_salt,
    is_type,
    strange,
    word,
)

# Secrets by the name before them, in the many ways in which a value is given to a name.
#
# Each place of a name is looked at once, and no further than a bounded number of characters around it.


_LONGEST_NAME: Final = 60
_LONGEST_MIXED: Final = 20
_LOOK: Final = 4200  # characters after a name: what stands between, and the longest value

_BEFORE: Final = lazy_compile(r"[\w$-]{0,60}\Z")
_REST: Final = lazy_compile(r"[\w-]{0,40}")
_QUOTE: Final = r"\\{0,31}(?:\"{3}|'{3}|[\"'`])|&quot;|&#(?:34|39|x22|x27);"
# What may stand between a name and its value; `\` before quotes, for JSON within a text.
_SIGN: Final = lazy_compile(
    rf"(?P<close>{_QUOTE})?(?:\[\w{{0,6}}\]|\])?"
    r"(?:"
    # the type of a variable, before its value in quotes
    r"(?:[ \t]?:[ \t]?(?:&(?:'\w{1,20} )?)?(?=[A-Za-z])|[ \t](?=string|str\b|char))[\w.<>\[\]?| ]{1,40}=[ \t]{0,3}"
    r"(?=[\"'`\\])"
    r"|[ \t]{0,8}(?::=|=>|==?(?!=)|:(?![:?+-])|=|<-)[ \t]{0,8}(?:[brfuNL@]{1,2}(?=[\"']))?"
    # a tag, an anchor or a block of YAML before the value
    r"(?:(?:!![a-z]{2,6}|&\w{1,20})[ \t]{1,3})?(?:[|>][+-]?[ \t]{0,3}(?:\r?\n|\\n)[ \t]{1,40})?"
    r"|,?[ \t]{1,3}\\{0,31}[\"']?(?:[vV]alue|content)\\{0,31}[\"']?[ \t]{0,3}[:=][ \t]{0,3}"
    r"|,[ \t\r\n]{0,20}\\{0,31}[\"']value\\{0,31}[\"'][ \t]{0,3}:[ \t]{0,3}"
    r"|,[ \t]{1,3}do:[ \t]{1,3}"
    r"|(?P<comma>(?<=[\"'`])[ \t]{0,3},[ \t]{0,20})(?=\\{0,31}[\"'`])"
    r"|(?P<tag>(?:[ \t][\w:.-]{1,40}=[\"'][^\"'<>\n]{0,100}[\"']){0,3}>(?:<!\[CDATA\[)?)"
    r"|(?P<blank>[ \t]{1,3}(?:is[ \t]|was[ \t]|ist[ \t]|est[ \t]|es[ \t])?[ \t]{0,2})"
    r"|(?P<wide>[：＝]|[ \t]?(?:→|⇒|->)[ \t]?|%3[dD]|[.]{3,40}[ \t]?:[ \t]{1,3}|\*{0,2}:\*{1,2}[ \t]{1,3})"
    r"|(?P<line>(?<=[A-Za-z\"'\])}])[\])}:]{0,3}(?:\r?\n|\\n){1,2}[ \t>]{0,8})"
    r")"
    rf"(?P<open>{_QUOTE})?"
)
# A word, and after it the next one, the end of a sentence, or a call: by far the most that names stand in.
_PROSE: Final = lazy_compile(
    r"[\w-]{0,40}(?: (?!(?:is|was|ist|est|es|value) )[A-Za-z'’]+(?:[\s.,;:)!?]|$)| ?[,;)!?(]|\.(?!\.)|\s?$)"
)
_BARE_ASSIGNED: Final = lazy_compile(r"[^\s\"',;)&<>\]}\\]{1,4000}")
_AFTER_COLON: Final = lazy_compile(r"[^\s\"',;)<>\]}\\]{1,4000}")
_LINE_VALUE: Final = lazy_compile(r"[^\s\"'\\]{1,4000}")
_ENV_NAME: Final = lazy_compile(r"[A-Z][A-Z0-9_]*$")
_LINE_ENDS: Final = lazy_compile(r"[\\\"'}\], \t]{0,40}(?:\r?\n|\\n|(?<=\\)n|$|(?<=[ \t])(?:#|//|--)[ \t])")
_ARGUMENT_ENDS: Final = lazy_compile(r"\\{0,31}[\"'`][ \t]{0,3}(?P<end>[,)\]])")
_LISTED: Final = lazy_compile(r",(?=[A-Za-z_]{2,40}=)")  # of settings in one line
_OBJECT: Final = lazy_compile(
    r"(?:self|this|args?|settings|conf(?:ig)?|cfg|form|request|req|env|opts|options|params|props|ctx|user|data|creds?"
    r"|credentials|module|var|local|os|process|\w*\.\w*(?i:key|token|pass|secret)\w*)\."
)
_SECTION: Final = lazy_compile(r"(?:^|\n)[ \t]*\[[\w.: -]{1,60}\][ \t]*\r?\n")  # of a settings file
_SECTION_AT: Final = 400  # characters before
_FLAG: Final = lazy_compile(r"--\w|-[a-z]{4}")
_PAIR: Final = lazy_compile(r"[A-Za-z_.-]{2,30}=[^=]")  # a cookie, or an argument
_CALL: Final = lazy_compile(r"[\w.:$>-]{0,80}[(\[]")


WORDS: Final = frozenset((*CORES, *FOREIGN_CORES))
"""Without one of these in it, no text gives a secret to a name."""


def assigned_secrets(text: str, folded: str, words: list[str]) -> list[Secret]:
    """Return the values of secrets' names.

    `folded` is its lower case, sign by sign, and `words` are those of `WORDS` that are in it.
    """
    flags = " -" in text
    found = sorted({at for word in words if word in WORDS for at in _places(text, folded, word, flags=flags)})
    spans: list[tuple[int, int, str]] = []
    done = 0
    barren = Barren(text)
    for at in found:
        if at < done or barren.knows(at):
            continue
        span = _value_at(text, at, done)
        if span is None or not span[2]:
            barren.add()
        if span:
            if span[2]:
                spans.append(span)
            if span[2] or span[1] - span[0] > LONG_VALUE:
                done = span[1]
    return spans


def _places(text: str, folded: str, core: str, *, flags: bool) -> list[int]:
    """Where a core stands that prose does not simply go on behind."""
    places: list[int] = []
    at = folded.find(core)
    while at >= 0:
        if flags or not _PROSE.match(text, at):
            places.append(at)
        at = folded.find(core, at + len(core))
    return places


def _value_at(text: str, at: int, done: int) -> tuple[int, int, str] | None:
    """Where the value of the name around `at` starts and ends, and its kind; null where there is none.

    The kind is empty where the value is none of a secret.
    """
    rest = _REST.match(text, at)
    end = rest.end() if rest else at
    sign = _SIGN.match(text, end, end + 80)
    if sign is None:
        return None
    before = _BEFORE.search(text, max(at - _LONGEST_NAME, done), at)
    start = before.start() if before else at
    name = text[start:end]
    if len(name) > _LONGEST_MIXED and is_mixed(name):  # the end of a line of base64
        return None
    held = holds(name)
    if text.startswith(START, start - len(START)) or text[start - 1 : start] == "!":  # a mark of ours, a tag of YAML
        return None
    if held is Holds.NOTHING or (sign[0] == ":" and text[start - 1 : start] == ":"):  # a part of a longer name
        return None
    flag = _is_flag(name, sign)
    span = _quoted_assigned(text, sign) if sign["open"] else _bare(text, sign, name)
    if span is None:
        return None
    value = text[span[0] : span[1]]
    if held is Holds.ANY:
        good = not sign["blank"] and is_key(value)
    elif sign["line"]:
        good = bool(_LINE_ENDS.match(text, span[1])) and not _CALL.match(text, span[0]) and alone(value)
    elif sign["comma"]:
        good = text[start - 1 : start] in ("'", '"', "`") and _is_argument(text, value, held, span[1])
    elif sign["open"]:
        good = _is_quoted_secret(value, held, spaced=sign["blank"] is not None and not flag)
    else:
        good = not _CALL.match(text, span[0]) and _is_bare_secret(text, value, held, sign, name, span[1])
    return (*span, "" if not good else held.value if held is Holds.PASSWORD else "secret")


def _is_flag(name: str, sign: re.Match[str]) -> bool:
    """Whether the name is a command's: `--password`, `-storepass`."""
    return bool(_FLAG.match(name)) and not sign["close"]


def _is_argument(text: str, value: str, held: Holds, end: int) -> bool:
    """Whether a value follows the name as the next argument of a call: `define("DB_PASSWORD", "…")`."""
    after = _ARGUMENT_ENDS.match(text, end)
    if after is None or is_place(value):
        return False
    if held is Holds.PASSWORD:
        return after["end"] in ")]" and len(value) >= 8 and is_password(value) and not is_reference(value)
    return is_chance(value) or is_salt(value)


def _quoted_assigned(text: str, sign: re.Match[str]) -> tuple[int, int] | None:
    """From the opening quote to the next of the same kind, on the same line."""
    start = sign.end()
    end = text.find(sign["open"], start, start + _LOOK)
    if end < 0:
        found = _BARE_ASSIGNED.match(text, start)  # cut off by a limit
        return found.span() if found else None
    line = text.find("\n", start, end)
    return (start, end) if line < 0 and end > start else None


def _bare(text: str, sign: re.Match[str], name: str) -> tuple[int, int] | None:
    start = sign.end()
    whole = _ENV_NAME.match(name) and "=" in sign[0]
    found = (_LINE_VALUE if whole else _AFTER_COLON if sign[0] == ": " else _BARE_ASSIGNED).match(text, start)
    if found is None or (sign["blank"] and text[found.end() - 1] == "="):  # `name="password" autocomplete=…`
        return None
    listed = _LISTED.search(text, start, found.end()) if whole else None
    return (start, listed.start()) if listed else found.span()


def _is_quoted_secret(value: str, held: Holds, *, spaced: bool) -> bool:
    if is_place(value) or is_said(value) or len(value) < 4 or "://" in value:
        return False
    if held is Holds.KEY and (_PAIR.match(value) or is_reference(value)):
        return False
    if held is Holds.PASSWORD:
        words = value.split()
        return not (len(words) > 1 and any(map(is_said, words))) and not (spaced and not _is_told(value))
    if spaced:  # `(def api-key "…")`
        return is_chance(value)
    return is_salt(value) or (" " not in value and (is_chance(value) or (is_password(value) and len(value) >= 8)))


def _is_bare_secret(text: str, value: str, held: Holds, sign: re.Match[str], name: str, end: int) -> bool:
    if is_place(value) or len(value) < 5 or (is_reference(value) and not _is_dotted(text, value, sign, name, end)):
        return False
    flag = _is_flag(name, sign)
    if sign["blank"] and not flag and _PAIR.match(value):
        return False
    if sign["blank"] and not flag:  # a name and a value side by side, as in prose
        chance = is_chance(value) and name != "pass"
        return chance or (held is Holds.PASSWORD and _is_told(value))
    if name.endswith(value):  # handed on under its own name
        return False
    if held is Holds.KEY:
        if _PAIR.match(value):
            return False
        return is_chance(value) or (
            len(value) >= 12 and is_password(value) and any(map(str.isdigit, value)) and "/" not in value
        )
    if is_password(value) or (len(value) >= 8 and is_mixed_case(value)):
        return True
    if value.isdigit():
        return len(value) >= 6
    return _is_word_given(text, value, sign, name, end, flag=flag)


def _is_told(value: str) -> bool:
    """Whether it is a password beside its name, as in prose."""
    return len(value) >= 8 and (in_prose(value) or " " in value)


def _is_dotted(text: str, value: str, sign: re.Match[str], name: str, end: int) -> bool:
    """Whether what looks like an attribute is a value of a settings file: a line of its own, a digit last."""
    start = sign.start() - len(name)
    before = text[max(0, start - 40) : start].rstrip(" \t")
    alone = not before or before[-1] in "\n\"'"
    if _OBJECT.match(value):
        return False
    return alone and sign[0].strip() == "=" and any(map(str.isdigit, value)) and bool(_LINE_ENDS.match(text, end))


def _is_word_given(text: str, value: str, sign: re.Match[str], name: str, end: int, *, flag: bool) -> bool:
    """Whether a password of letters alone is given here: by a tag, a flag, an environment or a settings file."""
    if sign[0] == "=" and text[end : end + 1] == ";" and len(value) >= 4 and not is_said(value):  # of a connection
        return True
    if is_said(value) or len(value) < 6 or value.lower() == name.strip("-").lower():
        return False
    if sign["tag"] or flag:
        return len(value) >= 8 or bool(sign["tag"])
    start = sign.start() - len(name)
    if "=" in sign[0] and _LINE_ENDS.match(text, end) and _SECTION.search(text, max(0, start - _SECTION_AT), start):
        return True
    following = text[end : end + 1]
    tight = sign[0] in ("=", ":=")
    if tight:  # `func(password=word)` names a variable, for a text would have its quotes
        return following not in (")", ",", "(")
    return ":" in sign[0] and bool(_LINE_ENDS.match(text, end)) and len(value) >= 8 and not is_type(value)


# Secrets that sentences tell: "the password for the server is …", in the languages that people write them in.


_TECHNICAL: Final = frozenset("bcrypt argon2 argon2id scrypt pbkdf2 sha256 sha1 base64 ascii utf-8 https vault".split())


def _given(value: str) -> bool:
    """A word that is neither one about secrets nor a way to keep them."""
    return word(value) and not is_reference(value) and value.lower() not in _TECHNICAL


def _quoted_prose(value: str) -> bool:
    """A word in quotes that is said to be the password."""
    return in_prose(value) or (6 <= len(value) <= 40 and " " not in value and _given(value) and not _FIELD.match(value))


_FIELD: Final = lazy_compile(r"[a-z]+(?:[_-][a-z]+)*$")  # as names are written, of fields and of states
_NOUNS: Final = (
    "password", "passwort", "passphrase", "passcode", "kennwort", "contraseña", "contrasena", "clave", "mot de passe",
    "senha", "palavra-passe", "parola", "wachtwoord", "hasło", "haslo", "lösenord", "adgangskode", "passord", "heslo",
    "jelszó", "пароль", "пароля", "şifre", "sifre", "salasana", "mật khẩu", "كلمة المرور", "كلمة السر", "पासवर्ड",
    "login code", "pw ", "pwd", "pass ", "mdp", "şifresi", "κωδικός", "kata sandi", "סיסמה", "รหัสผ่าน", "رمز عبور",
    "lozinka", "heslo", "parool", "slaptažodis", "parole", "geslo", "лозинка", "парола", "гасло",
)  # fmt: skip
_KEYS: Final = (  # whose values are longer than words
    "token", "api key", "access key", "secret key", "private key", "license key", "psk", "aes key", "encryption key",
    "signing key", "hmac key", "shared key", "account key", "deploy key", "master key", "session key", "service key",
    "clé api", "clé d'api", "clave de api", "clave api", "api-schlüssel", "chiave api", "klucz api", "chave da api",
    "chave de api", "ключ api", "api-ключ", "密钥", "密鑰", "apiキー", "api 키", "jeton", "schlüssel", "api-nyckel",
    "api-sleutel", "signing secret", "api secret", "client secret", "app secret",
)  # fmt: skip
# What a language says between the name and the value, and the marks that do.
_IS: Final = lazy_compile(
    r"(?:(?<=[\s\])`])(?:is now|is|was|are|reads|printed|returned|lautet|ist|war|est|es|era|è|é|e|är|er|jest|to|on|este|je"
    r"|là|adalah|olarak|είναι|היא|הוא|это|هي|هو|है)[ \t]{1,3}"
    r"|(?::|=|—|–|->|→|(?<= )\|)[ \t]{1,3}|[:=：→⇒][ \t]{0,3}|\((?=[\"'«„“`]))",
    re.IGNORECASE,
)
_BARE_PROSE: Final = lazy_compile(
    r"[`*]{0,2}[ \t]{0,2}[`*]{0,2}(?P<secret>[^\s\"'«„“`,;\\]{5,4000}?)(?=[.,;:!?)`*]{0,3}(?:\s|$|\\)|[,;])"
)
_ASSIGNED: Final = lazy_compile(r"(?P<secret>[^\s\"'«„“`,;\\]{5,4000})")  # behind = nothing ends a sentence
_QUOTED: Final = lazy_compile(r"\\{0,7}[\"'«„“`](?P<secret>[^\n\"'»”`\\]{5,60})\\{0,7}[\"'»”“`]")
_GIVEN_VALUE: Final = lazy_compile(r"\S*")
_LONGEST: Final = 4000  # characters of a value
_APART: Final = lazy_compile(
    r"[.;=\"{$<]|\[(?!None\])|\w\(|^@"
)  # what a sentence that tells does not have before the value
_TELLING: Final = lazy_compile(r"[0-9!@#$%^&*+?~]")
_WINDOW: Final = 150  # characters after the name in which the value is looked for
_WORDS: Final = 10  # between them
_FEW_WORDS: Final = 3  # behind a name that is a word of other meanings too: to pass


NOUNS: Final = frozenset((*_NOUNS, *_KEYS))


def told(text: str, folded: str, nouns: Iterable[str]) -> list[tuple[int, int, str]]:
    """Where a sentence tells the value of one of the nouns: start, end, kind; `folded` is the text's lower case."""
    found: list[tuple[int, int, str]] = []
    for noun in nouns:
        fits = chance if noun in _KEYS else in_prose
        barren = Barren(text)
        at = folded.find(noun)
        while at >= 0:
            start = at + len(noun)
            if barren.knows(at):
                at = folded.find(noun, start)
                continue
            line = text.find("\n", start, start + _WINDOW)
            end = line if line >= 0 else min(start + _WINDOW, len(text))
            spoken = noun == "token" and text[start : start + 1] == "s"  # of a language model
            spoken = (
                spoken or text[start : start + 1] in ("_", "]") or text[start : start + 1].isupper()
            )  # a longer name
            if not spoken and _TELLING.search(text, start, end) and (span := _told_between(text, start, end, fits)):
                found.append(span)
            else:
                barren.add()
            at = folded.find(noun, start)
    return found


def _told_between(text: str, start: int, end: int, fits: Callable[[str], bool]) -> tuple[int, int, str] | None:
    done = start - 1
    for sign in _IS.finditer(text, start - 1, end):
        between = text[start : sign.start()]
        if between.count(" ") > (_WORDS if text[start - 1] != " " else _FEW_WORDS) or _APART.search(between):
            return None
        if sign.start() < done:  # within what another sign gave
            continue
        for pattern in (_QUOTED, _ASSIGNED if sign[0] == "=" else _BARE_PROSE):
            value = pattern.match(text, sign.end(), max(end + 1, sign.end() + _LONGEST))
            spoken = pattern is _QUOTED and fits is in_prose and sign[0][:1].isalpha()
            if (
                value
                and (_quoted_prose if spoken else fits)(value["secret"])
                and (sign[0].strip() != "|" or alone(value["secret"]))
            ):
                return (*value.span("secret"), "password")
        if sign[0].strip() in (":", "="):
            given = _GIVEN_VALUE.match(text, sign.end(), end)
            done = given.end() if given else done
    return None


_GIVEN_KEYS: Final = (
    "token ", "api key ", "secret ", "access key ", "private key ", "signing key ", "session key ", "license key ",
    "personal key ", "secret key ", "master key ", "account key ", "service key ", "encryption key ",
)  # fmt: skip
_GIVEN: Final = (
    Place("password", ("password to", "passphrase to", "token to", "key to", "secret to", "pass to", "passwort auf",
                       "kennwort auf"),
          r"[\w ]{4,20}? (?:to|auf)[ \t]{1,2}[`\"']?(?P<secret>[^\s\\`\"',;]{5,200}?)(?=[.`\"',;]{0,2}(?:\s|$))", in_prose),
    Place("token", _GIVEN_KEYS, r"[a-z]{3,10}(?: key)? [`\"']?(?P<secret>[A-Za-z0-9_-]{20,200})[`\"']?(?=[\s.,;)]|$)", drawn),
    Place("token", _GIVEN_KEYS,
          r"[a-z]{3,10}(?: key)? [`\"']?(?P<secret>[A-Za-z0-9_+/=.-]{32,400})[`\"']?(?=[\s.,;)]|$)", chance),
)  # fmt: skip
_FOLLOWING: Final = (
    # The value right after its name
    Place("password", ("password ", "passphrase ", "passwort ", "kennwort ", "contraseña ", "mot de passe ", "senha ",
                       "wachtwoord ", "hasło ", "lösenord ", "пароль ", "पासवर्ड ", "şifresi ", "hasłem ", "пароля ", "паролем ",
                       "passwords ", "heslem ", "jelszó ", "salasana ", "passord ", "adgangskode ", "pwd ", "parola "),
          r"\w{3,14}(?: de \w{5,6})?[ \t]{1,2}[`\"'«„“(]?(?P<secret>[^\s\\`\"',;«»“”]{8,100}?)(?=[.`\"',;:)»”]{0,3}(?:\s|$))", strange),
    # As whom somebody came in, and with what
    Place("password", ("logged in as ", "log in as ", "signed in as ", "sign in as ", "login as ", "connected as ",
                       "connect as ", "authenticated as ", "ssh as ", "angemeldet als "),
          r"[a-z ]{6,18}[`\"'*]{0,2}[\w.@+\\-]{2,60}[`\"'*]{0,2},? (?:with|using|mit)(?: the)?(?: password)? [`\"'*]{0,2}"
          r"(?P<secret>[^\s\\`\"',;)*]{8,100}?)(?=[.`\"',;)*]{0,3}(?:\s|$))", strange),
    # The next line is the value, and nothing else is in it
    Place("password", ("password", "passphrase", "passwort", "kennwort", "pass show", "token", "op read", "api key",
                       "secret key"),
          r"[\w ]{5,12}(?![^\n]{0,120}BEGIN )[^\n]{0,120}(?:\r?\n|\\n){1,2}[ \t>]{0,8}[`\"']?(?P<secret>[^\s\"'`,;(){}=<>\\]{8,4000})\\{0,3}[`\"']?"
          r"(?=[ \t]{0,3}(?:\r?\n|\\n|$|[}\]]))", alone),
)  # fmt: skip
# What is said of a password rather than the password, by its ending or as a whole.
_STATED: Final = lazy_compile(
    r"(?i)(?:\w+(?:ed|ing|able|ible|ful|less|tory|ional|ically|ly|isch|lich|bar|iert|sicher)|\w{5,}(?:ad[ao]|id[ao]|at[ao]|ut[ao]|it[ao]|és?|ées?|ivel|ível|ável)"
    r"|\w{5,}(?:ent|ente|ori[ao])|ge\w{3,}t|ge\w{4,}en|(?:ver|ab|zurück)\w{3,}(?:t|en)|(?:perd|conn|inconn|reç|prév)ue?)$"
)
_STATES: Final = frozenset(
    """wrong weak strong long short safe secure correct case-sensitive here there below above gone fine good bad public right
    yours mine same different unique new old not now still only never always what where this that something someone none
    manager managers field fields authentication auth reset hash hashes file files prompt prompts policy policies protection
    rotation store vault variable flag option argument box input change dialog screen page form rules check checks strength
    generator hint entry column parameter setting expired feld manager richtlinie regeln abfrage oublié perdu
    blank random simple complex common easy hard sure true unsafe lost known unknown unsafe-looking part just being
    falsch richtig leer lang kurz schwach stark neu alt gleich hier dort unten oben nicht noch nur immer nie weg sehr
    faux bon vide trop faible fort nouveau ancien vrai ici toujours jamais encore plus pas dans très sur court longue
    incorrecta correcta vacía débil fuerte nueva vieja corta larga aquí muy igual siempre nunca todavía demasiado falsa
    sbagliata giusta vuota debole forte nuova vecchia corta lunga qui molto uguale sempre mai ancora troppo errata scorretta
    errada certa vazia fraca forte nova velha curta longa aqui muito igual sempre nunca ainda demais incorreta""".split()
)
_GO_ON: Final = r"(?=[”\"'»`]?(?:[,;!]|\.(?:\s|$)|[ \t]{0,2}(?:\n|$)| (?:and|but|then|please|for now|und|aber|bitte|et|mais|y|pero|e|ma|mas|ed|puis|luego|poi|depois|dann)\b))"
_WORD_VALUE: Final = r"[„“«\"'`]?(?P<secret>[^\W\d_][\w'-]{3,40})" + _GO_ON


def _plain_word(value: str) -> bool:
    """A word that a sentence gives as the password: neither a state of one nor a word about secrets."""
    return _given(value) and value.lower() not in _STATES and not _STATED.match(value) and not is_type(value)


_SPOKEN_NOUNS: Final = ("password ", "contrasena ", "kennung ", "zugangscode ", "codice ", "code d'accès ", "código ", "pass phrase ", "palabra de paso ", "senha-", "passwort ", "kennwort ", "passphrase ", "mot de passe ", "contraseña ", "clave ", "senha ",
                        "parola ", "palavra-passe ", "passcode ")  # fmt: skip
_GIVEN_NOUNS: Final = tuple(f"{noun[:-1]}{sign}" for noun in _SPOKEN_NOUNS for sign in (":", " :", "="))
_VERB: Final = (
    r"(?:is|was|will be|reads|stays|ist|lautet|war|heißt|heisst|bleibt|wird|est|était|c'est|sera|reste|es|era|será|sigue siendo|se llama"
    r"|s'appelle|si chiama|chama-se|è|sarà|rimane|resta|é|continua sendo|fica|(?:set|changed|reset|geändert|mis|cambiada|cambiata|alterada)"
    r" (?:to|auf|à|a|in|para))"
)
_NOW: Final = (
    r"(?:now|jetzt|nun|wieder|maintenant|désormais|toujours|ahora|ora|adesso|agora|still|again|weiterhin|immer noch)"
)
_WITH: Final = (
    "(?:"
    + "|".join(
        f"(?<={word} )"
        for word in (
            "with",
            "with the",
            "using",
            "using the",
            "use the",
            "use",
            "dem",
            "mit",
            "das",
            "avec le",
            "avec",
            "con la",
            "usa la",
            "use a",
            "com a",
            "entre com a",
            "la",
            "le",
            "inserisci la",
            "enter the",
            "type",
        )
    )
    + ")"
)
_SPOKEN: Final = (
    Place("password", _SPOKEN_NOUNS,
          rf"[\w' -]{{4,16}}?(?:[^\n.:;=?]{{0,60}}?[ \t,])??{_VERB}[ \t](?:{_NOW} )?" + _WORD_VALUE, _plain_word),
    Place("password", _SPOKEN_NOUNS, r"[\w' -]{4,16}?[^\n.:;=?]{1,60}?:[ \t]" + _WORD_VALUE, _plain_word),
    Place("password", _SPOKEN_NOUNS, _WITH + r"[\w' -]{4,16}?[ \t]" + _WORD_VALUE.replace("|please|", "|please|to|on|at|in|auf|am|an|im|anmelden|einloggen|pour|sur|para|en|no|na|per|su|sul|nel|"), _plain_word),
    Place("password", _GIVEN_NOUNS, r"[\w' -]{4,16}?\s?[:=][ \t]" + _WORD_VALUE, _plain_word),
)  # fmt: skip
_FOREIGN: Final = (
    Place("password", ("contraseña", "contrasena", "mot de passe", "mot_de_passe", "senha", "parola", "wachtwoord",
                       "hasło", "haslo", "lösenord", "adgangskode", "passord", "heslo", "jelszó", "пароль", "şifre",
                       "passwort", "kennwort", "salasana", "كلمة المرور", "كلمة السر", "पासवर्ड", "mật khẩu"),
          r"[^\n:=.]{3,80}[:=][ \t]{0,3}[\"'`«„]?(?P<secret>[^\s\\\"'`«»,;]{5,100})", word),
    Place("password", ("パスワード", "密码", "密碼", "口令", "비밀번호", "암호", "暗証番号", "รหัสผ่าน"),
          r"\w{2,5}?[^\n!-~]{0,12}(?:は|是|为|為|는|은|가|คือ|:|：|=)\s{0,2}[「“\"'『]?(?P<secret>[!-~]{5,100})", _given),
)  # fmt: skip
_LOGINS: Final = (
    Place("password",
          ("log in ", "logged in ", "login", "log on ", "logged on ", "sign in ", "signed in ", "credentials", "creds",
           "zugang", "acceso", "identifiants", "user/pass", "authenticated ", "einloggen", "angemeldet"),
          r"[\w /-]{4,14}?[^\n/:]{0,24}?(?:with|as|using|is|are|mit|als|con|como|avec|:)[ \t]{1,2}[`\"'*]{0,2}[\w.@+-]{2,60}[`\"'*]{0,2}"
          r"[ \t]?[/:|,][ \t]?[`\"'*]{0,2}(?P<secret>[^\s\\`\"',;)*]{5,100}?)(?=[.`\"',;)*]{0,3}(?:\s|$))", in_prose),
)  # fmt: skip


_ASKED: Final = (
        Place("password", ("pass", "pw", "kennwort", "contraseña"),
              r"\w{2,12}\b[^\n?]{0,60}\?[^\n]{0,20}\n\[?(?:\d{1,2}:\d{2}(?::\d{2})?\]?[ \t])?[^\n:>]{0,40}[:>][ \t]{0,2}"
              r"(?P<secret>[^\s\\:]{6,64})(?=[ \t]{0,3}(?:\n|$|\\n))", in_prose, ("?\n",)),
)  # fmt: skip


_SEEDS: Final = ("phrase", "seed words", "seed:", "seed=", "seed is", "mnemonic", "recovery words", "backup words",
                 "restore wallet", "wallet with:")  # fmt: skip
# Words of a wallet, with or without numbers and quotes, to the end of a line or of a sentence
_SEED: Final = (
    r"(?P<secret>(?:(?:\d{1,2}[.)]? ?)?[a-z]{3,8}[\"']?[ ,\n]{1,3}[\"']?){11,23}(?:\d{1,2}[.)]? ?)?[a-z]{3,8})"
    r"(?![ ]?[\w,])"
)


def _is_seed(value: str) -> bool:
    words = [word for word in re.split(r"[\s,.)\d\"']+", value) if word]
    return len(words) in (12, 15, 18, 21, 24) and len(_SMALL.intersection(words)) <= 1 and len(set(words)) > 8


_SMALL: Final = frozenset(
    "the and for you your are was with that this from not must then when which have has use one two so while every "
    "before because into onto after its after last until so".split()
)


def _is_base32(value: str) -> bool:
    digits = any(map(str.isdigit, value))
    return len(set(value)) >= 8 and (digits or len(value) >= 26) and value != "JBSWY3DPEHPK3PXP"


def _has_digits(value: str) -> bool:
    return all(re.search(r"\d", one) for one in re.split(r"[\s,]+", value.strip()))


_CODES: Final = (
        Place("seed_phrase", _SEEDS,
              r"[a-z]{4,8}[ _-]?\w{0,8}(?:\\{0,7}[\"'])?(?: is| are)?[ \t]{0,2}[:=(]?\s{0,3}[\"'`]?" + _SEED, _is_seed),
        Place("seed_phrase", _SEEDS,
              r"[a-z]{4,8}\b[^\n]{0,60}?[:=\n][ \t\n]{0,4}\[?[\"'`]?" + _SEED, _is_seed),
        # A seed of one-time passwords, in base32
    Place("totp_seed", ("setup key", "secret", "manual entry", "manual key", "totp", "otp", "authenticator", "2fa", "mfa", "seed"),
          r"[a-z0-9]{3,13}(?: (?:key|entry|seed|secret|code))?[^\n]{0,60}?(?<![A-Za-z0-9+/_-])"
          r"(?P<secret>(?-i:[A-Z2-7]{16,64}|[A-Z2-7]{4}(?:[ -][A-Z2-7]{4}){3,15}))(?![A-Za-z0-9+/_-])", _is_base32),
    Place("license_key", ("license", "licence", "activation key", "activation code", "product key"),
          r"[a-z]{7,10}[^\n]{0,30}?[:= ][\"'`]?(?P<secret>(?-i:[A-Z0-9]{5}(?:-[A-Z0-9]{5}){3,7}|[A-Z0-9]{4}(?:-[A-Z0-9]{4}){3,7}"
          r"|[A-Z0-9]{6}(?:-[A-Z0-9]{6}){3,7}))(?![\w-])", anything),
    # A key of an account of a chain, as its bytes
    Place("private_key", ("secret key", "private key", "keypair", "secretkey"),
          r"\w{6,10}(?: key)?[^\n\[]{0,20}\[(?P<secret>(?:\d{1,3},\s?){31,127}\d{1,3})\]", anything),
    Place("recovery_code", ("recovery code", "backup code", "scratch code", "wiederherstellungscode"),
              r"[\w-]{6,22}(?: code)?s?\b[^\n:]{0,60}:?\s{1,3}(?P<secret>(?:[0-9a-z]{4,10}(?:-[0-9a-z]{4,10}){0,3}[\s,]{1,3}){0,20}"
              r"(?=[a-z-]{0,9}\d)[0-9a-z]{4,10}(?:-[0-9a-z]{4,10}){0,3})\b", _has_digits),
        Place("pin", ("pin ", "pin:", "pin=", "pin-code", "pin code", "pin_code"),
              r"(?<![\w-])pin(?:[ _-]?(?:code|number|nummer))?(?: is| ist| lautet| est|[ \t]?[:=]|(?-i:(?<=PIN)))[ \t]?(?P<secret>\d{4,8})\b(?![.:]\d| ?[a-z]{0,3}px)",
              word),
        Place("code", ("verification code", "security code", "login code", "sms code", "2fa code", "mfa code", "otp code",
                       "one-time code", "one-time password", "auth code", "bestätigungscode", "cvv", "cvc"),
              r"[\w-]{3,16}(?: code| password)?(?: is| was| ist|:)?[ \t]{1,2}(?P<secret>\d{3}[ -]?\d{0,5})\b", word),
        Place("secret", ("shared secret", "pre-shared key", "community string", "wifi password", "wi-fi password", "wpa"),
              r"(?<!\w)[\w -]{3,18}?\b[^\n:=()<]{0,50}[:=][ \t]{0,3}[\"'`]?(?P<secret>[^\s\\\"'`]{6,100})", word),
)  # fmt: skip

PROSE: Final = (*_GIVEN, *_SPOKEN, *_FOLLOWING, *_FOREIGN, *_LOGINS, *_ASKED, *_CODES)
