"""What is noticed in a session: two calls and the line of the failure; usual work is not."""

from typing import Any

import pytest

from mcp_reflect.models.finding import Finding, FindingKind, FindingState, FoundCall, StoredFinding
from mcp_reflect.sessions.noticing import MOST_ASKS, due_ask
from mcp_reflect.sessions.session_calls import preference_in
from tests.sessions.asks import Episode, Step, asked_about, calls_of, episodes

MISSED = {
    *("swift-scheme", "mix-of-chain"),
    *("nix-experimental", "sed-macos", "xcode-destination", "kafka-topic"),
}
"""Sessions of which nothing is noticed today: one that starts to be is taken out."""

EPISODES = [
    episode for name in ("kept", "seen", "held", "later", "last") for episode in episodes(name)
]


def shell(command: str, answer: str = "", *, failed: bool = False) -> Step:
    return Step("Bash", {"command": command}, answer, failed)


@pytest.mark.parametrize("episode", EPISODES, ids=lambda episode: episode.name)
def test_a_session_is_asked_about_the_calls_that_were_hard_won_and_about_nothing_else(
    episode: Episode,
) -> None:
    pairs = [
        (found.failed.number, found.worked.number)
        for found in asked_about(episode.steps)
        if found.failed and found.worked
    ]
    if episode.kind != "hard" or episode.name in MISSED:
        assert pairs == []
    else:
        assert [pair for pair in pairs if pair[0] in episode.failed and pair[1] == episode.worked]


def test_a_finding_has_both_calls_whole_the_line_of_the_failure_and_its_exit_code() -> None:
    (found,) = asked_about(
        [
            shell(
                "./vault get teams/billing", "Exit code 3\nlooking …\nerror: denied", failed=True
            ),
            shell("./vault get /teams/billing/", "owner: Okafor"),
        ]
    )
    assert (found.kind, found.act) == (FindingKind.WORKED, "vault get")
    assert (found.line, found.exit_code) == ("error: denied", 3)
    assert found.failed == FoundCall(
        tool="Bash", arguments={"command": "./vault get teams/billing"}, number=1
    )
    assert found.worked == FoundCall(
        tool="Bash", arguments={"command": "./vault get /teams/billing/"}, number=2
    )


def test_the_line_of_a_check_that_turned_is_of_the_failure_and_not_that_it_is_not_done() -> None:
    (found,) = [
        one
        for one in asked_about(
            [
                shell("./loader load a.csv", "error: 3 rows rejected, column day", failed=True),
                shell("./loader check", "not done"),
                shell("./loader map day=date", "mapped"),
                shell("./loader check", "done"),
            ]
        )
        if one.kind is FindingKind.TURNED
    ]
    assert found.line == "error: 3 rows rejected, column day"


@pytest.mark.parametrize(
    ("text", "says_no"),
    [
        ("not done", True),
        ("0 rows", True),
        ("no tickets", True),
        ("0 errors, 0 warnings", False),
        ("nothing to commit, working tree clean", False),
        ("0 to destroy, 2 to change", False),
        ("Nobody failed", False),
        ("noch nicht erledigt", True),
        ("keine Fehler", False),
        ("pas encore terminé", True),
        ("aucune erreur", False),
        ("ningún resultado", True),
        ("sin errores", False),
        ("não concluído", True),
        ("nenhum erro", False),
        ("nessun risultato", True),
        ("nessun errore", False),
        ("nog niet klaar", True),
        ("geen fouten", False),
        ("未完了", True),
        ("エラーはありません", False),
        ("尚未完成", True),
        ("没有错误", False),
        ("Notiz gespeichert", False),
        ("未来の予定を保存しました", False),
    ],
)
def test_an_answer_says_no_where_there_is_nothing_and_not_where_nothing_is_wrong(
    text: str, says_no: bool
) -> None:
    (call,) = calls_of([shell("./tool look", text)])
    assert call.says_no is says_no


@pytest.mark.parametrize(
    ("refused", "no", "yes"),
    [
        ("abgelehnt: Regel 7", "nicht erledigt", "erledigt"),
        ("refusé : règle 7", "pas terminé", "terminé"),
        ("rechazado: regla 7", "no está listo", "listo"),
        ("rejeitado: regra 7", "não concluído", "concluído"),
        ("rifiutato: regola 7", "non fatto", "fatto"),
        ("geweigerd: regel 7", "niet klaar", "klaar"),
        ("拒否されました: 規則 7", "未完了", "完了"),
        ("被拒绝: 规则 7", "未完成", "完成"),
    ],
)
def test_the_line_of_a_failure_says_what_was_refused_in_other_languages_too(
    refused: str, no: str, yes: str
) -> None:
    (found,) = asked_about(
        [
            shell("./reg add a; ./reg check", f"Exit code 1\n{refused}\nA\n{no}", failed=True),
            shell("./reg add B; ./reg check", f"B\n{yes}"),
        ]
    )
    assert found.line == refused


@pytest.mark.parametrize(
    "wish",
    [
        "use pnpm here",
        "bitte nimm pnpm",
        "utilise pnpm",
        "usa pnpm",
        "nunca use npm",
        "gebruik pnpm",
        "pnpm を使って",
        "请使用 pnpm",
    ],
)
def test_what_a_person_wants_is_read_from_the_reason_of_a_refusal(wish: str) -> None:
    refusal = f"The user doesn't want to proceed. The user said: {wish}"
    assert preference_in(refusal) == wish
    assert preference_in(f"{refusal}?") == ""


def stored(act: str, kind: FindingKind = FindingKind.WORKED, **about: Any) -> StoredFinding:
    values: dict[str, Any] = {
        "id": act,
        "project": "p",
        "state": FindingState.OPEN,
        "session": "s",
        "sessions": 1,
    }
    values |= {"asked": 0, "lesson_id": None, "created_at": 0.0, **about}
    return StoredFinding(finding=Finding(kind=kind, act=act, thing=act, line="no"), **values)


def test_an_act_is_asked_about_once_and_its_programs_check_once_more_if_nobody_answered() -> None:
    asked = stored("vault seal", asked=1)
    assert due_ask([asked, stored("vault seal")]) is None
    assert due_ask([asked, other := stored("vault open")]) is other
    check = stored("vault check", FindingKind.TURNED)
    assert due_ask([asked, check]) is check
    answered = stored("vault seal", asked=1, state=FindingState.KEPT)
    assert due_ask([answered, check]) is None


def test_a_session_is_asked_three_times_at_most() -> None:
    asked = [stored(f"tool{number} go", asked=1) for number in range(MOST_ASKS)]
    assert due_ask([*asked, stored("other go")]) is None
    assert due_ask([*asked[1:], stored("other go")]) is not None


@pytest.mark.parametrize(
    ("error", "found"),
    [
        ("SyntaxError: '(' was never closed", 0),
        ("IndentationError: unexpected indent", 0),
        ("NameError: name 'perform_web_search' is not defined", 1),
    ],
)
def test_code_that_its_interpreter_could_not_read_teaches_nothing(error: str, found: int) -> None:
    wrong = Step(
        "execute_code", {"code": "print(perform_web_search('dog genome')"}, error, failed=True
    )
    code = "from functions import perform_web_search\nprint(perform_web_search('dog genome'))"
    assert len(asked_about([wrong, Step("execute_code", {"code": code}, "Result 1: …")])) == found


def test_the_line_of_a_failure_is_left_out_where_it_may_be_another_programs() -> None:
    answer = "Exit code 1\nerror TS2304: Cannot find name 'x'.\nunknown region"
    failed = shell("npx tsc -p .; ./shipq send --region eu 7", answer, failed=True)
    (found,) = asked_about([failed, shell("./shipq send --region eu-1 7", "sent")])
    assert (found.act, found.line) == ("shipq send", "")
    (found,) = asked_about(
        [
            shell("./shipq pack 7; ./shipq send --region eu 7", answer, failed=True),
            shell("./shipq send --region eu-1 7", "sent"),
        ]
    )
    assert found.line
