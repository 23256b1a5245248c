"""Secrets by the name before them, in assignments of every language and format; sentences are read elsewhere."""

import re
from typing import Final

from mcp_reflect.patterns import lazy_compile
from mcp_reflect.security import secret_values as values
from mcp_reflect.security.reading_allowance import allowance_of_text
from mcp_reflect.security.secret_crowds import crowded_secrets, is_cut, most_names_of
from mcp_reflect.security.secret_defaults import default_of
from mcp_reflect.security.secret_formats import formatted_values
from mcp_reflect.security.secret_labels import (
    CALL,
    SecretName,
    is_strict,
    kind_of_name,
    labels_in,
    name_at,
    start_of,
)
from mcp_reflect.security.secret_sentences import (
    secret_ahead_of_name,
    secret_below_label,
    secret_in_sentence,
)
from mcp_reflect.security.secret_surroundings import Surroundings
from mcp_reflect.security.secret_values import Secret

_QUOTE: Final = r"\"{3}|'{3}|[\"'`]|&quot;|&#(?:34|39|x22|x27);"
# What may stand between a name and its value
_SIGN: Final = lazy_compile(
    rf"(?P<close>{_QUOTE})?(?:\[\w{{0,6}}\]|\][\"']?)?"
    r"(?:"
    # an object with a value: `: {"value": `
    r":[ \t]?\{[ \t\r\n]{0,20}[\"']?(?:[vV]alue|content)[\"']?[ \t]{0,3}[:=][ \t]{0,3}(?=[\"'])"
    # the type of a variable, before its value in quotes
    r"|(?:[ \t]?:[ \t]?(?:&(?:'\w{1,20} )?)?(?=[A-Za-z])|[ \t](?=string|str\b|char))[\w.<>\[\]?| ]{1,40}=[ \t]{0,3}(?=[\"'`])"
    # the same without its quotes, where something took them
    r"|[ \t]?:[ \t]?(?:str|string|SecretStr|bytes)[ \t]?=[ \t]{1,3}"
    # an assignment; of YAML also a tag, an anchor or a block before the value
    r"|[ \t]{0,8}(?::=|=>|={1,3}|:(?![:?+-])|<-)[ \t]{0,8}(?:(?:[brfuNL@]{1,2}|\[\]byte\(|Buffer\.from\(|bytes\()(?=[\"']))?"
    r"(?:(?:!![a-z]{2,6}|&\w{1,20})[ \t]{1,3})?(?:[|>][+-]?[ \t]{0,3}\r?\n[ \t]{1,40})?"
    # of YAML a value with a digit alone on the next line, of JSON the first one of a list
    r"(?:\r?\n[ \t]{1,40}(?=[^\s:]{0,200}\d)(?=[^\s:#\[{\"'-][^\s:]{3,200}[ \t]{0,3}(?:\r?\n|\Z))"
    r"|\[[ \t\r\n]{0,20}(?=[\"']))?"
    r"|,?[ \t\r\n]{0,20}[\"']?(?:[vV]alue|content)[\"']?[ \t]{0,3}[:=][ \t]{0,3}"
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
_ENVIRONMENT: Final = lazy_compile(r"[A-Z][A-Z0-9_]*$")
_LINE_ENDS: Final = lazy_compile(r"[\\\"'}\], \t]{0,40}(?:\r?\n|\\n|$|(?<=[ \t])(?:#|//|--)[ \t])")
_ARGUMENT_ENDS: Final = lazy_compile(r"[\"'`][ \t]{0,3}(?P<end>[,)\]])")
_FLAG: Final = lazy_compile(r"--\w|-[a-z]{4}")
_DRAWN: Final = lazy_compile(
    r"(?i)(?:secret|token|key)s?$"
)  # its value is drawn; that of `auth` may be a method
_IN_MAP: Final = lazy_compile(r"[{,] ?[\w-]{1,40}\.(?:[\w-]{1,40}\.){0,4}\Z")  # `{db.user=ada, db.`
_PAIR: Final = lazy_compile(r"[A-Za-z_.-]{2,30}=[^=]")  # a cookie, or an argument
_RUN: Final = lazy_compile(r"[^\s\"'\\`]{0,4000}")
_LONG_RUN: Final = 400  # characters behind a name without a blank or a quote
_MOST_LONG_RUNS: Final = 100  # in a text


_FEW: Final = 50  # names of a text, which are read without a look at all that stands in it


def named_secrets(text: str, folded: str, words: str) -> list[Secret]:
    """Return the values of secrets' names; the arguments are those of `placed_secrets`.

    So many names as fit a text of its length, and its call, are read in full. Behind them all that stands around a name
    is cut. A name of many that is quiet is passed over; it counts as little as if it were not there.
    """
    allowance = allowance_of_text()
    most_named = min(most_names_of(text), allowance.of_text)
    labels = labels_in(text, folded, words)
    surroundings = Surroundings(text) if len(labels) > min(_FEW, most_named) else None
    secrets: list[Secret] = []
    done = long_runs = named = 0
    for number, label in enumerate(labels):
        if start_of(label) < done or is_cut(text, label):
            continue
        name = name_at(text, label, done)
        if not name.kind or (surroundings and surroundings.is_quiet(name)):
            continue
        if named >= most_named and surroundings:
            secrets += crowded_secrets(text, labels[number:], done, surroundings)
            break
        run_end = _end_of_run(text, name)
        is_long_run = run_end > name.end
        long_runs += is_long_run
        if is_long_run and long_runs > _MOST_LONG_RUNS:
            found: list[Secret] = [(name.end, run_end, "secret")]
        else:
            named += 1
            found = values_of_name(text, name)
        if found:
            secrets += found
            done = found[-1][1]
    allowance.spend(named)
    return secrets


def values_of_name(text: str, name: SecretName) -> list[Secret]:
    """Return the values of a name: as its format has them, else the one word behind it."""
    formatted = formatted_values(text, name)
    if formatted:
        return formatted
    if name.kind == "many" or _is_changed_function(text, name):
        return []
    value = _value_of(text, name)
    if value is None:
        return []
    return [value]


def _is_changed_function(text: str, name: SecretName) -> bool:
    """True for the name of a function in a log of changes: `(cmd_get_passphrase): Ditto.`"""
    return "_" in name.text and text.startswith("):", name.end)


def _value_of(text: str, name: SecretName) -> Secret | None:
    """Return the value of a name: of an assignment, else of a sentence, else of a declaration with a default."""
    sign = _SIGN.match(text, name.end, name.end + 120)
    if sign and (span := _assigned(text, name, sign)):
        return span
    if span := secret_below_label(text, name):
        return span
    if span := secret_in_sentence(text, name):
        return span
    if span := secret_ahead_of_name(text, name):
        return span
    return default_of(text, name.end, is_password=name.kind == "password")


def _end_of_run(text: str, name: SecretName) -> int:
    """Return where a long run of signs behind a name ends, and where the name ends if the run is short.

    Names over and over in such runs are read again from each of them. No text of somebody's work has many: after some
    of them the whole run is cut, which is quick, and safe.
    """
    run = _RUN.match(text, name.end)
    if run and run.end() - name.end > _LONG_RUN:
        return run.end()
    return name.end


def _assigned(text: str, name: SecretName, sign: re.Match[str]) -> Secret | None:
    """Return the value behind a sign of assignment, if it is one that a secret can have."""
    if sign[0] == ":" and text[name.start - 1 : name.start] == ":":
        return None
    start = sign.end()
    end = -1
    if sign["open"]:
        end = text.find(sign["open"], start, start + _LONGEST)
    if end < 0:  # bare, or cut off by a limit
        bare = _form_of(text, name, sign).match(text, start)
        if bare is None:
            return None
        if sign["blank"] and bare[0][-1] == "=":  # `name="password" autocomplete=…`
            return None
        end = bare.end()
    value = text[start:end]
    if "\n" in value or len(value) < _SHORTEST or values.is_placeholder(value):
        return None
    if not _is_given(text, name, sign, value):
        return None
    return (start, end, _kind_of(name, sign))


def _form_of(text: str, name: SecretName, sign: re.Match[str]) -> re.Pattern[str]:
    """Return the pattern of a value without quotes, which ends sooner in code than in an environment."""
    if "=" in sign[0] and _ENVIRONMENT.match(text[name.start : name.end]):
        return _VALUES["environment"]
    if sign[0] == ": ":
        return _VALUES["colon"]
    return _VALUES["other"]


def _kind_of(name: SecretName, sign: re.Match[str]) -> str:
    if name.kind == "password":
        return "password"
    if sign["scheme"]:
        return "authorization"
    return "secret"


def _is_given(text: str, name: SecretName, sign: re.Match[str], value: str) -> bool:
    """Return whether a value is a secret: each kind of name and of assignment asks for other looks."""
    is_flag = bool(_FLAG.match(text, name.start)) and not sign["close"]
    if name.kind == "any key":
        return values.is_key(value)
    if sign["scheme"]:
        return values.credential(value)
    if sign["comma"]:
        return _is_argument(text, name, sign, value)
    if sign["line"] and ":" in sign[0] and name.kind == "password" and values.in_prose(value):
        return _LINE_ENDS.match(text, sign.end() + len(value)) is not None
    if sign["line"] or (sign["blank"] and not is_flag):
        return _is_side_by_side(text, name, sign, value)
    if _is_call(text, sign):
        return False
    if name.kind != "password":
        return _is_drawn_value(text, name, sign, value)
    if sign["open"]:
        is_path = "://" in value or values.is_folder(value) or values.is_label(value)
        return not is_path and not any(map(values.is_said, value.split()))
    return _is_bare(text, name, sign, value, flag=is_flag)


def _is_call(text: str, sign: re.Match[str]) -> bool:
    """True where a call or a look-up stands behind the sign: its value stands elsewhere."""
    return not sign["open"] and CALL.match(text, sign.end()) is not None


def _is_argument(text: str, name: SecretName, sign: re.Match[str], value: str) -> bool:
    """True for the next argument of a call: `define("DB_PASSWORD", "…")`."""
    if not _ARGUMENT_ENDS.match(text, sign.end() + len(value)):
        return False
    if name.is_pass and " " in value:
        return False  # a line of code behind the statement `pass`
    if name.kind != "password":
        return values.is_random(value)
    if "(" in sign[0]:
        return values.word(value)
    is_constant = "_" in name.text and name.text.isupper()
    if is_constant or _FILLS.search(text, max(0, name.start - 80), name.start):
        return values.is_own_word(value)
    return values.drawn(value)


_FILLS: Final = lazy_compile(  # a call that puts a value into a field, a property or the environment
    r"\.(?:fill|type|send_?[kK]eys|set_?[vV]alue|fill_in)\([\"'`][^\n]{0,20}\Z|fill_in \Z"
    r"|(?:[sS]etProperty|[sS]et_?[eE]nv|SetEnvironmentVariable|putenv|\.put|\.append|[aA]ddParam(?:eter)?|setParameter)\([\"'][\w.-]{0,60}\Z"
)


def _is_in_options(text: str, name: SecretName, end: int) -> bool:
    """True for a value among options that commas part: `username=ada,password=word,uid=1000`."""
    if text[end : end + 1] == "," and not _OPTION.match(text, end):
        return False
    return _OPTIONS.search(text, max(0, name.start - 80), name.start) is not None


_OPTION: Final = lazy_compile(r",[a-z_]{1,20}(?:=|,|\s|\Z)")
_OPTIONS: Final = lazy_compile(
    r"(?:^|[\s\"'])[a-z_]{1,20}(?:=[^\s,(\"']{1,60})?(?:,[a-z_]{1,20}(?:=[^\s,(\"']{1,60})?){0,8},\Z"
)


def _is_side_by_side(text: str, name: SecretName, sign: re.Match[str], value: str) -> bool:
    """True for a value behind a blank or on the next line, as in prose, where most words are no secrets."""
    if not sign["blank"] and not _LINE_ENDS.match(text, sign.end() + len(value)):
        return False
    is_drawn = values.is_mixed(value) and values.is_mixed_case(value)
    if name.is_pass and not is_drawn:  # `pass FastRouter2 to it`
        return False
    return values.alone(value) and not _PAIR.match(value)


def _is_drawn_value(text: str, name: SecretName, sign: re.Match[str], value: str) -> bool:
    """True for the value of a key or token, which is drawn: no reference, setting, pair or sentence."""
    if values.is_reference(value) or " " in value or _PAIR.match(value):
        return False
    if values.is_setting(value) and not _DRAWN.search(text, name.start, name.end):
        return False
    if values.is_random(value):
        return True
    if sign["open"] and is_strict(name) and len(value) >= 6 and values.is_own_word(value):
        return True
    least = 8 if sign["open"] or _FLAG.match(text, name.start) else 12  # a person may have drawn it
    return len(value) >= least and values.is_password(value)


def _is_bare(text: str, name: SecretName, sign: re.Match[str], value: str, *, flag: bool) -> bool:
    """True for a password without quotes, which may also be a name, a type or a word about passwords."""
    is_dotted = "/" in value or not value[-1].isdigit()  # `dgXrb2.ug90` reads as an attribute
    if is_dotted and values.is_reference(value):
        return _is_dotted_setting(text, name, sign, value)
    if values.is_type(value):
        return False
    if _has_the_looks(value):
        return True
    own_name = text[name.start : name.end].strip("-").replace("-", "_").lower()
    is_own_name = value.replace("-", "_").lower() == own_name
    is_variable = _VARIABLE.match(value) is not None and kind_of_name(value) != ""
    if (
        is_own_name
        or is_variable
        or value.isdigit()
        or values.is_said(value)
        or values.is_label(value)
    ):
        return False
    return _is_bare_word(text, name, sign, value, flag=flag)


_VARIABLE: Final = lazy_compile(r"[a-z]+(?:[A-Z][a-z]+)+$")  # `hashedPassword`


def _is_bare_word(
    text: str, name: SecretName, sign: re.Match[str], value: str, *, flag: bool
) -> bool:
    """True for a word of letters alone of a connection, a tag, a flag, an environment, a file of settings."""
    end = sign.end() + len(value)
    if _is_in_section(text, name, end):
        return True
    if sign["tag"] or sign[0] in ("=", ":="):
        # `func(password=word)` names a variable: a text would have its quotes
        if _is_in_options(text, name, end):
            return True
        if text[end : end + 1] == "," and _IN_MAP.search(text, max(0, name.start - 80), name.start):
            return len(value) >= 6
        return len(value) >= 6 and text[end : end + 1] not in (")", ",", "(")
    if flag:
        return len(value) >= 6
    if len(value) < 8:
        return False
    return ":" in sign[0] and _LINE_ENDS.match(text, end) is not None


def _is_dotted_setting(text: str, name: SecretName, sign: re.Match[str], value: str) -> bool:
    """True for words with dots between them that are the whole value of a line of YAML, where no code stands."""
    begins = sign[0] == ": " and _BEGINS_LINE.match(text, max(0, name.start - 41), name.start)
    if not begins or not _SETTING_ENDS.match(text, sign.end() + len(value)):
        return False
    return values.is_dotted_word(value)


_BEGINS_LINE: Final = lazy_compile(r"(?:\A|.{0,40}\n|\A[ \t]{0,40})[ \t]{0,40}(?:- )?\Z", re.DOTALL)
_SETTING_ENDS: Final = lazy_compile(r"[ \t\r]{0,8}(?:\n|\Z)")

_SECTION: Final = lazy_compile(r"^\[[\w. :/\"-]{1,60}\][ \t\r]*$", re.MULTILINE)
_SECTION_AT_MOST: Final = 600  # characters before a setting of it


def _is_in_section(text: str, name: SecretName, end: int) -> bool:
    """True for a line of its own under the head of a section, as in files of pip, AWS and MySQL."""
    start = text.rfind("\n", 0, name.start) + 1
    if text[start : name.start].strip() or not _LINE_ENDS.match(text, end):
        return False
    return _SECTION.search(text, max(0, start - _SECTION_AT_MOST), start) is not None


def _has_the_looks(value: str) -> bool:
    """True for a value that looks like a password whatever stands around it."""
    if values.is_password(value):
        return True
    if len(value) >= 8 and values.is_mixed_case(value):
        return True
    return len(value) >= 6 and value.isdigit()
