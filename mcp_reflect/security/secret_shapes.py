"""Secrets that are known by their own shape, and by their place in a text."""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Final, NamedTuple

from mcp_reflect.patterns import lazy_compile
from mcp_reflect.security import secret_values as values
from mcp_reflect.security.secret_values import Secret, compiled

_ALPHABETS: Final = {
    "word": "[0-9A-Za-z]",
    "url": "[0-9A-Za-z_-]",
    "b64": "[0-9A-Za-z+/=_-]",
    "parts": "(?:[0-9A-Za-z+/=_.-]|%[0-9A-F]{2})",
}
_PREFIXES: Final = Path(__file__).with_name("secret_prefixes.txt")
"""A line has the kind of key, the alphabet and the least length of what follows, and the beginnings."""

# Keys that are no beginning and a rest. A row: kind, the texts of which one is in each match, pattern. Of a match, the
# group `secret` goes where there is one. A pattern that begins with letters is searched quickly: its edge is behind them.
_EDGE: Final = "(?<![A-Za-z0-9])"  # `\b` would take an underscore for a letter
_WEBHOOK: Final = (  # an address whose path says that it is called to do something, and ends in a key
    r"(?<![\w./:-])(?:https?://)?[\w-]{1,60}(?:\.[\w-]{1,60}){1,6}(?::\d{2,5})?/"
    r"(?:[\w.-]{1,40}/){0,6}?(?:(?:\w{0,20}hooks?(?:b2)?|services|triggers|deploy|with/key)/|(?<=hc-ping\.com/)|(?<=\.make\.com/))"
    r"(?=[^\s\"']{0,200}?(?:[A-Za-z0-9_]{16}|[0-9a-f]{8}-[0-9a-f]{4}-))(?=[^\s\"'/]*\d|[^\s\"']*/[A-Za-z0-9_-]{16})[\w@/%.?=-]{12,300}"
)
_SHAPES: Final = (
    ("google_key", ":APA91", _EDGE + r"[A-Za-z0-9_-]{8,40}:APA91[A-Za-z0-9_-]{60,300}"),
    ("azure_secret", "Q~", r"(?<![A-Za-z0-9_~.-])[A-Za-z0-9_~.-]{3}\dQ~[A-Za-z0-9_~.-]{31,34}"),
    ("gitlab_token", "gl", r"gl(?<![A-Za-z0-9]gl)[a-z]{2,6}-(?=[A-Za-z_.-]{0,60}\d)[A-Za-z0-9_.-]{18,200}"),
    ("llm_key", "sk-", r"sk-(?<![A-Za-z0-9]sk-)(?=[A-Za-z_-]{0,60}\d)[A-Za-z0-9_-]{20,250}"),
    ("discord_token", ".", r"(?<![\w.-])[MNO][A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,45}"),
    ("telegram_token", ":AA", r"(?<!\d)\d{8,11}:AA[A-Za-z0-9_-]{32,34}(?![A-Za-z0-9_-])"),
    ("vault_token", "s.", r"(?<![\w.])s\.(?=[A-Za-z]{0,23}\d)(?=[a-z0-9]{0,23}[A-Z])[A-Za-z0-9]{24}(?![\w.(])"),
    ("mailchimp_key", "-us", _EDGE + r"[0-9a-f]{32}-us\d{1,2}\b"),
    ("mailgun_key", "-", _EDGE + r"[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}\b"),
    ("braintree_token", "access_token$", r"access_token\$(?:production|sandbox)\$[a-z0-9]{10,24}\$[0-9a-f]{32}\b"),
    ("plaid_token", "access-", r"access-(?<![A-Za-z0-9]access-)(?:sandbox|development|production)-[0-9a-f-]{36}\b"),
    ("terraform_token", ".atlasv1.", _EDGE + r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{40,80}"),
    ("twilio_key", "SK", r"SK(?<![A-Za-z0-9]SK)[0-9a-f]{32}\b"),
    ("airtable_token", "pat", r"pat(?<![A-Za-z0-9]pat)[A-Za-z0-9]{14}\.[0-9a-f]{64}\b"),
    ("new_relic_key", "NRAL", _EDGE + r"[0-9a-f]{36}NRAL\b"),
    ("onepassword_key", "A3-", r"A3-(?<![A-Za-z0-9]A3-)[A-Z0-9]{6}(?:-[A-Z0-9]{5,11}){4,5}\b"),
    ("facebook_token", "|", r"(?<!\d)\d{15,16}\|[A-Za-z0-9_-]{27,40}(?![A-Za-z0-9_-])"),
    ("asana_token", "0/ 1/ 2/", r"/(?<![\w/.][012]/)(?<=[012]/)(?:\d{15,17}(?:/\d{15,17})?:)?[0-9a-f]{32}\b"),
    ("bitlocker_key", "-", r"(?<![\d-])\d{6}(?:-\d{6}){7}(?![\d-])"),
    ("calendar_address", "/private-", r"/private-(?P<secret>[0-9a-f]{32})\b"),
    # A private key in base64 a second time: the word PRIVATE in each of its three positions
    ("private_key", "LS0tLS1CRUdJTi",
     r"LS0tLS1CRUdJTi(?=[A-Za-z0-9+/]{0,24}(?:UFJJVkFUR|BSSVZBVE|QUklWQVRF))[A-Za-z0-9+/]{16,20000}={0,2}"),
    ("jwt", "eyJ",
     r"eyJ(?<![A-Za-z0-9]eyJ)[\w-]{8,8000}\.(?:eyJ[\w-]{8,8000}(?:\.[\w-]{8,8000})?|[\w-]{0,2000}(?:\.[\w-]{8,8000}){3})"),
    ("password_hash", "$", r"\$(?:apr1|[156y])\$(?:[A-Za-z0-9./=,+_-]{1,100}\$){0,3}[A-Za-z0-9./+]{20,120}"),
    ("webhook", "hook /services/T /triggers/ /deploy/ hc-ping.com", _WEBHOOK),
    # A short name, an underscore, and a random rest of 30 characters and more; ids have some 24
    ("token", "_", r"(?<![A-Za-z0-9_\\])(?!pk_|phc_)[a-z][a-z0-9]{1,11}(?:_[a-z0-9]{1,8}){0,2}_(?P<rest>[A-Za-z0-9]{30,200})(?![A-Za-z0-9])"),
)  # fmt: skip

_PEM: Final = lazy_compile(
    r"-{4,5} ?BEGIN (?:[A-Z0-9]{2,10} ){0,3}(?:PRIVATE KEY(?: BLOCK)?|OpenVPN Static key V1) ?-{4,5}"
    r"(?P<body>(?:(?!-{4,5} ?END)[\s\S]){0,20000})(?:-{4,5} ?END [A-Za-z0-9 ]{0,40}-{4,5})?"
)
_PEM_BODY: Final = lazy_compile(r"(?=[A-Za-z0-9+/=]{0,24}[0-9])[A-Za-z0-9+/=]{24}|[0-9a-f]{32}")  # examples have dots
_PEM_HEADERS: Final = 400  # characters before the key
_PUTTY: Final = lazy_compile(
    r"Private-Lines: \d{1,3}\s{1,4}(?P<secret>(?:[A-Za-z0-9+/=]{1,80}(?:\s|$)){1,200}(?:Private-MAC: [0-9a-f]{40,64})?)"
)


def private_keys(text: str) -> list[Secret]:
    """Return the private keys that stand in their armor."""
    spans: list[tuple[int, int]] = []
    if "PRIVATE KEY" in text or "OpenVPN Static key" in text:
        spans += [key.span() for key in _PEM.finditer(text) if _PEM_BODY.search(key["body"], 0, _PEM_HEADERS)]
    if "Private-Lines:" in text:
        spans += [key.span("secret") for key in _PUTTY.finditer(text)]
    return [(start, end, "private_key") for start, end in spans]


_LONG: Final = lazy_compile(r"\S{20,}")  # no shape has fewer characters
_RUN: Final = lazy_compile(r"[A-Za-z0-9_+/=~-]{16}")
_LETTERS_OR_DIGITS: Final = lazy_compile("[0-9A-Za-z]+")
_LOOKUP: Final = 3  # characters of a beginning by which the table is asked


def shaped_secrets(text: str) -> list[Secret]:
    """Return the secrets that have a provider's shape; all of them stand in long words of mixed characters."""
    words = long_words(text)
    if not words:
        return []
    joined = "\n".join(word[0] for word in words)
    starts = [0, *accumulate(len(word[0]) + 1 for word in words)]

    def place(at: int) -> int:
        number = bisect_right(starts, at) - 1
        return words[number].start() + at - starts[number]

    return [
        (place(start), place(end - 1) + 1, kind) for start, end, kind in (*_of_providers(joined), *_of_shapes(joined))
    ]


@lru_cache(maxsize=4)
def long_words(text: str) -> list[re.Match[str]]:
    """Return the words in which a key could be."""
    return [word for word in _LONG.finditer(text) if _is_mixed(word[0])]


def _is_mixed(word: str) -> bool:
    """True if a key could be in a word: a long run of different characters, with a digit or a capital."""
    rule = word.count(word[0]) > len(word) // 2
    return not rule and not (word.islower() and word.isalpha()) and bool(_RUN.search(word))


@cache
def _beginnings() -> dict[str, list[tuple[str, str, str]]]:
    """Return the kinds, beginnings and patterns of keys by their first letters, the longest beginning first."""
    table: dict[str, list[tuple[str, str, str]]] = {}
    for line in _PREFIXES.read_text(encoding="utf-8").splitlines():
        kind, alphabet, least, *beginnings = line.split()
        rest = rf"(?P<rest>{_ALPHABETS[alphabet]}{{{least},2000}})(?![0-9A-Za-z])(?:[_-][0-9A-Za-z]{{4,200}}){{0,4}}"
        for beginning in beginnings:
            table.setdefault(beginning[:_LOOKUP], []).append((kind, beginning, re.escape(beginning) + rest))
    return {key: sorted(rows, key=lambda row: -len(row[1])) for key, rows in table.items()}


def _of_providers(text: str) -> list[Secret]:
    table = _beginnings()
    spans: list[Secret] = []
    done = 0
    starts = [run.start() for run in _LETTERS_OR_DIGITS.finditer(text)]
    for at in [start for start in starts if text[start : start + _LOOKUP] in table]:
        for kind, beginning, pattern in table[text[at : at + _LOOKUP]] if at >= done else ():
            key = compiled(pattern).match(text, at) if text.startswith(beginning, at) else None
            if key and values.is_drawn(key["rest"]) and not values.is_example(key[0]):
                spans.append((at, key.end(), kind))
                done = key.end()
                break
    return spans


def _of_shapes(text: str) -> list[Secret]:
    return [
        (*key.span("secret" if "secret" in key.re.groupindex else 0), kind)
        for kind, hints, pattern in _SHAPES
        if any(hint in text for hint in hints.split())
        for key in compiled(pattern).finditer(text)
        if not values.is_example(key[0]) and (kind != "token" or values.is_mixed(key["rest"]))
    ]


class Place(NamedTuple):
    """A place of secrets: their kind, the lower-case texts of which one begins it, parted by bars, and its pattern.

    The group `secret` of the pattern goes where `fits` is true of it.
    """

    kind: str
    anchors: str
    pattern: str
    fits: Callable[[str], bool]


_LINE: Final = r"[^\n]{0,200}?[ \t]"
_VALUE: Final = r"[\"'`]?(?P<secret>[^\s\"'`\\|;]{4,4000})"
_UUID: Final = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_TEXT: Final = r"b?[\"'`](?P<secret>[^\"'\n\\]{4,200})[\"'`]"
_ARGUMENT: Final = r"(?:[^,()\"'\n]{1,80}|\"[^\"\n]{0,200}\"|'[^'\n]{0,200}')"
_END: Final = r"(?=[.`\"',;:)*]{0,3}(?:\s|$))"
_SEED_WORD: Final = r"(?:\d{1,2}[.)]? ?)?(?-i:[a-z]{3,8})[\"']?"
_SEED: Final = (  # the 12, 15, 18, 21 or 24 words of a wallet
    rf"(?P<secret>(?:{_SEED_WORD}[ ,\n]{{1,3}}[\"']?){{11}}(?:(?:[ ,\n]{{1,3}}[\"']?{_SEED_WORD}){{3}}){{0,4}}{_SEED_WORD})(?![ ]?[\w,])"
)


def _braced(value: str) -> bool:
    """True for a value in the braces of a connection string, and no name of a template's field."""
    return not value.strip("{}").replace("_", "").replace(".", "").isalpha()


def _has_sign(value: str) -> bool:
    return values.credential(value) and ("=" in value or any(map(str.isdigit, value)))


def _has_digits(value: str) -> bool:
    return all(re.search(r"\d", code) for code in re.split(r"[\s,]+", value.strip()))


def _is_base32(value: str) -> bool:
    return len(set(value)) >= 8 and (any(map(str.isdigit, value)) or len(value) >= 26) and value != "JBSWY3DPEHPK3PXP"


def _is_seed(value: str) -> bool:
    words = [word for word in re.split(r"[\s,.)\d\"']+", value) if word]
    return len(words) in (12, 15, 18, 21, 24) and len(_COMMON.intersection(words)) <= 1 and len(set(words)) > 8


_COMMON: Final = frozenset(
    "the and for you your are was with that this from not must then when which have has use one two so while every "
    "before because into onto after its last until".split()
)
_PLACES: Final = (
    # Addresses
    Place("url_password", "://", r"://[^\s:/@\"'<>]{0,200}:(?P<secret>[^\s/@\"'<>]{1,200})(?=@)", values.word),
    Place("url_token", "://", r"://(?P<secret>[A-Za-z0-9_-]{20,300})(?=@|:[^\s/@]{0,60}@)", values.random),
    Place("url_token", "code=|key=|sig=|jwt=|auth=|ticket=", r"(?<=[?&])\w{3,6}=(?P<secret>[\w%.~+/=-]{20,4000})", values.random),
    Place("url_password", "jdbc:oracle:", r"jdbc:oracle:\w{2,6}:\w{1,60}/(?P<secret>[^\s/@\"']{4,200})(?=@)", values.word),
    # Headers and cookies
    Place("bearer_token", "bearer|basic|ssws", r"\w{4,6},?[ \t]{1,3}(?P<secret>[\w.~+/=-]{20,4000})",
          _has_sign),
    Place("authorization", "response=|signature=|credential=|oauth_", r"\w{5,30}=[\"']?(?P<secret>[^\s\"',;&\\]{20,2000})", values.random),
    Place("cookie", "_session=|sessid=|sessionid=|.sid=|_sess=|li_at=|wordpress_|samlresponse=|samlrequest=",
          r"[\w.]{3,60}=(?P<secret>[A-Za-z0-9%_.+/=:|-]{20,8000})", values.random),
    # Commands
    Place("url_password", "curl|wget|http|etcdctl|jenkins-cli|jira",
          rf"[\w-]{{4,11}}{_LINE}(?:-u|--user|--proxy-user|--?auth|-a)[ =]{{0,2}}[\"']?[^\s:\"']{{1,80}}:(?P<secret>[^\s\"'@]{{4,200}})", values.word),
    Place("password", "mysql|mariadb", rf"\w{{5,7}}[a-z-]{{0,12}}{_LINE}-p(?![=-]){_VALUE}", values.word),
    Place("password", "sshpass|login|upload", rf"\w{{5,7}}{_LINE}-p[ \t]?{_VALUE}", values.word),
    Place("password", "redis-cli", rf"redis-cli{_LINE}-a[ \t]{_VALUE}", values.word),
    Place("password", "-passin|-passout|-pass", rf"-pass(?:in|out)?[ \t]pass:{_VALUE}", values.word),
    Place("password", "echo|printf", r"\w{4,6}\s{1,3}(?:-\w{1,3}\s{1,3})?[\"']?[\w.@-]{1,60}:(?P<secret>[^\s\"'|:]{4,200})[\"']?\s{0,3}\|\s{0,3}(?:sudo\s{1,3})?chpasswd",
          values.word),
    Place("password", "echo|printf", r"(?:echo|printf)\s{1,3}(?:-\w{1,3}\s{1,3})?[\"']?(?P<secret>(?:[^\"'\n|$\\]|\\n){4,200}?)(?:\\n)?[\"']?\s{0,3}"
          r"\|\s{0,3}(?:sudo\s{1,3}(?:-[a-zA-Z]{1,3}\s{1,3}){0,3}-S|su\b|passwd|smbpasswd|kinit|cryptsetup|vncpasswd|gcloud secrets"
          r"|[\w./ -]{1,60}(?:--?password-stdin|--stdin|--passphrase-fd 0|login\b|with-token))", values.word),
    Place("password", "-command", r"-command[ =]{1,3}[\"']?echo (?P<secret>[^\"'\n]{4,200})", values.word),
    Place("password", "htpasswd", r"htpasswd(?=[^\n|]{0,60}\s-\w{0,5}b)(?:\s-\w{1,6}){1,4}(?:\s[\w./-]{1,200})?\s[\w.@-]{1,60}\s[\"']?(?P<secret>[^\s\"'-][^\s\"']{3,200})",
          values.word),
    Place("password", "ldap", rf"ldap\w{{3,10}}{_LINE}-w[ ]?{_VALUE}", values.word),
    Place("password", "mosquitto_|7z|unzip|zip|sqlcmd|bcp|mongo|psexec|winexe|evil-winrm|netexec|rdesktop|ipmitool|cqlsh|unrar|signtool",
          rf"[\w-]{{2,16}}{_LINE}(?:-[pP]|/p)[ ]?{_VALUE}", values.drawn),
    Place("password", "smbclient|rpcclient|lftp", rf"\w{{4,10}}{_LINE}-[uU][ ]?[\"'`]?[\w.\\@-]{{1,60}}[%,]{_VALUE}", values.word),
    Place("password", "add_user|change_password|adduser|authenticate_user|set_password", rf"\w{{6,20}}\s{{1,3}}[\w.@-]{{1,60}}\s{{1,3}}{_VALUE}", values.drawn),
    Place("password", "net user|net use", r"net use\b[^\n]{0,120}?/user:\S{1,80}[ \t](?P<secret>[^\s/]{6,100})", values.drawn),
    Place("secret", "<<<", rf"<<<\s?{_VALUE}", values.drawn),
    Place("secret", "<(echo|<(printf", rf"<\(\w{{4,6}} {_VALUE}", values.random),
    Place("token", "codecov|snyk|doctl|apify|ngrok", rf"\w{{4,7}}\b[^\n]{{0,60}}?(?: -t[ =]?|api=|auth )(?P<secret>{_UUID}|[\w-]{{24,100}})", values.random),
    Place("secret", "snmp-server community", r"snmp-server community (?!(?:public|private)\b)(?P<secret>[^\s\"']{4,60})", values.word),
    Place("password", "requirepass|masterauth", rf"\w{{10,11}}\s{{1,3}}{_VALUE}", values.word),
    Place("password", "send", r"send\s{1,3}(?:-{1,2}\s)?[\"'](?P<secret>[^\"'\\\n]{4,200})\\?[rn\n]", values.drawn),
    Place("secret", "--from-literal", rf"--from-literal[= ][\"']?[\w.-]{{1,60}}={_VALUE}", values.drawn),
    Place("secret", "[redacted:aws_key]",  # the other half of a pair
          r"\[redacted:aws_key\](?:[\s\"',:/|)]|secret|access|key|is|and|with|the){1,12}(?P<secret>[A-Za-z0-9+/]{40})(?![A-Za-z0-9+/=])", values.random),
    # Calls and statements
    Place("secret", "jwt.", rf"jwt\.(?:sign|verify|decode|encode)\([^\n]{{1,200}}?,\s{{0,3}}{_TEXT}", values.drawn),
    Place("secret", "createhmac|hmac.new|fernet(|aes.new|secretbox", rf"[\w.]{{6,16}}\((?:[^,\n]{{1,30}},\s{{0,3}})?(?:key=)?{_TEXT}", values.word),
    Place("password", "login(|logon(|signin(|sign_in(|authenticate(|imap_open(|mysqli_connect(|mysql_connect(|pdo(|getconnection(|auth(|"
          "credential(|credentials(|passwordauthentication(|auth.basic(|wifi.begin(|user(",
          rf"[\w.]{{3,24}}\(\s{{0,3}}(?:{_ARGUMENT},\s{{0,3}}){{1,2}}?(?:password=)?(?=[\"'][^\"'\n]*[0-9!@#$%^&*+=?~]){_TEXT}\s{{0,3}}[,)]", values.drawn),
    Place("secret", "client(|search(|credentials(|api(|sdk(|init(",
          rf"\w{{3,12}}\(\s{{0,3}}(?:{_ARGUMENT},\s{{0,3}})?[\"'`](?P<secret>[\w+/=]{{24,200}})[\"'`]\s{{0,3}}[,)]", values.random),
    Place("password", "convertto-securestring", rf"convertto-securestring(?:\s{{1,3}}-(?:asplaintext|force|string)){{0,3}}\s{{1,3}}{_TEXT}", values.word),
    Place("password", "identified by", rf"identified by\s{{1,3}}(?:password\s{{1,3}})?{_TEXT}", values.word),
    Place("password", "password '", r"password\s{1,3}'(?P<secret>[^'\n\\]{6,200})'\s{0,3}(?:;|$|login|valid|superuser|createdb|in\b|\")", values.word),
    Place("password", "pwd={|password={", r"\w{3,8}=(?P<secret>\{[^}\n]{2,100}\}[^;\n]{0,60})(?=;|$|\")", _braced),
    # Files
    Place("password", "machine", r"machine\s{1,8}\S{1,200}\s{1,8}login\s{1,8}\S{1,200}\s{1,8}password\s{1,8}(?P<secret>[^\s\"'\\]{4,500})", values.word),
    Place("password", "auth=|auth =", r"auth[ \t]?=[ \t]?\([ \t]?[\"'][^\"'\n]{1,80}[\"'],[ \t]?[\"'](?P<secret>[^\"'\n\\]{4,200})[\"']", values.word),
    # Sentences about a login, and lists of codes
    Place("password", "log in|logged in|login|log on|logged on|sign in|signed in|credentials|creds|zugang|acceso|identifiants|user/pass|authenticated|angemeldet|einloggen",
          rf"[\w /-]{{4,14}}?[^\n/:]{{0,24}}?(?:with|as|using|is|are|mit|als|con|como|avec|:)[ \t]{{1,2}}[`\"'*]{{0,2}}[\w.@+-]{{2,60}}[`\"'*]{{0,2}}"
          rf"(?:[ \t]?[/:|,][ \t]?|,? (?:with|using|mit)(?: the)?(?: password)? )[`\"'*]{{0,2}}(?P<secret>[^\s\\`\"',;)*]{{5,100}}?){_END}", values.in_prose),
    Place("seed_phrase", "phrase|words|seed|mnemonic|recovery|backup|restore",
          rf"[a-z]{{4,8}}\b(?:[^\n]{{0,60}}?[:=\n]|[ _-]?\w{{0,8}}[\"']?(?: is| are)?)[ \t\n]{{0,4}}\(?\[?[\"'`]?{_SEED}", _is_seed),
    Place("totp_seed", "setup key|secret|manual entry|totp|otp|authenticator|2fa|mfa|seed",
          r"[a-z0-9]{3,13}(?: (?:key|entry|seed|secret|code))?[^\n]{0,60}?(?<![A-Za-z0-9+/_-])"
          r"(?P<secret>(?-i:[A-Z2-7]{16,64}|[A-Z2-7]{4}(?:[ -][A-Z2-7]{4}){3,15}))(?![A-Za-z0-9+/_-])", _is_base32),
    Place("recovery_code", "recovery code|backup code|scratch code|wiederherstellungscode",
          r"[\w-]{6,22}(?: code)?s?\b[^\n:]{0,60}:?\s{1,3}(?P<secret>(?:[0-9a-z]{4,10}(?:-[0-9a-z]{4,10}){0,3}[\s,]{1,3}){0,20}"
          r"(?=[a-z-]{0,9}\d)[0-9a-z]{4,10}(?:-[0-9a-z]{4,10}){0,3})\b", _has_digits),
    Place("pin", "pin", r"(?<![\w-])pin(?:[ _-]?(?:code|number|nummer))?(?: is| ist| lautet| est|[ \t]?[:=]|(?-i:(?<=PIN)))[ \t]?(?P<secret>\d{4,8})\b(?![.:]\d| ?[a-z]{0,3}px)",
          values.word),
    Place("code", "verification code|security code|login code|sms code|2fa code|mfa code|otp code|one-time|auth code|bestätigungscode|cvv|cvc",
          r"[\w-]{3,16}(?: code| password)?(?: is| was| ist|:)?[ \t]{1,2}(?P<secret>\d{3}[ -]?\d{0,5})\b", values.word),
)  # fmt: skip

# A line of a .pgpass file, host:port:database:user:password
_PGPASS: Final = lazy_compile(
    r":(?:\d{2,5}|\*):[\w*.-]{1,60}:[\w*.-]{1,60}:(?P<secret>[^\s:\\\"']{4,200})(?=[ \t\"']*(?:$|\\|>|#))", re.MULTILINE
)
_HOST: Final = lazy_compile(r"[\w.*-]{1,100}\Z")
_JWK: Final = lazy_compile(r"[\"'](?:dp?|d?q|p|qi|k)[\"'][ \t]{0,3}:[ \t]{0,3}[\"'](?P<secret>[A-Za-z0-9_-]{20,4000})")

_LETTERS: Final = lazy_compile(r"[a-z]{2,}")


@cache
def _anchors() -> list[tuple[bytes, str, Place]]:
    """Return each anchor of the table with its longest run of letters and its place."""
    anchors = [(anchor, place) for place in _PLACES for anchor in place.anchors.split("|")]
    return [(max(_LETTERS.findall(anchor), key=len, default="").encode(), anchor, place) for anchor, place in anchors]


def placed_secrets(text: str, folded: str, words: bytes) -> list[Secret]:
    """Return the secrets that their place tells.

    `folded` is the text in lower case, of the same length, and `words` has each run of letters of it once.
    """
    found = [secret for run, anchor, place in _anchors() if run in words for secret in _at(text, folded, anchor, place)]
    if ":" in text:
        found += [
            (*line.span("secret"), "password")
            for line in _PGPASS.finditer(text)
            if (
                values.word if _HOST.match(text, text.rfind("\n", 0, line.start()) + 1, line.start()) else values.drawn
            )(line["secret"])
        ]
    if b"kty" in words:
        found += [(*key.span("secret"), "private_key") for key in _JWK.finditer(text) if values.random(key["secret"])]
    return found


def _at(text: str, folded: str, anchor: str, place: Place) -> Iterator[Secret]:
    at = folded.find(anchor)
    pattern = compiled(place.pattern, re.IGNORECASE) if at >= 0 else None
    while pattern and at >= 0:
        match = pattern.match(text, at)
        if match and place.fits(match["secret"]):
            yield (*match.span("secret"), place.kind)
        at = folded.find(anchor, at + len(anchor))
