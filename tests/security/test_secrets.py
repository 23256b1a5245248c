"""The door against the cases that were written down before its rules: what goes, what stays, and that it is stable."""

import html
import json
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_reflect.clock import Clock
from mcp_reflect.security.normal_form import normalize
from mcp_reflect.security.redact import clean, clean_text, cuts
from mcp_reflect.security.secret_values import is_random
from tests.security.corpus import CASES, cases
from tests.security.disguise import DISGUISES, readable, survives

Case = dict[str, Any]
SECRETS = list(cases("secrets"))
LOOK_ALIKES = list(cases("lookalikes"))
# Cases of missed_secrets.jsonl that are still missed, each on its own, so that no other one regresses in silence.
OPEN_SECRETS = frozenset({"m032", "m060"})
OPEN_TOLD_SECRETS = frozenset({"t009", "t018", "t023", "t028", "t040", "t041"})
SECRET = "ghp" + "_aB3dE5gH7jK9mN1pQ3sT5vX7zA9cE1gI"
PIECES = [case["text"] for case in (*SECRETS, *LOOK_ALIKES)]
GLUE = st.sampled_from(
    ["", " ", "\n", '"', "\\", "=", ": ", "'", ";", "&", "//", "@", "password", "[redacted:"]
)


def test_secrets_are_cut_out_and_look_alikes_are_not() -> None:
    """What is asserted lies a little below what was measured; benchmarks/results.md has the figures."""
    missed = [case["id"] for case in SECRETS if survives(clean_text(case["text"]), case["secret"])]
    touched = [
        case["id"] for case in LOOK_ALIKES if not readable(clean_text(case["text"]), case["keep"])
    ]
    assert len(missed) <= 0.08 * len(SECRETS)
    assert len(touched) <= 0.02 * len(LOOK_ALIKES)


def test_of_sets_written_before_the_rules_nearly_all_secrets_go_and_look_alikes_stay() -> None:
    """The second half of each set was not looked at while the rules were made."""
    secrets, others = cases("missed_secrets"), cases("missed_lookalikes")
    missed = {case["id"] for case in secrets if survives(clean_text(case["text"]), case["secret"])}
    touched = {
        case["id"] for case in others if not readable(clean_text(case["text"]), case["keep"])
    }
    assert missed <= OPEN_SECRETS
    assert touched == set()


def test_sentences_that_tell_a_login_a_network_or_a_former_password_are_read() -> None:
    """Ten neighbors of each of four sentences, written before the rules; six of them are open.

    So are the look-alikes, ten each, but for five that were written when the rules stood.
    """
    secrets, others = cases("told_secrets"), cases("told_lookalikes")
    missed = {case["id"] for case in secrets if survives(clean_text(case["text"]), case["secret"])}
    touched = {
        case["id"] for case in others if not readable(clean_text(case["text"]), case["keep"])
    }
    assert missed <= OPEN_TOLD_SECRETS
    assert touched == set()


def test_what_agents_print_type_and_say_is_read_by_the_name_of_its_file_option_or_word() -> None:
    """Three sets, each read when the rules for the one before stood: 71 of 80 secrets were found, 57 of 60, 56 of 60.

    Of their look-alikes 1 of 82 was cut, 3 of 63, and none of 62. The first two were written before the rules, the third
    afterwards by somebody who knew them; neighbors of what was missed stand behind the second.
    """
    secrets, others = cases("printed_secrets"), cases("printed_lookalikes")
    missed = {case["id"] for case in secrets if survives(clean_text(case["text"]), case["secret"])}
    assert missed == {"ps089"}  # words with a dot between them are an attribute of an object
    assert [case["id"] for case in others if clean_text(case["text"]) != case["text"]] == []


def test_positional_arguments_tags_prompts_and_reversed_sentences_hold_no_secret() -> None:
    """This set was written before its rules, too: 49 of 60 were found then, and 1 look-alike of 60 was cut."""
    secrets, others = cases("later_secrets"), cases("later_lookalikes")
    missed = {case["id"] for case in secrets if survives(clean_text(case["text"]), case["secret"])}
    touched = {
        case["id"] for case in others if not readable(clean_text(case["text"]), case["keep"])
    }
    assert (missed, touched) == (set(), set())


@pytest.mark.parametrize(
    ("secrets", "look_alikes", "still_missed"),
    [
        ("format_secrets", "format_lookalikes", {"as033", "as094", "as104"}),
        ("unseen_secrets", "unseen_lookalikes", {"bs077", "bs119", "bs120"}),
        # of a set written last 90.9 % were found, and 3 of 40 look-alikes cut, whose words are known now
        ("last_secrets", "last_lookalikes", {"cs004", "cs020", "cs027", "cs035"}),
        # command lines, statements, calls and sentences with plain words: 60.6 % were found before their tables
        (
            "everyday_secrets",
            "everyday_lookalikes",
            {
                "ds111",
                "ds204",
                "ds208",
                "ds320",
                "ds326",
                "ds326b",
                "es047",
                "es049",
                "es062",
                "es064",
                "es070",
                "es076",
                "es113",
                "es135",
                "es156",
                "es157",
                "es164",
                "es188",
                "hs006",
                "hs022",
                "hs061",
                "hs062",
                "hs063",
                "hs065",
                "hs074",
                "hs074b",
            },
        ),
    ],
)
def test_values_are_read_as_their_format_has_them(
    secrets: str, look_alikes: str, still_missed: set[str]
) -> None:
    """Written before the rules; of the second set 69.5 % were found before them, 90.8 % with the rules for the first."""
    missed = {
        case["id"] for case in cases(secrets) if survives(clean_text(case["text"]), case["secret"])
    }
    touched = {
        case["id"]
        for case in cases(look_alikes)
        if not readable(clean_text(case["text"]), case["keep"])
    }
    assert missed <= still_missed
    assert touched == set()


def by_lines(prefix: str) -> Callable[[str], str]:
    """A wrap that puts the same words before each line of a text; `#` in them is the number of the line."""

    def wrap(text: str) -> str:
        lines = enumerate(text.split("\n"), start=10)
        return "\n".join(prefix.replace("#", str(number)) + line for number, line in lines)

    return wrap


WRAPS: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "behind words": lambda text: f"I ran it and saw: {text}",
    "read with numbers": by_lines("    #→"),
    "grep -n": by_lines("deploy/x.yaml:#:"),
    "grep -C": by_lines("x.yaml-#-"),
    "docker compose logs": by_lines("web_1  | "),
    "log with times": by_lines("2026-11-02T10:11:#.123Z "),
    "diff": by_lines("+"),
    "pytest": by_lines("E       "),
    "JSON": lambda text: json.dumps({"stdout": text, "code": 1}),
    "JSON in JSON": lambda text: json.dumps({"r": json.dumps({"stdout": text})}),
    "HTML": lambda text: f"<pre>{html.escape(text)}</pre>",
    "lines of a terminal": lambda text: text.replace("\n", "\r\n") + "\r\n",
    "in backticks": lambda text: f"Never run `{text}` here",
    "blanks that do not break": lambda text: text.replace(" ", "\u00a0"),
    "quoted in a shell": lambda text: "bash -c '" + text.replace("'", "'\\''") + "'",
}
CUT_IN_WRAPS = {"HTML": {"wl049"}}
STILL_KEPT = {"ws079"}  # a token that a terminal broke in two: its second half
KEPT_IN_WRAPS = {"in backticks": {"ws025"}, "HTML": {"ws036", "ws037"}}


@pytest.mark.parametrize("name", WRAPS)
def test_a_secret_is_found_in_what_programs_put_around_its_text(name: str) -> None:
    """Written by somebody who had not seen the rules: 290 of 4,400 were kept before those for wraps, 34 are now."""
    wrap = WRAPS[name]
    kept = {
        case["id"]
        for case in cases("wrapped_secrets")
        if survives(clean_text(wrap(case["text"])), case["secret"])
    }
    assert kept <= STILL_KEPT | KEPT_IN_WRAPS.get(name, set())


@pytest.mark.parametrize("name", WRAPS)
def test_what_only_looks_like_a_secret_stays_in_what_programs_put_around_it(name: str) -> None:
    wrap = WRAPS[name]
    cut = {
        case["id"]
        for case in cases("wrapped_lookalikes")
        if "[redacted" in clean_text(wrap(case["text"]))
    }
    assert cut <= CUT_IN_WRAPS.get(name, set())


def test_a_secret_is_found_that_a_program_has_escaped_quoted_or_numbered() -> None:
    secrets, others = cases("put_in_secrets"), cases("put_in_lookalikes")
    kept = [c["id"] for c in secrets if survives(clean_text(c["text"]), c["secret"])]
    cut = [c["id"] for c in others if "[redacted" in clean_text(c["text"])]
    assert (kept, cut) == ([], [])


@pytest.mark.parametrize("wrap", ["text", "json", "json in json", "value"])
def test_a_secret_is_found_however_its_text_is_wrapped(wrap: str) -> None:
    missed: list[str] = []
    for case in SECRETS:
        match wrap:
            case "text":
                cleaned = clean_text(f"The log said:\n{case['text']}\nand then it stopped.")
            case "json":
                cleaned = clean_text(json.dumps({"output": case["text"]}))
            case "json in json":
                cleaned = clean_text(
                    json.dumps({"arguments": json.dumps({"output": case["text"]})})
                )
            case _:
                cleaned = json.dumps(
                    clean({"events": [{"content": case["text"]}]}), ensure_ascii=False
                )
        if survives(cleaned, case["secret"]):
            missed.append(case["id"])
    assert len(missed) / len(SECRETS) <= 0.2


def test_the_secret_numbers_of_a_jwk_are_cut_out_and_other_values_of_short_names_are_not() -> None:
    number = "jpsQnnGQmL-YBIffH1136cspYG6-0iY7X8oRnLsYh3Q"
    key = {"kty": "EC", "crv": "P-256", "x": "of a point", "d": number}
    assert json.loads(clean_text(json.dumps(key))) == {**key, "d": "[redacted:private_key]"}
    assert clean_text(json.dumps({"chart": "bar", "d": number})) == json.dumps(
        {"chart": "bar", "d": number}
    )


@pytest.mark.parametrize(
    ("value", "random"),
    [
        ("4821903847561928", False),
        ("482190384756192a", True),
        ("48219038475619a", False),
        ("482190384 56192a", False),
        ("48a1-90b3-75c1-28-3d", True),
        ("48a1-90b3-75c1-2-+-d", False),
        ("aBcDeFgHiJkLmNoPqRsTuVwX", True),
        ("aBcDeFgHiJkLmNoPqRsTuVw", False),
        ("aBcDeFgHiJkL-mNoPqRsTuVwX", False),
        ("3f2504e0-4f89-11d3-9a0c-0305e82c3301", True),
    ],
)
def test_a_value_is_random_by_its_length_and_by_digits_among_its_letters(
    value: str, random: bool
) -> None:
    assert is_random(value) == random


def test_what_is_written_as_json_stays_json() -> None:
    for case in (*SECRETS, *LOOK_ALIKES):
        for value in (
            case["text"],
            {"a": [case["text"], case["text"]]},
            json.dumps({"x": case["text"]}),
        ):
            json.loads(clean_text(json.dumps(value)))


@pytest.mark.parametrize(
    ("structure", "secret"),
    [
        ({"name": "DB_PASSWORD", "value": "sunflower"}, "sunflower"),
        ({"key": "X-Api-Key", "value": "plainword"}, "plainword"),
        ({"headers": [["Authorization", "Basic c3VuZmxvd2Vy"]]}, "c3VuZmxvd2Vy"),
        ({"password": 31415926}, "31415926"),
        ({"credentials": {"password": ["sunflower"]}}, "sunflower"),
    ],
)
def test_a_secrets_name_and_its_value_may_stand_in_fields_of_their_own(
    structure: object, secret: str
) -> None:
    cleaned = json.dumps(clean(structure))
    assert secret not in cleaned
    assert "[redacted:" in cleaned


KEY = """-----BEGIN RSA PRIVATE KEY-----
MIIEpAIBAAKCAQEAq7BFUpkGp3xQzAAbb11
LhV2yGkTnW0Rj9sdf8sdf7sdf6sdf5sdf4
-----END RSA PRIVATE KEY-----""".split("\n")


@pytest.mark.parametrize(
    "value",
    [
        {"steps": ["Look at it", *KEY, "Done"]},
        [{"type": "observation", "content": line} for line in KEY],
        {"tool_results": [{"tool": "cat", "content": line, "exit_code": 0} for line in KEY]},
    ],
)
def test_a_key_with_an_item_a_line_is_cut_out(value: object) -> None:
    cleaned = json.dumps(clean(value))
    assert not any(line in cleaned for line in KEY)
    assert clean(clean(value)) == clean(value)


@pytest.mark.parametrize("name", DISGUISES)
def test_a_disguised_secret_is_cut_out_and_a_look_alike_is_not(name: str) -> None:
    """What is asserted lies a little below what was measured; benchmarks/results.md has the figures."""
    disguise = DISGUISES[name]
    secrets, others = SECRETS[::2], LOOK_ALIKES[::2]
    missed = sum(survives(clean_text(disguise(case["text"])), case["secret"]) for case in secrets)
    touched = sum(not readable(clean_text(disguise(case["text"])), case["keep"]) for case in others)
    assert missed <= 0.13 * len(secrets)
    assert touched <= 0.06 * len(others)


def _distinct_rows(count: int) -> object:
    return [{f"field {number}": "text"} for number in range(count // 20)]


def _lines_with_secrets(count: int) -> str:
    return "".join(f"password=hR7k{at}N9x! {SECRET}{at}\n" for at in range(count // 60))


def _taken_back(count: int) -> str:
    return "x" * (count // 2) + "\b" * (count // 2)


@pytest.mark.parametrize(
    "unit",
    [
        *(
            "=" * 80 + "\n",
            "*#" * 40 + "\n",
            "password " * 9 + "\n",
            '{"a": "b", "c": [1, 2]}\n',
            "AbC1" * 19 + "\n",
        ),
        *(
            "password=",
            "\x1b[1",
            "recovery code ab12-",
            "machine a login b ",
            "curl -u a:b ",
            "mysql -p ",
            "login(a, ",
            "a <<< b ",
            "user,password\n",
            "a:b@",
            "-----BEGIN PRIVATE KEY-----\n",
        ),
        *(_lines_with_secrets, _distinct_rows, _taken_back),
    ],
    ids=lambda unit: str(getattr(unit, "__name__", repr(unit))),
)
def test_eight_times_the_text_takes_no_more_than_some_eight_times_the_work(unit: Any) -> None:
    """What grows with the square of the text takes 64 times."""

    def seconds(size: int) -> float:
        text = unit * (size // len(unit)) if isinstance(unit, str) else unit(size)
        began = time.process_time()
        clean(text)
        return time.process_time() - began

    seconds(1_000)
    most = 24 * max(seconds(10_000), 0.004)
    # A second reading is for a machine that was busy at the first one.
    assert any(seconds(size) < most for size in (80_000, 80_001))


def test_a_text_and_its_clean_form_are_read_once() -> None:
    """A call meets the same texts at its entrance, in the index and on the disk."""
    texts = [f"case {place}\n{'the password is Kelp4Dune and ' * 600}" for place in range(10)]

    def seconds(value: list[str]) -> tuple[list[str], float]:
        began = time.process_time()
        cleaned = clean(value)
        return cleaned, time.process_time() - began

    cleaned, first = seconds(texts)
    _, again = seconds(texts)
    _, of_clean_texts = seconds([str(text) for text in cleaned])
    assert again < first / 4
    assert of_clean_texts < first / 4


@pytest.mark.parametrize(
    "text",
    [
        "/usr/local/bin/mysql -pkelpdune shop",
        "C:\\mysql\\bin\\mysql.exe -pkelpdune shop",
        "'mysql' -pkelpdune",
        "MYSQL -pkelpdune",
        '["mysql", "-pkelpdune"]',
        "echo it's done; say 'no' && mysql -pkelpdune",
    ],
)
def test_a_program_is_found_however_its_name_is_written(text: str) -> None:
    assert "kelpdune" not in clean_text(text)


@pytest.mark.parametrize(
    "unit", ["cd /srv && git push --force; ", "say 'no' && git push \\\" `x; "]
)
def test_many_commands_in_one_line_are_read_once(unit: str) -> None:
    """Sixteen times as many take some sixteen times the work; a look back from each of them takes far more."""

    def seconds(number: int, size: int) -> float:
        text = f"{number} {unit * (size // len(unit))}"  # one that was not read before
        began = time.thread_time()
        clean_text(text)
        return time.thread_time() - began

    of_few = min(seconds(number, 25_000) for number in range(4))
    # A second reading is for a machine that was busy at the first one.
    assert any(seconds(number, 400_000) < of_few * 28 for number in range(2))


@pytest.mark.parametrize(
    "filling",
    [
        "password ",
        "token: ",
        "the password is here and ",
        "api_key=none\n",
        '{"password": "Kelp4Dune7", "id": 12}, ',
    ],
)
@pytest.mark.parametrize(
    "telling",
    [
        "the password is Dune77Kelp.",
        "password: Dune77Kelp",
        "Dune77Kelp is the admin password",
        "Password:\n\n    Dune77Kelp",
        'variable "db_password" {\n type = string\n default = "Dune77Kelp"\n}',
        "use Dune77Kelp as the password",
        "the password was changed to Dune77Kelp.",
    ],
)
def test_no_secret_stays_because_many_names_stand_before_it(telling: str, filling: str) -> None:
    at_the_end = f"{filling * 400}\n{telling}\n"
    within = f"{at_the_end}{filling * 400}"
    for text in (at_the_end, within):
        cleaned = clean_text(text)
        assert "Dune77Kelp" not in cleaned
        assert clean_text(cleaned) == cleaned


def test_counts_of_tokens_stay_however_many_there_are() -> None:
    usage = '{"prompt_tokens": 12, "completion_tokens": 5, "total_tokens": 17}\n' * 1_000
    assert clean_text(usage) == usage


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mghp\x1b[0m", "ghp"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;https://a.example\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("N\bNA\bAM\bME\bE", "NAME"),
        ("I\ufff9g\ufffan\ufffbore", "Ignore"),
        ("tab\tand\nline", "tab\tand\nline"),
    ],
)
def test_the_normal_form_is_what_is_shown(text: str, shown: str) -> None:
    assert normalize(text) == shown
    assert normalize(normalize(text)) == shown


@pytest.mark.parametrize("levels", [1, 2, 3])
@pytest.mark.parametrize("name", ["hasło", "contraseña", "пароль", "密码", "password"])
def test_a_secret_in_ascii_json_is_found_by_a_foreign_name_and_json_stays_json(
    name: str, levels: int
) -> None:
    text: object = {name: "hR7kQ2vN9x!", "note": 'say "ł" & ü'}
    for _ in range(levels):
        text = json.dumps(text, ensure_ascii=True)
    assert isinstance(text, str)
    cleaned: object = clean_text(text)
    assert "hR7kQ2vN9x" not in str(cleaned)
    for _ in range(levels):
        cleaned = json.loads(str(cleaned))
    assert cleaned == {name: "[redacted:password]", "note": 'say "ł" & ü'}


def test_escaped_signs_stay_escaped_where_nothing_is_cut() -> None:
    text = r'{"note": "\u0142 and \u0022quoted\u0022", "token_type": "\u0062earer"}'
    assert clean_text(text) == text


@given(
    st.lists(
        st.tuples(st.sampled_from(PIECES), GLUE, st.integers(0, 40), st.text(max_size=3)),
        max_size=5,
    )
)
def test_cleaning_what_was_cleaned_changes_nothing(parts: list[tuple[str, str, int, str]]) -> None:
    text = "".join(f"{piece[at:]}{glue}{chance}" for piece, glue, at, chance in parts)
    once = clean_text(text)
    assert clean_text(once) == once


@given(
    st.sampled_from(range(len(SECRETS))),
    st.sampled_from(["The run failed there", "Retry with port 8080", "v1.2.3 ok (see log)"]),
)
def test_text_around_a_secret_stays_as_it_is(number: int, around: str) -> None:
    cleaned = clean_text(f"{around}\n{SECRETS[number]['text']}\n{around}")
    assert cleaned.startswith(f"{around}\n")
    assert cleaned.endswith(f"\n{around}")


@pytest.mark.parametrize(
    "text",
    [
        "postgres://USER:PASSWORD@HOST:5432/DBNAME",
        "-----BEGIN RSA PRIVATE KEY-----\n...\n-----END RSA PRIVATE KEY-----",
        "password_hash = hashlib.scrypt(pw, salt=salt, n=2**14, r=8, p=1)",
        "a token of that provider is found by ghp_[A-Za-z0-9]{36} alone",
        'password = "https://vault.example/reset"',
        'password: "enter your password"',
    ],
)
def test_what_only_shows_the_form_of_a_secret_stays(text: str) -> None:
    assert clean_text(text) == text


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("host db-1, password=hR7kQ2vN9x!", "host db-1, password=[redacted:password]"),
        (
            "Sent Basic c3VuZmxvd2VyOnN1bmZsb3dlcg== to it",
            "Sent Basic [redacted:bearer_token] to it",
        ),
        (
            "Authorization: Bearer sunflowersunflowersunflower1",
            "Authorization: Bearer [redacted:authorization]",
        ),
        (
            "She gave me the password of the server («hR7kQ2vN9x»)",
            "She gave me the password of the server («[redacted:password]»)",
        ),
    ],
)
def test_a_password_or_a_header_s_word_is_cut_with_its_last_sign_and_out_of_its_brackets(
    text: str, cleaned: str
) -> None:
    assert clean_text(text) == cleaned


@pytest.mark.parametrize("at", [99_000, 100_000, 119_000, 250_000])
def test_a_secret_is_cut_out_of_a_long_text_wherever_it_stands(at: int) -> None:
    key = "\n".join([KEY[0], *(f"{number:04}{'AbC1dEf2' * 7}" for number in range(60)), KEY[-1]])
    lines = "2026-01-02 10:11:12 job took 5 ms\n" * 12_000
    cleaned = clean_text(f"{lines[:at]}\nPASSWORD=hR7kQ2vN9x!\n{key}\n{lines[at:]}")
    assert "hR7kQ2vN9x" not in cleaned
    assert "AbC1dEf2" not in cleaned
    assert cleaned.count("[redacted:") == 2


@pytest.mark.parametrize("at", [0, 99_980, 100_000, 119_990, 199_990, 239_990])
def test_a_secret_is_cut_out_of_one_long_line_wherever_it_stands(at: int) -> None:
    line = "took five ms, " * 18_000
    cleaned = clean_text(f"{line[:at]} PASSWORD=hR7kQ2vN9x! {line[at:]}")
    assert "hR7kQ2vN9x" not in cleaned
    assert cleaned.count("[redacted:") == 1
    assert len(cleaned) > len(line)


def test_two_sentences_are_no_name_and_value() -> None:
    steps = {
        "steps": ["Ask for the password", "Run the tests"],
        "session_id": "0b7c2a94-6f0e-4d3a-9a51-7e1f2c3d4b5a",
    }
    assert clean(steps) == steps
    line = '{"thought": "See if they pass:"}, {"type": "tool_response", "session_id": "0b7c2a94-6f0e-4d3a-9a51-7e1f"}'
    assert clean_text(line) == line


def test_no_id_of_a_record_is_taken_for_the_name_of_a_secret() -> None:
    clock = Clock()
    for _ in range(300):
        ids = [
            clock.new_id("les"),
            "les_01m81hze8jpxe2mdp51c9s",
            clock.new_id("rec"),
            "les_01m81hzeg8g3hdn1nq05pw",
        ]
        assert clean({"ids": ids}) == {"ids": ids}
        assert clean_text(json.dumps({"ids": ids, "text": "Fed the quokka"})) == json.dumps(
            {"ids": ids, "text": "Fed the quokka"}
        )


def test_a_setting_in_a_correction_is_no_secret() -> None:
    """Half of them, the even lines, were set aside until the rules were done."""
    settings = (CASES / "settings.txt").read_text(encoding="utf-8").splitlines()
    assert len(settings) >= 200
    assert [clean_text(line) for line in settings] == settings


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"mistake": "Sent it", "correction": f"Send {SECRET}abcd"}, "github_token in correction"),
        ({"analysis": {"mistake": "PASSWORD=hR7kQ2vN9x!"}}, "password in analysis.mistake"),
        (
            {"events": [{"content": f"token {SECRET}{at}abc"} for at in range(9)]},
            "github_token in events.content",
        ),
        (
            dict.fromkeys("abcdefg", "password=hR7kQ2vN9x!"),
            ", ".join(f"password in {n}" for n in "abcde") + ", 2 more",
        ),
        ({"mistake": "password=[redacted:password]"}, ""),
    ],
)
def test_what_is_cut_is_named_by_kind_and_place(value: object, said: str) -> None:
    assert cuts(value, clean(value)) == said


@pytest.mark.parametrize(
    "text",
    [
        SECRET.replace("_", "\\x5f"),
        f"{SECRET[:18]}<b>{SECRET[18:]}</b>",
        f'{SECRET[:9]}<em class="hit">{SECRET[9:20]}</em>{SECRET[20:]}',
    ],
)
def test_a_secret_with_an_escape_or_a_highlight_in_it_is_found(text: str) -> None:
    assert SECRET[-12:] not in clean_text(f"token: it printed {text} and went on")


def test_highlights_around_plain_words_stay() -> None:
    text = "a <b>bold</b> word, <code>key_of_map</code>, and C:\\x86\\file"
    assert clean_text(text) == text


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("password:\n  Hq7pLs92kd", "Hq7pLs92kd"),
        ("db:\n  password:\r\n    Hq7pLs92kd\r\n  user: ada", "Hq7pLs92kd"),
        ('"password": ["Hq7!pLs92kd"]', "Hq7!pLs92kd"),
        ('{"password": [\n  "Hq7!pLs92kd"\n]}', "Hq7!pLs92kd"),
        ("token=\u201cXk9vQ2mT7pLw4Rz8\u201d", "Xk9vQ2mT7pLw4Rz8"),
    ],
)
def test_a_value_on_the_next_line_in_a_list_or_in_curly_quotes_goes(text: str, secret: str) -> None:
    assert secret not in clean_text(text)


@pytest.mark.parametrize(
    "text",
    [
        "password:\n  type: string",
        "password:\n  minLength",
        "token:\n  - name1",
        '"password": ["required", "min:8"]',
        '"tokens": ["a1", "b2"]',
    ],
)
def test_a_schema_below_the_name_of_a_secret_stays(text: str) -> None:
    assert clean_text(text) == text


@pytest.mark.parametrize(
    ("kind", "token"),
    [
        ("azure_key", "q8" * 20 + "Zt" * 18 + "AZDO" + "p3Wx"),
        ("azure_key", "c5Kw" * 19 + "+ASt" + "b7Rw9A" + "=="),
        ("salesforce_token", "00D5g00000Kx1Lm!AQ" + "x7Pq" * 22),
        (
            "rapidapi_key",
            "0a1b2c3d4e" + "msh" + "5f6a7b8c9d0e1f2" + "p1" + "3a4b5c" + "jsn" + "6d7e8f9a0b1c",
        ),
        ("clickup_token", "pk_92070741_" + "N5S7S333H9MTF4BS3E62RYNNEFJ7QXI6"),
        ("akamai_token", "akab-262lba53p23l4zge-iw1xf266ccifu6fd"),
        ("rancher_token", "token-6yibe:" + "hmi5skoew7" * 5 + "dx29"),
        ("token", "vk1.a." + "oNPcb7daK" * 20),
        ("token", "os_v2_app_" + "vfz3zfkkib3j4w" * 6),
    ],
)
def test_a_token_of_a_known_provider_is_found_without_a_name(kind: str, token: str) -> None:
    assert clean_text(f"got {token} from the page") == f"got [redacted:{kind}] from the page"
