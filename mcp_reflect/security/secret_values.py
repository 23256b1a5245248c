"""Which values can be secrets, and which names stand before secrets."""

import re
from collections.abc import Callable, Iterable
from enum import Enum
from functools import cache
from itertools import pairwise
from typing import Final, NamedTuple, TypeAlias

from mcp_reflect.patterns import lazy_compile

# The mark that stands where a secret stood.


START: Final = "[redacted:"


def mark(kind: str) -> str:
    """What is written in the place of a secret of that kind."""
    return f"{START}{kind}]"


def is_mark(text: str) -> bool:
    """Whether a text begins with a mark."""
    return text.startswith(START)


Secret: TypeAlias = tuple[int, int, str]
"""Where a secret stands in a text: start, end, kind."""


def replaced(text: str, spans: Iterable[Secret]) -> str:
    """The text with a mark for each span (start, end, kind); of two that overlap, the first or longer one."""
    pieces: list[str] = []
    done = 0
    for start, end, kind in sorted(spans, key=lambda span: (span[0], -span[1])):
        if start >= done:
            pieces += [text[done:start], mark(kind)]
            done = end
    return "".join([*pieces, text[done:]]) if pieces else text


@cache
def compiled(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """The pattern, compiled when it is first needed: all of them would cost the command line 15 ms at each start."""
    return re.compile(pattern, flags)


# Which names hold a secret: `DB_PASSWORD`, `apiKey`, `x-auth-token`; and which only speak of one: `token_type`.


class Holds(Enum):
    """What a name's value is: a password may be any word, a key looks like chance."""

    PASSWORD = "password"  # noqa: S105 - a name
    KEY = "key"
    ANY = "any key"  # no more is said than that it is a key: of a map, of a lock
    NOTHING = "nothing"


_PASSWORDS: Final = ("password", "passwd", "passphrase", "passwort", "kennwort", "contraseña", "contrasena", "senha",
                     "пароль", "密码", "密碼", "パスワード",
                     "비밀번호", "şifre", "passe", "passwords", "wachtwoord", "hasło", "haslo", "lösenord",
                     "lösenordet", "adgangskode", "kodeord", "passord", "heslo", "jelszó", "parola", "пароля", "口令",
                     "暗証番号", "암호", "mật khẩu", "كلمةالمرور", "كلمةالسر", "पासवर्ड", "salasana", "requirepass",
                     "masterauth", "sshpass", "dbpass", "rootpass", "userpass", "adminpass", "mailpass", "smtppass",
                     "ftppass", "pgpass", "mysqlpass", "bindpass", "loginpass", "keypass", "storepass", "rootpw",
                     "bindpw", "dbpw", "userpw", "adminpw", "userpwd", "dbpwd", "rootpwd", "sifre",
                     "palavrapasse", "motdepasse", "密码是", "jwtsecret", "sessionsecret", "cookiesecret",
                     "mdp")  # fmt: skip
_PASSWORD_WORDS: Final = frozenset(("pwd", "pass", "pw", "passcode", "psk", "contra"))
_KEYS: Final = ("secret", "token", "apikey", "appkey", "apisecret", "secretkey", "accesskey", "privatekey", "authkey",
                "encryptionkey", "signingkey", "masterkey", "licensekey", "sharedkey", "sharedaccesskey", "accountkey",
                "sessionkey", "servicekey", "subscriptionkey", "deploykey", "keybase", "keydata", "credential",
                "credentials", "signature", "sessionid", "webhooksecret", "serverkey", "storagekey",
                "cookie", "passwordsalt", "secretbase", "secretid", "gossipencrypt", "gossipkey", "unsealkey",
                "recoverykey", "rootkey", "adminkey", "clientkey", "consumerkey", "integrationkey", "authtoken",
                "sendingkey", "openaikey", "applicationkey", "writekey", "ingestkey", "instrumentationkey", "apikeys",
                "webhookkey", "hmackey", "jwtkey", "cryptkey", "cipherkey", "sastoken", "pskkey", "networkkey",
                "wepkey", "wpakey", "walletkey", "licencekey", "activationkey", "productkey", "passkey",
                "mnemonic", "pepper", "routingkey", "authcode",
                "dockerconfigjson", "aeskey", "fernetkey")  # fmt: skip
_KEY_WORDS: Final = frozenset(("pat", "sig", "salt", "auth", "sid"))
# The last words of a token that anybody may see.
_PUBLIC: Final = lazy_compile(
    r"(?:page|next|continuation|cursor|sync|cancel\w*|eos|bos|pad|unk|stop|public)_?token$|(?:existing|pull)_?secrets?$"
)

# Keys that open nothing: of a table, a cache, a map, or one that anybody may have.
_OPEN: Final = lazy_compile(
    r"(?:public|pub|publishable|primary|foreign|cache|sort|partition|range|hash|row|idempotency|dedup\w*|object|s3|lookup"
    r"|index|group|message|event|trace|build|store|site|host|map|dict|i18n|translation|order|shard|file|blob"
    r"|chunk|asset|commit|node|unique|query|search|bucket|storage|registry|hot|short|state|session|sort|item|data"
    r"|project|issue|redis|config|feature|flag|env|locale|metric)key$"
)

_WORD: Final = lazy_compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-zà-ÿłşğżźćęąś]+|(?:[^\W\d_A-Za-z]|[\u0900-\u097f])+")

_WITHIN: Final = frozenset(("token", "secret", "password", "apikey"))
_OTHER: Final = frozenset(
    "id hash sha digest checksum url uri path file name arn ttl type header prefix format".split()
)


def _is_setting(name: str, words: list[str]) -> bool:
    """Whether it is an environment's setting of a secret for something: `AWS_BEARER_TOKEN_BEDROCK`, `API_KEY_PROD`."""
    within = not _WITHIN.isdisjoint(words) or "_API_KEY_" in f"_{name}_"
    return within and name == name.upper() and "_" in name and words[-1] not in _OTHER


CORES: Final = ("pass", "pw", "secret", "token", "key", "cred", "auth", "cookie", "sessionid", "signature", "sig",
                "salt", "_pat", "sid", "kennwort", "senha", "wachtwoord", "haslo", "heslo", "passord", "parola",
                "adgangskode", "kodeord", "salasana", "psk", "encrypt", "sifre", "mnemonic", "pepper", "_session",
                "dockerconfig", "mdp")  # fmt: skip
"""One of these is in every name that holds a secret, in lower case."""

FOREIGN_CORES: Final = (
    "contraseñ",
    "пароль",
    "密码",
    "密碼",
    "パスワード",
    "비밀번호",
    "mật khẩu",
    "şifre",
    "contraseña",
    "hasło",
    "lösenord",
    "jelszó",
    "口令",
    "暗証番号",
    "암호",
    "كلمة المرور",
    "كلمة السر",
    "पासवर्ड",
)


def holds(name: str) -> Holds:
    """What the value of a name is, by the name's last words."""
    words = [word.lower() for word in _WORD.findall(name)]
    if not words or words == ["signingkey"]:  # git's, which names a key that anybody may have
        return Holds.NOTHING
    whole = "".join(words)
    if name.startswith("OP_SESSION_"):
        return Holds.KEY
    if words[-1] in _PASSWORD_WORDS or whole.endswith(_PASSWORDS):
        return Holds.PASSWORD
    if whole.endswith(_KEYS):
        return Holds.NOTHING if _PUBLIC.search("_".join(words)) else Holds.KEY
    if words[-1] in _KEY_WORDS or (
        words[-1] == "key" and name.isupper() and len(words) > 1 and not _OPEN.search(whole)
    ):
        return Holds.KEY
    if words[-1] == "session" and words[0] in ("op", "bw"):  # of password managers
        return Holds.KEY
    if _is_setting(name, words):
        return Holds.KEY
    return Holds.ANY if words in (["key"], ["encrypt"]) else Holds.NOTHING


# Whether a value could be a secret, or is a name for one, a place for one, or a plain word.


# What stands for a value: a reference, a place to fill in, a call's beginning.
_PLACE: Final = lazy_compile(
    r"[,)\s]|<|\$|\{|ENC\[|Ag[A-D][A-Za-z0-9+/=]{80}|&#x3C;|&lt;|%{1,2}[\w.()]+%|%[a-z]\b|#\{|@@|__[A-Z]|![A-Za-z_]+$|pk[._](?:eyJ|live|test)|%[({s]|\[|\*{2}|\.{3}|…|x{4}|X{4}|!vault|env[.:(\[]|os\.|process\.|secrets\.|vault:|file:|ref[:+]|op://|@"
    r"|(?i:your[_-]|my[_-]|change[_-]?me|replace[_-]?|insert[_-]|enter[_-]|put[_-]your|redacted|not[_-]a[_-]real|example|placeholder|dummy|to-?do\b|n/a\b)"
)
# What is said about a secret rather than the secret: kinds of values, states, and words after a name in prose.
_SAID: Final = frozenset(
    """required optional missing invalid incorrect wrong valid empty string text str bytes int integer number boolean
    bool object array null none nil true false undefined unknown hidden secret password passwd passphrase pass token
    key value default test testing expired disabled enabled active inactive unset changed updated rotated revoked
    rejected refused accepted denied failed mismatch yes no on off auto any all not and the for from with without
    instead because reset prompt prompted input field type length strict never always bearer basic digest oauth
    argument option parameter variable together stored encrypted hashed plaintext protected configured provided
    needed must should could cannot does was were has have are will can may too only also then when where which
    identifier literal keyword operator punctuation comment newline whitespace private public readonly abstract
    username user admin login account email config settings environment function return await lambda async const
    interactive interactively hashing hunting reuse policy manager managers rotation strength""".split()
)
_REFERENCE: Final = lazy_compile(r"[A-Za-z_$]\w*(?:(?:\.|->|::|\?\.)[A-Za-z_]\w*)+[;,)]?$")
_TYPE: Final = lazy_compile(r"(?:[A-Z][a-z]+){1,4}$")
_PATH: Final = lazy_compile(
    r"(?:[A-Za-z]:)?[./~\\]|[a-z][a-z0-9+.-]{1,20}://|arn:|[a-z_.-]{2,40}/[\w.-]{1,40}$"
    r"|[\w.-]{1,80}(?:/[\w.-]{1,80}){1,12}\.[a-z]{1,5}$"
)
_HELD: Final = lazy_compile(
    r"(?i)pass|secret|token|key|pwd|conf|setting|env|value|cred|auth|param|prop|resource|option|variable|string|util|const"
    r"|context|request|response|user|app|data|type|file|service|manager|provider|client|model|form|input|state"
)
_VERSIONED: Final = lazy_compile(r"[a-z][a-z0-9/-]*(?::latest|/versions/\w+)$|[a-z_-]+:[a-z/._#:-]+$")
_UUID: Final = lazy_compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$")

LONG: Final = 16  # characters from which on a value of mixed signs is taken for chance


def is_place(value: str) -> bool:
    """Whether it only stands for a value, or a secret was cut out of it already."""
    return (
        START in value or bool(_PLACE.match(value)) or len(set(value)) <= 2 or is_example(value) or _is_made_up(value)
    )


# Context of values that are made up, and those that say so
_ABOUT: Final = frozenset(
    """a access admin any api app auth be before bit client database db default dev for goes here id in is jwt key
    local my new not of old only pass passphrase passwd password prod production random real root secret secure
    session some string strong super the this to token use user value with""".split()
)
_MADE_UP: Final = frozenset(
    "change demo dummy enter example fake fill here insert mock new old put replace sample test your".split()
)
_ASKS: Final = lazy_compile(r"(?i)change[_-]?me|placeholder|your[_-][a-z]")
_SEQUENCE: Final = lazy_compile(r"01234567|12345678|abcdefgh|ABCDEFGH|deadbeefdeadbeef")


def _is_made_up(value: str) -> bool:
    """Whether it names itself, counts up, or says with words that it only stands for a secret: `fake_key_1`."""
    if value.lower() in ("password", "passwd", "secret", "token", "pass", "apikey", "api_key"):
        return True
    if len(value) >= 20 and _SEQUENCE.search(value):
        return True
    if _ASKS.search(value):
        return True
    parts = [part for part in re.split(r"[-_ ]", value.lower()) if part and not part.isdigit()]
    known = [part for part in parts if part in _ABOUT or part in _MADE_UP or part in ("abc123", "256")]
    if len(parts) < 2 or len(known) < len(parts):
        return False
    return len(parts) >= 3 or any(part in _MADE_UP for part in parts)


# Keys that documents show, and nobody uses: jwt.io's, Stripe's, reCAPTCHA's for tests, those of RFC 6750 and 7617.
_SHOWN: Final = ("SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c", "4eC39HqLyjWDarjtT1zdp7dc", "6LeIxAcTAAAAA",
                  "QWxhZGRpbjpvcGVuIHNlc2FtZQ", "mF_9.B5f-4.1JqM", "dXNlcjpwYXNz")  # fmt: skip


def is_example(value: str) -> bool:
    """Whether a key says of itself that it is an example, as those of AWS's documents do, or is known as one."""
    return "EXAMPLE" in value or any(one in value for one in _SHOWN)


def is_said(value: str) -> bool:
    """Whether it is a word about a secret."""
    return value.strip(".,;:!?").lower() in _SAID


def is_reference(value: str) -> bool:
    """Whether it names a value: `self.password`, `/run/secrets/db`, `https://…`, `projects/8/secrets/x:latest`."""
    if _VERSIONED.match(value):
        return True
    if value.count("/") < _FEW and is_key(value):  # base64 may begin with a slash
        return False
    if _REFERENCE.match(value):
        if all(part[:1].isupper() for part in value.split(".")) and not _HELD.search(value):
            return False  # two words, and no attribute of anything that holds secrets
        return not any(len(part) >= LONG and _is_drawn_word(part) for part in value.split("."))
    return bool(_PATH.match(value))


def _is_drawn_word(part: str) -> bool:
    return any(map(str.isdigit, part)) and any(map(str.isupper, part)) and any(map(str.islower, part))


def is_type(value: str) -> bool:
    """Whether it is written as a type is: `SecretStr`."""
    return bool(_TYPE.match(value)) and (not value[1:].islower() or len(value) < LONG_WORD or bool(_HELD.search(value)))


LONG_WORD: Final = 9  # letters of a word that is hardly a type's


def is_chance(value: str) -> bool:
    """Whether it looks drawn by chance: long, with digits among letters, and no words in it."""
    if len(value) < LONG or is_reference(value):
        return False
    if _UUID.match(value):
        return True
    digits = sum(char.isdigit() for char in value)
    letters = sum(char.isalpha() for char in value)
    if not digits:  # as few as one of some 400 values of 24 characters of chance
        return len(value) >= 24 and is_mixed_case(value) and not re.search(r"[-_. ]", value)
    return letters > 0 and digits + letters >= 0.8 * len(value)


def is_drawn(value: str) -> bool:
    """Whether what follows a provider's letters was drawn by chance, and is no word or repeated sign."""
    different = len(set(value))
    if different < 6:
        return False
    return any(map(str.isdigit, value)) or is_mixed_case(value) or (value.isupper() and different >= 8)


def is_mixed(value: str) -> bool:
    """Whether letters of both cases and digits stand in it, as chance puts them."""
    return sum(char.isdigit() for char in value) >= 2 and any(map(str.isupper, value)) and any(map(str.islower, value))


def is_mixed_case(value: str) -> bool:
    """Whether its case changes oftener than words written together change it."""
    turns = sum(one.islower() != other.islower() for one, other in pairwise(value))
    return turns >= len(value) / 3


_FEW: Final = 4
_OF_KEY: Final = lazy_compile(r"[A-Za-z0-9+/_=]{32,200}$")


def is_key(value: str) -> bool:
    """Whether it is a key though its name says no more than `key`: long, and drawn from letters of both cases."""
    return bool(_OF_KEY.match(value)) and is_mixed(value) and is_mixed_case(value)


def is_salt(value: str) -> bool:
    """Whether it is drawn from all that a keyboard has, spaces too, as the salts of WordPress are."""
    signs = {char for char in value if not char.isalnum()}
    return (
        len(value) >= 32
        and len(signs) >= 3
        and value.count(" ") * 10 < len(value)
        and is_mixed(value)
        and not _PATH.match(value)
    )


def is_password(value: str) -> bool:
    """Whether it has what policies ask of a password: letters, and digits or signs among them."""
    letters = any(map(str.isalpha, value))
    return len(value) >= 6 and letters and any(char.isdigit() or char in "!@#$%^&*+=?~" for char in value)


# What a place of a secret is, and what a value must be to be one there.


class Place(NamedTuple):
    """A kind of secret: the words (in lower case) that its pattern begins with, the pattern, what a value must be.

    The pattern's group `secret` is what goes. Where `needs` has texts, one of them must be in the text too.
    """

    kind: str
    words: tuple[str, ...]
    pattern: str
    fits: Callable[[str], bool]
    needs: tuple[str, ...] = ()


def anything(value: str) -> bool:
    """Whatever does not only stand for a value."""
    return not is_place(value)


def word(value: str) -> bool:
    """A word that is not one about secrets."""
    return not is_place(value) and not is_said(value)


def strong(value: str) -> bool:
    """What policies ask of a password."""
    return not is_place(value) and is_password(value)


def chance(value: str) -> bool:
    """What was drawn by chance; with a class of characters in it, it is a pattern."""
    return not is_place(value) and "[" not in value and (is_chance(value) or is_mixed(value))


def credential(value: str) -> bool:
    """What follows a scheme of authorization: long, or with a digit, or padded."""
    if is_place(value) or _FIELD.match(value):
        return False
    return len(value) >= 8 and (is_password(value) or len(value) >= 24)


def token(value: str) -> bool:
    """A credential with a digit, or padded."""
    return credential(value) and ("=" in value or any(map(str.isdigit, value)))


_FIELD: Final = lazy_compile(r"[A-Za-z_]{2,20}=")  # of a header that names its parts


def drawn(value: str) -> bool:
    """Chance, or a password that is no path and no name."""
    return chance(value) or (strong(value) and not is_reference(value))


def in_prose(value: str) -> bool:
    """A password as it stands among words: letters with a digit or a sign within, and no path, name or place."""
    if not 5 <= len(value) <= 100 or is_place(value) or is_said(value) or is_reference(value) or value[-1].isspace():
        return False
    inner = value.strip(".,;:!?()")
    letters = any(map(str.isalpha, inner))
    digits = any(map(str.isdigit, inner))
    signs = any(char in "!@#$%^&*+=?~_" for char in inner)
    return letters and (digits or signs) and not (_SPOKEN.match(inner) or _CODE.match(value))


def strange(value: str) -> bool:
    """A password that stands beside its name without a word between: letters of both cases, digits or signs."""
    signs = sum(char in "!@#$%^&*+?~" for char in value)
    digits = sum(map(str.isdigit, value))
    cases = any(map(str.islower, value)) and any(map(str.isupper, value))
    return (
        len(value) >= 8
        and cases
        and (signs > 0 or digits >= 2 or (digits > 0 and len(value) >= 12))
        and in_prose(value)
    )


def alone(value: str) -> bool:
    """What stands alone in a line behind one that names a secret."""
    return not is_place(value) and (is_chance(value) or strange(value))


_SPOKEN: Final = lazy_compile(
    r"(?:\d{1,3}(?:st|nd|rd|th|s|x|ms|min|h|kb|mb|gb|%)|v?\d+(?:\.\d+)+\w{0,8}|[A-Z]{2,6}-?\d{1,5}|(?:base|sha|md|utf-?|rsa|aes"
    r"|[0-9a-f]{8}-[0-9a-f]{4}-.*|[0-9a-f]{32,}|ipv?|oauth|http/?|x|tls|bcrypt|argon)-?\d{1,4}\w{0,6}(?:[-_]\w{1,10}){0,3}|\d{4}-\d{2}-\d{2}.{0,20}|_{0,2}[a-z]+_[a-z_]+[})\]]{0,3}|scram-.*)$",
    re.IGNORECASE,
)


# A call, an item, an argument: `headers.get(…)`, `auth[2]`, `strict=True`
_CODE: Final = lazy_compile(r"[\w.]+[(\[]|[A-Za-z_]\w*=(?:$|[\w.]+$)")


LONG_VALUE: Final = 300  # characters


_LONG_TEXT: Final = 5_000  # characters from which on equal windows are worth remembering
_MOST_WINDOWS: Final = 2_000


class Barren:
    """Windows of a text in which nothing was found: a log repeats the same words thousands of times."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._windows: set[str] = set()
        self._window = ""

    def knows(self, at: int) -> bool:
        """True if nothing was found where the text around was the same."""
        if len(self._text) < _LONG_TEXT:
            return False
        self._window = self._text[max(0, at - 64) : at + 256]
        return self._window in self._windows

    def add(self) -> None:
        """Remember that nothing was found in the window that was asked for last."""
        if self._window and len(self._windows) < _MOST_WINDOWS:
            self._windows.add(self._window)


_TELLING: Final = lazy_compile(r"[^a-z ,.;\n\r\t-]")  # in the values that places tell, or around them


def by_word(places: Iterable[Place]) -> dict[str, tuple[Place, ...]]:
    """The places by each of the words that they begin with."""
    found: dict[str, list[Place]] = {}
    for one in places:
        for word in one.words:
            found.setdefault(word, []).append(one)
    return {word: tuple(some) for word, some in found.items()}


def spans_at(text: str, folded: str, word: str, places: tuple[Place, ...]) -> list[tuple[int, int, str]]:
    """Where secrets stand at the places that begin with a word: start, end, kind; `folded` is the lower case."""
    some = [
        (compiled(one.pattern, re.IGNORECASE), one)
        for one in places
        if not one.needs or any(need in folded for need in one.needs)
    ]
    found: list[tuple[int, int, str]] = []
    barren = Barren(text)
    at = folded.find(word) if some else -1
    while at >= 0:
        after = at + len(word)
        if barren.knows(at):
            at = folded.find(word, after)
            continue
        count = len(found)
        for pattern, one in some:
            match = pattern.match(text, at)
            if match is None:
                continue
            start, end = match.span("secret")
            if one.fits(match["secret"]):
                found.append((start, end, one.kind))
            if (
                end - start > LONG_VALUE
            ):  # what is long is looked at once, or a text of words alone would take its square
                after = max(after, end)
        if len(found) == count:
            barren.add()
        at = folded.find(word, after)
    return found
