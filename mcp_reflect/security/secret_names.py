"""Secrets by the name before them: in assignments of every language and format, and in sentences."""

import re
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from mcp_reflect.patterns import lazy_compile
from mcp_reflect.security import secret_values as values
from mcp_reflect.security.secret_defaults import default_of
from mcp_reflect.security.secret_values import START, Secret

Holds = Literal["password", "key", "any key", ""]
"""The secret that a name holds: a password may be any word, a key looks random; `key` alone may be one of a map."""

# Names, as words in lower case joined by underscores
_WORD: Final = lazy_compile(
    r"[A-Z]+(?![a-z])|[A-Z]?[a-zà-ÿłşğżźćęąś]+|(?:[^\W\d_A-Za-z]|[\u0900-\u097f])+"
)
_PASSWORD: Final = lazy_compile(
    r"(?:passw(?:or)?ds?|passphrase|pass_?phrase|pass_?word|passwort|kennwort|contrase[ñn]a|senha|пароль|пароля|密码|密碼|パスワード"
    r"|비밀번호|şifre(?:si)?|sifre|wachtwoord|has[łl]o|lösenord(?:et)?|adgangskode|kodeord|passord|heslo|jelszó|parola|口令|暗証番号"
    r"|암호|mật_khẩu|كلمة_المرور|كلمة_السر|पासवर्ड|salasana|requirepass|masterauth|palavra_passe|mot_de_passe|密码是"
    r"|(?:jwt|session|cookie)_?secret|(?:^|_|db|root|user|admin|mail|smtp|ftp|pg|mysql|bind|login|key|store|ssh)"
    r"(?:pass|pwd?|passcode|psk|contra|mdp|passe))$"
)
_KEY: Final = lazy_compile(
    r"(?:secret|token|credentials?|signature|cookie|mnemonic|pepper|[a-z]_?keys?|keybase|key_?data"
    r"|secret_(?:key_)?base|secret_?id|gossip_?encrypt|auth_?code|password_?salt|docker_?config_?json"
    r"|(?:^|_)(?:pat|sig|salt|auth|sid)|^(?:op|bw)_session(?:_\w+)?|authorization)$"
)
# Tokens that anybody may see, and keys that open nothing: of a table, a cache, a map
_OPEN: Final = lazy_compile(
    r"(?:(?:page|next|continuation|cursor|sync|cancel\w{0,20}|eos|bos|pad|unk|stop|public)_?tokens?|(?:existing|pull)_?secrets?"
    r"|(?:^|_)(?:the|a|this|that|your|my|each|public|pub|publishable|primary|foreign|trusted|web_socket|cache|sort|partition|range|hash|row"
    r"|idempotency|dedup\w{0,20}|object|s3|lookup|index|group|message|event|trace|build|store|site|host|map|dict|i18n"
    r"|translation|order|shard|file|blob|chunk|asset|commit|node|unique|query|search|bucket|registry|hot|short"
    r"|state|recv|item|data|project|issue|redis|config|feature|flag|env|locale|metric)_?keys?|^signingkey)$"
)
_SETTING: Final = lazy_compile(r"(?:^|_)(?:token|secret|password|apikey|api_key)_")
_OTHER: Final = frozenset(
    "id hash sha digest checksum url uri path file name arn ttl type header prefix format".split()
)


@lru_cache(maxsize=10_000)
def holds(name: str) -> Holds:
    """Return the secret that a name holds by its last words: `DB_PASSWORD`, `apiKey`, `x-auth-token`."""
    words = [part.lower() for part in _WORD.findall(name)]
    whole = "_".join(words)
    if not words or _OPEN.search(whole):
        return ""
    if _PASSWORD.search(whole):
        return "password"
    if _KEY.search(whole):
        return "key"
    if (
        name == name.upper() and _SETTING.search(whole) and words[-1] not in _OTHER
    ):  # `API_KEY_PROD`
        return "key"
    if whole in ("key", "encrypt"):
        return "any key"
    return ""


# The nouns of a secret in lower case; each name of one has such a noun in it
_NOUN: Final = (
    r"(?:p(?:ass|w|epper|(?:at|sk)(?![a-z]))|s(?:ecret|(?:ig|id|alt)(?![a-z])|ignature|ession(?:[_ ]?key|(?=_)))|token|c(?:red|ookie)"
    r"|key(?:s?(?![a-rt-z])|base|data)|auth|mnemonic|encrypt|dockerconfig)[\w-]{0,40}"
)
_LABEL: Final = lazy_compile(
    rf"(?:{_NOUN}[ \t])*(?P<noun>{_NOUN})"
)  # of nouns in a row the last one
_FOREIGN: Final = lazy_compile(
    r"(?P<key>clé (?:d['’])?api|clave (?:de )?api|api-schlüssel|chiave api|klucz api|chave (?:d[ae] )?api|ключ api|api-ключ|密钥|密鑰|apiキー"
    r"|api 키|jeton|api-nyckel|api-sleutel)"
    r"|(?P<password>(?:contraseña|contrasena|clave|mot[ _]de[ _]passe|senha|palavra-passe|parola|wachtwoord|has[łl](?:o|em)|lösenord|adgangskode|kodeord"
    r"|passord|hesl(?:o|em)|jelszó|парол(?:[ьяе]|ем)|[şs]ifre(?:si)?|salasana|mật khẩu|كلمة المرور|كلمة السر|पासवर्ड|kennwort|kennung"
    r"|zugangscode|codice|phrase secrète|phrase de passe|parola d['’]ordine|fras[ea] se[cg]ret[oa]|パスワード|密码|密碼|口令|비밀번호|암호|暗証番号|รหัสผ่าน|κωδικός|kata sandi|סיסמה|lozinka|geslo|лозинка|гасло|mdp)\w{0,20})"
)
CORES: Final = "pass pw pat psk pepper secret sig sid salt session token cred cookie key auth mnemonic encrypt dockerconfig".split()
"""Every English name of a secret has one of these runs of letters in it."""
FOREIGN_CORES: Final = (
    "contrasen clave passe senha parola wachtwoord haslo heslo heslem api jeton adgangskode kodeord passord sifre"
    " salasana kennwort kennung zugangscode codice phrase sandi frase lozinka geslo mdp"
).split()
"""And every other name in ASCII one of these."""
_QUOTE: Final = r"\"{3}|'{3}|[\"'`]|&quot;|&#(?:34|39|x22|x27);"
# What may stand between a name and its value
_SIGN: Final = lazy_compile(
    rf"(?P<close>{_QUOTE})?(?:\[\w{{0,6}}\]|\][\"']?)?"
    r"(?:"
    # the type of a variable, before its value in quotes
    r"(?:[ \t]?:[ \t]?(?:&(?:'\w{1,20} )?)?(?=[A-Za-z])|[ \t](?=string|str\b|char))[\w.<>\[\]?| ]{1,40}=[ \t]{0,3}(?=[\"'`])"
    # the same without its quotes, where something took them
    r"|[ \t]?:[ \t]?(?:str|string|SecretStr|bytes)[ \t]?=[ \t]{1,3}"
    # an assignment; of YAML also a tag, an anchor or a block before the value
    r"|[ \t]{0,8}(?::=|=>|={1,3}|:(?![:?+-])|<-)[ \t]{0,8}(?:(?:[brfuNL@]{1,2}|\[\]byte\(|Buffer\.from\(|bytes\()(?=[\"']))?"
    r"(?:(?:!![a-z]{2,6}|&\w{1,20})[ \t]{1,3})?(?:[|>][+-]?[ \t]{0,3}\r?\n[ \t]{1,40})?"
    r"|(?:,|:[ \t]?\{)?[ \t\r\n]{0,20}[\"']?(?:[vV]alue|content)[\"']?[ \t]{0,3}[:=][ \t]{0,3}"
    r"|,[ \t]{1,3}do:[ \t]{1,3}"
    r"|(?P<comma>(?<=[\"'`])\]?\)?(?:[ \t]{0,3},[ \t]{0,20}|\)?\.(?:type|fill|send_?keys|set_?value|press_?sequentially)\())(?=[\"'`])"
    r"|(?P<tag>(?:[ \t][\w:.-]{1,40}=[\"'][^\"'<>\n]{0,100}[\"']){0,3}>(?:<!\[CDATA\[)?)"
    r"|(?P<blank>[ \t]{1,3})"
    r"|[：＝]|[ \t]?(?:→|⇒|->)[ \t]?|%3[dD]|[.]{3,40}[ \t]?:[ \t]{1,3}|\*{0,2}:\*{1,2}[ \t]{1,3}"
    r"|(?P<line>(?<=[A-Za-z\"'\])}])[\])}:]{0,3}(?:\r?\n){1,2}[ \t>]{0,8})"
    r")"
    rf"(?P<open>{_QUOTE})?(?P<scheme>(?i:bearer|basic|digest|token|bot|ssws|api-?key|genie-?key|negotiate|splunk|sso-key),?[ \t]{{1,3}})?"
)
_VALUES: Final = {
    "environment": lazy_compile(r"(?:(?!,[A-Za-z_]{2,40}=)[^\s\"'\\]){1,4000}"),
    "colon": lazy_compile(r"[^\s\"',;)<>\]}\\]{1,4000}"),
    "other": lazy_compile(r"[^\s\"',;)&<>\]}\\]{1,4000}"),
}
_SHORTEST: Final = 4  # characters of a value
_LONGEST: Final = 4000
_LONGEST_MIXED: Final = 20  # characters of a name of mixed letters and digits
_ENVIRONMENT: Final = lazy_compile(r"[A-Z][A-Z0-9_]*$")
_LINE_ENDS: Final = lazy_compile(r"[\\\"'}\], \t]{0,40}(?:\r?\n|\\n|$|(?<=[ \t])(?:#|//|--)[ \t])")
_ARGUMENT_ENDS: Final = lazy_compile(r"[\"'`][ \t]{0,3}(?P<end>[,)\]])")
_FLAG: Final = lazy_compile(r"--\w|-[a-z]{4}")
_DRAWN: Final = lazy_compile(
    r"(?i)(?:secret|token|key)s?$"
)  # its value is drawn; that of `auth` may be a method
_PAIR: Final = lazy_compile(r"[A-Za-z_.-]{2,30}=[^=]")  # a cookie, or an argument
_CALL: Final = lazy_compile(r"[\w.:$>-]{0,80}[(\[]")


_COMPOUND: Final = lazy_compile(
    r"(?i)(?<![\w-])(?:api|access|secret|auth|service|master|encryption|signing|license|deploy|account)[ \t]\Z"
)


class _Name(NamedTuple):
    """A name in a text: where it begins and ends, the secret that it holds, and whether its noun is not English."""

    start: int
    end: int
    kind: Holds
    foreign: bool = False

    @property
    def is_pass(self) -> bool:
        """True for `pass` alone, which is mostly the verb."""
        return self.end - self.start == len("pass")


_BEFORE: Final = lazy_compile(r"[\w$-]{1,60}\Z")
_RUN: Final = lazy_compile(r"[^\s\"'\\`]{0,4000}")
_LONG_RUN: Final = 400  # characters behind a name without a blank or a quote
_MOST_LONG_RUNS: Final = 100  # in a text
_MOST_TOLD: Final = (
    300  # sentences about a name that are read in a text: more of them are there to stall
)


def named_secrets(text: str, folded: str, words: str) -> list[Secret]:
    """Return the values of secrets' names; the arguments are those of `placed_secrets`."""
    spans: list[Secret] = []
    done = long_runs = told = 0
    labels = [*_LABEL.finditer(folded)]
    if not text.isascii() or any(core in words for core in FOREIGN_CORES):
        labels = sorted(
            (*labels, *_FOREIGN.finditer(folded)),
            key=lambda label: label.start(label.lastgroup or 0),
        )
    for label in labels:
        at = label.start(label.lastgroup or 0)
        if at < done:
            continue
        name = _name(text, label, done)
        span = None
        run_end = _end_of_run(text, name)
        long_runs += run_end > name.end
        if long_runs > _MOST_LONG_RUNS and run_end > name.end:
            span = (name.end, run_end, "secret")
        elif name.kind:
            sign = _SIGN.match(text, name.end, name.end + 120)
            told += 1
            span = (
                (_assigned(text, name, sign) if sign else None)
                or (_told(text, name) if told <= _MOST_TOLD else None)
                or default_of(text, name.end, is_password=name.kind == "password")
            )
        if span:
            spans.append(span)
            done = span[1]
    return spans


def _end_of_run(text: str, name: _Name) -> int:
    """Return where a long run of signs behind a name ends, and where the name ends if the run is short.

    Names over and over in such runs are read again from each of them. No text of somebody's work has many: after some
    of them the whole run is cut, which is quick, and safe.
    """
    run = _RUN.match(text, name.end)
    end = run.end() if run else name.end
    if end - name.end > _LONG_RUN:
        return end
    return name.end


_OWN_ID: Final = lazy_compile(
    r"[a-z]{3,6}_[0-9a-z]{22}\b"
)  # of a record of the bank: its random part may spell a label


def _name(text: str, label: re.Match[str], done: int) -> _Name:
    start, end = label.span(label.lastgroup or 0)
    before = _BEFORE.search(text, max(start - 60, done), start) if start > done else None
    if before and _OWN_ID.match(text, before.start()):
        return _Name(start, end, "")
    if label.lastgroup != "noun":
        return _Name(start, end, "key" if label.lastgroup == "key" else "password", foreign=True)
    if before:
        start = before.start()
    elif compound := _COMPOUND.search(text, max(start - 20, done), start):
        start = compound.start()  # `api key`, where `key` alone may be one of a map
    marked = (
        text.startswith(START, start - len(START)) or text[start - 1 : start] == "!"
    )  # of ours, a tag of YAML
    encoded = end - start > _LONGEST_MIXED and values.is_mixed(
        text[start:end]
    )  # the end of a line of base64
    return _Name(start, end, "" if marked or encoded else holds(text[start:end]))


def _assigned(text: str, name: _Name, sign: re.Match[str]) -> Secret | None:
    if sign[0] == ":" and text[name.start - 1 : name.start] == ":":
        return None
    start = sign.end()
    environment = bool(_ENVIRONMENT.match(text[name.start : name.end])) and "=" in sign[0]
    form = _VALUES["environment" if environment else "colon" if sign[0] == ": " else "other"]
    end = text.find(sign["open"], start, start + _LONGEST) if sign["open"] else -1
    if end < 0:  # bare, or cut off by a limit
        value = form.match(text, start)
        if value is None or (
            sign["blank"] and value[0][-1] == "="
        ):  # `name="password" autocomplete=…`
            return None
        end = value.end()
    value = text[start:end]
    if (
        "\n" in value
        or len(value) < _SHORTEST
        or values.is_placeholder(value)
        or not _is_given(text, name, sign, value)
    ):
        return None
    return (
        start,
        end,
        "password" if name.kind == "password" else "authorization" if sign["scheme"] else "secret",
    )


def _is_given(text: str, name: _Name, sign: re.Match[str], value: str) -> bool:
    end = sign.end() + len(value)
    password = name.kind == "password"
    flag = bool(_FLAG.match(text, name.start)) and not sign["close"]
    if name.kind == "any key":
        return values.is_key(value)
    if sign["scheme"]:
        return values.credential(value)
    if sign["comma"]:  # the next argument of a call: `define("DB_PASSWORD", "…")`
        fits = values.is_random if not password else values.word if "(" in sign[0] else values.drawn
        return bool(_ARGUMENT_ENDS.match(text, end)) and fits(value)
    if sign["line"] or (sign["blank"] and not flag):  # side by side, as in prose
        ends = bool(sign["blank"] or _LINE_ENDS.match(text, end))
        drawn = not name.is_pass or (
            values.is_mixed(value) and values.is_mixed_case(value)
        )  # `pass FastRouter2 to it`
        return ends and drawn and values.alone(value) and not _PAIR.match(value)
    if _CALL.match(text, sign.end()) and not sign["open"]:
        return False
    if not password:
        drawn_by_person = values.is_password(value) and len(value) >= (8 if sign["open"] else 12)
        setting = values.is_setting(value) and not _DRAWN.search(text, name.start, name.end)
        names = values.is_reference(value) or setting or _PAIR.match(value) or " " in value
        return not names and (values.is_random(value) or drawn_by_person)
    if sign["open"]:
        return (
            "://" not in value
            and not values.is_folder(value)
            and not any(map(values.is_said, value.split()))
        )
    return _is_bare(text, name, sign, value, flag=flag)


def _is_bare(text: str, name: _Name, sign: re.Match[str], value: str, *, flag: bool) -> bool:
    end = sign.end() + len(value)
    if values.is_reference(value) and (
        "/" in value or not value[-1].isdigit()
    ):  # `dgXrb2.ug90` reads as an attribute
        return False
    if (
        values.is_password(value)
        or (len(value) >= 8 and values.is_mixed_case(value))
        or (value.isdigit() and len(value) >= 6)
    ):
        return True
    # A word of letters alone: of a connection, a tag, a flag, an environment, a file of settings
    if (
        values.is_said(value)
        or value.lower() == text[name.start : name.end].strip("-").lower()
        or value.isdigit()
    ):
        return False
    if sign["tag"] or sign[0] in (
        "=",
        ":=",
    ):  # `func(password=word)` names a variable: a text would have its quotes
        return len(value) >= 6 and text[end : end + 1] not in (")", ",", "(")
    ends = bool(_LINE_ENDS.match(text, end))
    return len(value) >= 8 and (flag or (":" in sign[0] and ends))


# Sentences: a noun, at most ten words, a verb or a sign, and the value
_IS: Final = lazy_compile(
    r"(?:(?<=[\s\])`])(?:is now|is|was|are|reads|stays|will be|(?:set|changed|reset) to|printed|returned|lautet|ist|war|heißt|heisst|bleibt"
    r"|(?:auf|à|para) |est|c'est|sera|reste|es|era|será|é|è|sarà|fica|rimane|chiama|nehmen wir|verwenden wir|we use|är|er|jest|to|on|este|je|là|adalah|olarak|είναι|היא|הוא|هي|هو)[ \t]{1,3}"
    r"(?:(?:now|jetzt|nun|wieder|maintenant|toujours|ahora|ora|adesso|agora|still|again|weiterhin|immer noch)[ \t])?"
    r"|(?:[=—–]|->|→|(?<= )\|)[ \t]{1,3}|[:=：→⇒][ \t]{0,3}|\((?=[\"'«„“`])|(?<=[^\x00-\x7f])(?:は|是|为|為|는|은|가|คือ)[ \t]{0,2}(?=[!-~「“『]))",
    re.IGNORECASE,
)
_QUOTED: Final = lazy_compile(
    r"[\"'«„“`「『][ \xa0]?(?P<secret>[^\n\"'»”`\\」』]{4,60}?)[ \xa0]?[\"'»”“`」』]"
)
_BARE: Final = lazy_compile(
    r"[`*]{0,2}[ \t]{0,2}[`*]{0,2}(?P<secret>[^\s\"'«„“`,;\\]{5,4000}?)(?=[.,;:!?)`*]{0,3}(?:\s|$|\\)|[,;])"
)
_PLAIN: Final = lazy_compile(  # a word that ends its clause
    r"[„“«\"'`]?(?P<secret>[^\W\d_][\w'-]{3,40})(?=[”\"'»`]?(?:[,;!]|\.(?:\s|$)|[ \t]{0,2}(?:\n|$)| (?:and|but|then|please|for now"
    r"|und|aber|bitte|et|mais|y|pero|e|ma|mas|ed|puis|luego|poi|depois|dann)\b))"
)
_NEXT: Final = lazy_compile(  # a word right behind the noun, and what goes on behind it
    r" [„“«\"'`]?(?P<secret>[^\W\d_][\w'#!%*+-]{3,40})(?=[”\"'»`]?(?:[,;!.]|[ \t]{0,2}(?:\n|$)| (?:on|at|in|to|for|and|auf|am|an|im|für|und"
    r"|sur|pour|dans|au|et|en|para|y|no|na|e|per|su|sul|nel|al)\b))"
)
_WITH: Final = lazy_compile(
    r"(?i)\b(?:with|using|use|enter|type|mit|avec|con|com|usa|inserisci)(?: (?:the|dem|das|le|la|a|o|your))? \Z"
)
_CHANGED: Final = lazy_compile(
    r"(?i)\b(?:chang|reset|set\b|geänder|gesetzt|cambi|alter|mud|impost)\w*[^\n.]{0,40}\Z"
)
_TO: Final = lazy_compile(
    r"[^\n.:=]{0,60}? (?:auf|en|in|a|à|para|to(?= [\w'-]+(?:[.,;!]|$))) [„“«\"'`]?(?P<secret>[^\W\d_][\w'-]{5,40})(?=[\s.,;!”\"'»`]|$)"
)
# Never stands between the noun and the value of a sentence
_APART: Final = lazy_compile(r"[.:;=&+\"{$<]|\[(?!None\])|\w\(|^@|fingerprint|\(\?")
_OTHER_NAME: Final = lazy_compile(r"[ \t][\w.-]+\Z")  # `password of db=…` gives a value to `db`
_OF: Final = lazy_compile(
    r"(?: (?:for|of|on|at) [\w.@-]+)?\s?\Z"
)  # behind `pass`; it is mostly a verb with an object
_WINDOW: Final = 150  # characters after the name
_MOST_WORDS: Final = 10  # before the value
_FIELD: Final = lazy_compile(r"[a-z]+(?:[_-][a-z]+)*$")
_STATED: Final = lazy_compile(  # by its ending: a participle, an adverb, an adjective
    r"(?i)(?:\w+(?:ed|ing|able|ible|ful|less|tory|ional|ly|isch|lich|bar|iert|sicher)|\w{5,}(?:[aiu]d[ao]|[aiu]t[ao]|ées?|és?)"
    r"|\w{5,}(?:i?vel|ível|ável|ente?|ori[ao]|oire)|ge\w{3,}t|ge\w{4,}en|(?:ver|ab|zurück)\w{3,}(?:t|en))$"
)


def _told(text: str, name: _Name) -> Secret | None:
    end = min(name.end + _WINDOW, len(text))
    end = text.find("\n", name.end, end) if "\n" in text[name.end : end] else end
    if name.kind == "password" and (span := _beside(text, name, end)):
        return span
    for sign in _IS.finditer(text, name.end - 1, end):
        between = text[name.end : sign.start()]
        if (
            between.count(" ") > _MOST_WORDS
            or _APART.search(between)
            or (name.is_pass and not _OF.match(between))
        ):
            return None
        moved = (
            sign[0].strip() in ("to", "on") and not name.foreign
        )  # `Pass the password to it`; it is Polish for `is`
        if moved and not _CHANGED.search(text, max(name.start - 60, 0), name.start):
            return None
        other = sign[0] == "=" and bool(_OTHER_NAME.search(between))
        for form in () if _CALL.match(text, sign.end(), end) else (_QUOTED, _BARE, _PLAIN):
            value = form.match(text, sign.end(), sign.end() + _LONGEST)
            if (
                value
                and _is_told(value["secret"], name, sign[0].strip(), form)
                and (not other or values.strange(value["secret"]))
            ):
                return (*value.span("secret"), "password")
    return None


def _beside(text: str, name: _Name, end: int) -> Secret | None:
    """Return the password in a sentence that says to log in with it, or that the password was changed to it."""
    for before, after in ((_WITH, _NEXT), (_CHANGED, _TO)):
        value = after.match(text, name.end, end)
        fits = value is not None and (
            values.in_prose(value["secret"]) or _is_plain(value["secret"])
        )
        if value and fits and before.search(text, max(name.start - 60, 0), name.start):
            return (*value.span("secret"), "password")
    return None


def _is_told(value: str, name: _Name, sign: str, form: re.Pattern[str]) -> bool:
    """Return whether a value that matches `form`, after `sign` in a sentence, is a secret."""
    if name.kind != "password":
        return form is not _PLAIN and (values.is_key if name.kind == "any key" else values.random)(
            value
        )
    if form is _PLAIN:
        return sign != "=" and _is_plain(value)
    words = value.split()
    if form is _QUOTED and 1 < len(words) <= 6:  # a passphrase
        return values.word(value) and not any(
            values.is_said(part) or values.is_state(part) for part in words
        )
    if values.in_prose(value) or (
        name.foreign and sign in (":", "=") and values.word(value) and not values.is_state(value)
    ):
        return True
    return (
        form is _QUOTED
        and len(value) >= 6
        and " " not in value
        and _is_plain(value)
        and not _FIELD.match(value)
    )


def _is_plain(value: str) -> bool:
    """True for a word that a sentence gives as the password: neither a state of one nor a word about secrets."""
    if not values.word(value) or values.is_reference(value) or values.is_state(value):
        return False
    return not _STATED.match(value)
