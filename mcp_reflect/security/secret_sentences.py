"""Secrets that sentences tell, in the languages that people write them in: "the password for the server is …"."""

import re
from collections.abc import Callable, Iterable
from typing import Final

from mcp_reflect.patterns import lazy_compile
from mcp_reflect.security.secret_values import (
    Barren,
    Place,
    alone,
    anything,
    chance,
    drawn,
    in_prose,
    is_reference,
    is_type,
    strange,
    word,
)

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
