"""Secrets that sentences tell: "the password for the server is …", in the languages that people write them in."""

import re
from collections.abc import Callable, Iterable
from typing import Final

from mcp_reflect.redaction.place import Place, chance, drawn, in_prose, word

_NOUNS: Final = (
    "password", "passwort", "passphrase", "passcode", "kennwort", "contraseña", "contrasena", "clave", "mot de passe",
    "senha", "palavra-passe", "parola", "wachtwoord", "hasło", "haslo", "lösenord", "adgangskode", "passord", "heslo",
    "jelszó", "пароль", "пароля", "şifre", "sifre", "salasana", "mật khẩu", "كلمة المرور", "كلمة السر", "पासवर्ड",
    "login code", "pw ", "pwd", "pass ",
)  # fmt: skip
_KEYS: Final = ("token", "api key", "access key", "secret key", "psk")  # whose values are longer than words
# What a language says between the name and the value, and the marks that do.
_IS: Final = re.compile(
    r"(?:(?<=[\s\])`])(?:is now|is|was|are|lautet|ist|war|est|es|era|è|é|e|är|er|jest|to|это|هي|هو|है)[ \t]{1,3}"
    r"|(?::|=|—|–|->|→)[ \t]{1,3}|[:=][ \t]{0,3}|\((?=[\"'«„“`]))",
    re.IGNORECASE,
)
_BARE: Final = re.compile(r"[`*]{0,2}(?P<secret>[^\s\"'«„“`,;\\]{5,100}?)(?=[.,;:!?)`*]{0,3}(?:\s|$|\\)|[,;])")
_ASSIGNED: Final = re.compile(r"(?P<secret>[^\s\"'«„“`,;\\]{5,100})")  # behind = nothing ends a sentence
_QUOTED: Final = re.compile(r"\\{0,7}[\"'«„“`](?P<secret>[^\n\"'»”`\\]{5,60})\\{0,7}[\"'»”“`]")
_TELLING: Final = re.compile(r"[0-9!@#$%^&*+?~]")
_WINDOW: Final = 150  # characters after the name in which the value is looked for
_WORDS: Final = 10  # between them


NOUNS: Final = frozenset((*_NOUNS, *_KEYS))


def told(text: str, folded: str, nouns: Iterable[str]) -> list[tuple[int, int, str]]:
    """Where a sentence tells the value of one of the nouns: start, end, kind; `folded` is the text's lower case."""
    found: list[tuple[int, int, str]] = []
    for noun in nouns:
        fits = chance if noun in _KEYS else in_prose
        at = folded.find(noun)
        while at >= 0:
            start = at + len(noun)
            line = text.find("\n", start, start + _WINDOW)
            end = line if line >= 0 else min(start + _WINDOW, len(text))
            if _TELLING.search(text, start, end) and (span := _told_between(text, start, end, fits)):
                found.append(span)
            at = folded.find(noun, start)
    return found


def _told_between(text: str, start: int, end: int, fits: Callable[[str], bool]) -> tuple[int, int, str] | None:
    for sign in _IS.finditer(text, start - 1, end):
        if text.count(" ", start, sign.start()) > _WORDS or any(
            mark in text[start : sign.start()] for mark in '.;(="{@'
        ):
            return None
        for pattern in (_QUOTED, _ASSIGNED if sign[0] == "=" else _BARE):
            value = pattern.match(text, sign.end(), end + 1)
            if value and fits(value["secret"]):
                return (*value.span("secret"), "password")
    return None


_GIVEN: Final = (
    Place(
        "password",
        (
            "password to",
            "passphrase to",
            "token to",
            "key to",
            "secret to",
            "pass to",
            "passwort auf",
            "kennwort auf",
        ),
        r"[\w ]{4,20}? (?:to|auf)[ \t]{1,2}[`\"']?(?P<secret>[^\s\\`\"',;]{5,200}?)(?=[.`\"',;]{0,2}(?:\s|$))",
        in_prose,
    ),
    Place(
        "token",
        ("token ", "api key ", "secret ", "access key "),
        r"[a-z]{3,6}(?: key)? [`\"']?(?P<secret>[A-Za-z0-9_-]{20,200})[`\"']?(?=[\s.,;)]|$)",
        drawn,
    ),
)
_FOREIGN: Final = (
    Place("password", ("contraseña", "contrasena", "mot de passe", "mot_de_passe", "senha", "parola", "wachtwoord",
                       "hasło", "haslo", "lösenord", "adgangskode", "passord", "heslo", "jelszó", "пароль", "şifre",
                       "passwort", "kennwort", "salasana", "كلمة المرور", "كلمة السر", "पासवर्ड", "mật khẩu"),
          r"[^\n:=.]{3,80}[:=][ \t]{0,3}[\"'`«„]?(?P<secret>[^\s\\\"'`«»,;]{5,100})", word),
    Place("password", ("パスワード", "密码", "密碼", "口令", "비밀번호", "암호", "暗証番号"),
          r"\w{2,5}?[^\n!-~]{0,12}(?:は|是|为|為|는|은|가|:|：|=)\s{0,2}[「“\"'『]?(?P<secret>[!-~]{5,100})", word),
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


def _is_seed(value: str) -> bool:
    words = value.replace(",", " ").split()
    return len(words) in (12, 15, 18, 21, 24) and len(_SMALL.intersection(words)) == 0 and len(set(words)) > 8


_SMALL: Final = frozenset(
    "the and for you your are was with that this from not must then when which have has use".split()
)


def _has_digits(value: str) -> bool:
    return all(re.search(r"\d", one) for one in re.split(r"[\s,]+", value.strip()))


_CODES: Final = (
        Place("seed_phrase", ("phrase", "seed", "mnemonic", "recovery words", "words"),
              r"[a-z]{4,8}[ _-]?\w{0,8}(?:\\{0,7}\\{0,7}[\"'])?(?: is| are)?[ \t]{0,2}[:=(]?\s{0,3}[\"'`]?(?P<secret>(?:[a-z]{3,8}[ ,]{1,2}){11,23}[a-z]{3,8})\b",
              _is_seed),
        Place("recovery_code", ("recovery code", "backup code", "scratch code", "wiederherstellungscode"),
              r"[\w-]{6,22}(?: code)?s?\b[^\n:]{0,60}:?\s{1,3}(?P<secret>(?:[0-9a-z]{4,10}(?:-[0-9a-z]{4,10}){0,3}[\s,]{1,3}){0,20}"
              r"(?=[a-z-]{0,9}\d)[0-9a-z]{4,10}(?:-[0-9a-z]{4,10}){0,3})\b", _has_digits),
        Place("pin", ("pin ", "pin:", "pin=", "pin-code", "pin code"),
              r"(?<![\w-])pin(?:[ -]?(?:code|number|nummer))?(?: is| ist| lautet| est)?[ \t]?[:=]?[ \t]?(?P<secret>\d{4,8})\b(?![.:]\d| ?[a-z]{0,3}px)",
              word),
        Place("code", ("verification code", "security code", "login code", "sms code", "2fa code", "mfa code", "otp code",
                       "one-time code", "one-time password", "auth code", "bestätigungscode", "cvv", "cvc"),
              r"[\w-]{3,16}(?: code| password)?(?: is| was| ist|:)?[ \t]{1,2}(?P<secret>\d{3}[ -]?\d{0,5})\b", word),
        Place("secret", ("shared secret", "pre-shared key", "community string", "wifi password", "wi-fi password", "wpa"),
              r"(?<!\w)[\w -]{3,18}?\b[^\n:=()]{0,50}[:=][ \t]{0,3}[\"'`]?(?P<secret>[^\s\\\"'`]{6,100})", word),
)  # fmt: skip

PROSE: Final = (*_GIVEN, *_FOREIGN, *_LOGINS, *_ASKED, *_CODES)
