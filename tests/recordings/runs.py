"""What the rules say of many runs: those of other tests, alone and joined at random, and each answer in many sizes."""

import json
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from mcp_reflect.analysis.assessment import read_assessment
from mcp_reflect.analysis.calls import Call, calls_of
from mcp_reflect.analysis.decisions import measures, others, write
from mcp_reflect.analysis.diagnose import diagnose, question
from mcp_reflect.analysis.known_failures import drops_quotes, forms_of
from mcp_reflect.analysis.markdown import read_insights
from mcp_reflect.analysis.reflector import judge, links, reflection_draft, score, strategy_draft
from mcp_reflect.analysis.related_calls import changes_between, mistyped, names_alike, same_intent
from mcp_reflect.analysis.text import clip, fitting, quote, sentence, shortened, trace_text
from mcp_reflect.analysis.tools import in_words
from mcp_reflect.analysis.transcripts import read_transcript
from mcp_reflect.errors import InputError
from mcp_reflect.models.common import Json, plain
from mcp_reflect.models.decision import Decision
from mcp_reflect.models.lesson import Source
from mcp_reflect.models.run import Cut, ErrorCategory, Event, EventType, Outcome, RunError, Trace
from tests.analysis import sessions, test_insights
from tests.analysis.runs import Run
from tests.analysis.test_assessment import CASES
from tests.analysis.test_failing_events import HARMLESS, PRINTED
from tests.analysis.test_lessons_of_rules import PROVED, UNPROVED

OUTPUTS = Path(__file__).parents[1] / "checkers/outputs"
COMPOSED = 160
SIZES = (20, 21, 39, 40, 41, 60, 61, 150, 151, 200, 300, 301, 400, 401, 600, 601, 800, 801, 1600, 1601, 4000, 4001)
"""Lengths of answers: round numbers, at which rules have their limits, and one more."""
LENGTHS = (20, 40, 60, 80, 81, 119, 120, 121, 140, 160, 161, 180, 200, 201, 220, 240, 300, 301, 400, 401, 500, 600, 900)
"""Lengths of other texts."""
NAMES = (
    "settings.toml", "setings.toml", "Settings.TOML", "settings-toml", "src/settings.toml", "src/a.py", "src/b.py",
    "a.py",
    "*.tsx", "*.jsx", "order-17", "order-18", "4379", "4397", "ab", "abc", "user_name", "user-name", "username",
    "usr_name",
    "configuration", "configuratoin", "confguration", "konfiguration", "'quoted'", "quoted", "test_a.py", "test_b.py",
    "a" * 79 + "b", "a" * 80 + "b", "a" * 81 + "b", "LAX", "SEA", "naïve", "naive", "",
)  # fmt: skip
COMMAND_LINES = (
    "git push", "git push origin main", "git  push 'origin' main", "git pull", "cd src && pytest -q", "pytest -q",
    "pytest",
    "pytest -q tests/test_a.py", "PYTHONPATH=src pytest -q", "sudo pytest -q", "python a.py --force", "python3 a.py",
    "python a.py", "npm install x", "npm install y", "echo 'a b'", "echo a b", "cat a.txt | wc -l", "(cd a; make)",
    "make a b c",
    "make 'a b' c", "make a\nmake b", "./run --month 11", "./run --month 12", "",
)  # fmt: skip
QUERIES = (
    "Mercury", "Mercury (planet)", "mercury", "the Mercury", "grey herons of Kiel", "herons of Kiel", "grey herons",
    "Kiel herons grey",
    "Venus", "a", "VIVA Media AG", "VIVA Plus",
)  # fmt: skip

_SAID = (
    (EventType.USER_FEEDBACK, "That's wrong, the total should be 30."),
    (EventType.USER_FEEDBACK, "Now do the same for the other shop, please."),
    (EventType.USER_FEEDBACK, "Too long and too formal. " + "It goes on and on " * 20),
    (EventType.LLM_CALL, "I think that I am done with the first part."),
    (EventType.LLM_CALL, "Thought: look.\nAction: Search\nAction Input: the harbour of Kiel"),
    (EventType.DECISION, "Action: Lookup[tonnage]"),
    (EventType.SYSTEM_EVENT, "Maximum number of steps (12) reached"),
    (EventType.ERROR_EVENT, "CUDA out of memory. Tried to allocate 2 GiB"),
    (EventType.OBSERVATION, "Nothing happens."),
)
_LOOPED = (
    Run().call("click", {"selector": "#buy"}, "Error: Timeout 30000ms exceeded while waiting for selector #buy"),
    Run().call("get_page", {"n": 3}, "the same page"),
    Run().call("get_page", {"n": 3}, "one page").call("get_page", {"n": 4}, "another page"),
    Run().text("Search[Kiel]", "Could not find [Kiel]. Similar: ['Kiel Canal', 'Kiel Week']").text("Lookup[a]", "No"),
    Run().call("search", {"query": "grey herons of Kiel"}, "No results found."),
    Run().call("click", {"selector": "#next"}, "ok"),
    Run().call("list_orders", {"limit": 1000}, "Error: limit must be at most 100").call("wait", {}, "done"),
    *(Run().call("search", {"query": f"heron {word} {'of the old harbour' * 4}"}, "[]") for word in "abcdef"),
)
_TOLD = (
    Run().call("store_lesson", {"mistake": "fetch.py without requests", "correction": "pip install requests"}, "ok"),
    Run().call("mcp__r__reflect", {"analysis": {"reflection": "git push: pull --rebase first"}}, "les_abcdefghijkl"),
)


def diagnoses() -> dict[str, Any]:
    """What is told of each run: findings, lessons, scores and the records that are stored."""
    runs = {f"proved {at}": run.events for at, (run, *_) in enumerate(PROVED)}
    runs |= {name: run.events for name, run in UNPROVED.items()}
    runs |= {f"looped {at} times {times}": run.events * times for at, run in enumerate(_LOOPED) for times in (1, 2, 3)}
    recording: dict[str, Any] = {}
    for at, (name, events) in enumerate(runs.items()):
        recording[name] = _diagnosis(_trace(events, [*Outcome][at % 5], None))
    pieces = [*runs.values(), *(run.events for run in _TOLD)]
    for number in range(COMPOSED):
        chance = random.Random(number)
        recording[f"composed {number}"] = _diagnosis(_composed(chance, pieces))
    return recording


def pairs() -> dict[str, Any]:
    """Which two names, and which two calls, are taken for one: each against each."""
    recording: dict[str, Any] = {}
    for one in NAMES:
        alike = [other for other in NAMES if other != one and names_alike(one, other)]
        typed = [other for other in NAMES if other != one and mistyped(one, other)]
        recording[f"name {one}"] = [alike, typed]
    calls: list[tuple[str, Json]] = [
        *(("bash", {"command": line}) for line in COMMAND_LINES),
        *(("read_file", {"path": name}) for name in NAMES[::2]),
        *(("search", {"query": query}) for query in QUERIES),
        *(("get", {"id": 5, "sort": name, "all": True}) for name in NAMES[:6]),
        *(("get", {"id": 6}), ("get", {"n": 5})),
    ]
    forms = [forms_of(tool, arguments) for tool, arguments in calls]
    for at, (tool, arguments) in enumerate(calls):
        same = [place for place, form in enumerate(forms) if form.exact == forms[at].exact and place != at]
        bare = [place for place, form in enumerate(forms) if form.bare == forms[at].bare and place != at]
        loose = [place for place, form in enumerate(forms) if form.loose == forms[at].loose and place != at]
        fewer = [place for place, form in enumerate(forms) if drops_quotes(forms[at], form)]
        meant: dict[str, list[int]] = {}
        for error in ("not found", "Error: bad option --force", "No results"):
            failed = Run().call(tool, arguments, error=error).events
            for place, (other, later) in enumerate(calls):
                if other != tool or place == at:
                    continue
                trace = _trace([*failed, *Run().call(other, later, "fine").events], Outcome.SUCCESS, None)
                before, after = calls_of(trace)
                for proved in (True, False):
                    if same_intent(before, after, proved=proved):
                        meant.setdefault(f"{error} {proved}", []).append(place)
        changes = [len(changes_between(arguments, other)) for _, other in calls[at : at + 4]]
        recording[f"call {at} {forms[at].head} {in_words(tool, arguments)}"] = [
            same,
            bare,
            loose,
            fewer,
            meant,
            changes,
        ]
    return recording


def sized() -> dict[str, Any]:
    """How texts of each size are shown: in sentences, in prompts, and in what is told of a run."""
    recording: dict[str, Any] = {}
    for size in LENGTHS:
        words = "".join(f"{number} words. " if number % 7 else f"the {number}th thing " for number in range(400))
        text = words[: size - 1] + "."
        shown = [clip(text), clip(text, size), quote(text, size), sentence(text, 160), shortened(text, 200)]
        recording[f"text {size}"] = [f"{len(part)} {part[:30]}|{part[-30:]}" for part in shown]
        recording[f"text {size}"].append(len(fitting([text, "x" * 20, text[:40]], 300)))
        run = (
            Run()
            .bash(f"./ship {text[:-8]}", f"Error: {text[7:]}")
            .bash(f"./ship --other {text[:-16]}", f"Error: {text[7:]}")
        )
        run = run.call("search", {"query": text}, "[]").call("search", {"query": f"{text[:-1]}!"}, "[]")
        run = run.says(EventType.USER_FEEDBACK, f"That's wrong. {text[14:]}").says(EventType.LLM_CALL, text)
        trace = _trace(run.call("edit_file", {"path": f"src/{text[:-8]}.py"}, "").events, Outcome.FAILURE, None)
        seen = diagnose(trace)
        told = [seen.summary, seen.strategy or "", *seen.open_points, *(item.text for item in seen.without_lesson)]
        recording[f"told {size}"] = [
            f"{len(part)} {part[:60]}|{part[-60:]}" for part in (*told, question(seen.open_points))
        ]
        for limit in (0, size, 4 * size, 12 * size):
            whole = trace_text(replace(trace, cut=Cut(events=1, characters=size)), limit)
            recording[f"told {size}"].append(f"{len(whole)} {whole[:60]}|{whole[-60:]}")
    return recording


def _trace(events: list[Event], outcome: Outcome, error: RunError | None) -> Trace:
    numbered = tuple(replace(event, id=f"e{at}") for at, event in enumerate(events, 1))
    return Trace(task="Do the task", outcome=outcome, events=numbered, error=error, task_type="coding", tags=("mine",))


def _composed(chance: random.Random, pieces: list[list[Event]]) -> Trace:
    events: list[Event] = []
    for _ in range(chance.randint(1, 5)):
        match chance.randrange(5):
            case 0 | 1:
                events += chance.choice(pieces)
            case 2:
                events += Run().call(*chance.choice(PRINTED)[:3]).events
            case 3:
                events += Run().call(*chance.choice(HARMLESS)).events
            case _:
                events += Run().says(*chance.choice(_SAID)).events
    messages = ("Deadline exceeded after 300 s", "the tests fail", "")
    categories = (ErrorCategory.CONFLICT, None, None)
    error = RunError(category=chance.choice(categories), message=chance.choice(messages))
    return _trace(events, chance.choice([*Outcome]), chance.choice((error, None, None)))


def _diagnosis(trace: Trace) -> dict[str, Any]:
    seen = diagnose(trace)
    judged, lessons, _ = judge(trace, seen, None, Source.RULES, thinker="rules", generated_at="", scope="")
    strategy = strategy_draft(trace, judged, Source.RULES)
    failures = [(item.event_id, item.category, item.signature, item.exact, item.worked) for item in seen.failures]
    recorded: dict[str, Any] = {
        "summary": seen.summary,
        "seen": f"{seen.category} {seen.first_failing_event} {seen.importance} {seen.confidence}",
        "calls": f"{seen.wasted} of {seen.calls} wasted",
        "cited": " ".join(seen.source_event_ids),
        "kinds": " ".join(finding.kind for finding in seen.findings),
        "strategy": seen.strategy,
        "strategy_importance": strategy and strategy.importance,
        "importance": reflection_draft(trace, judged, Source.RULES).importance,
        "lessons": [f"{item.text} {item.tags} {item.symptoms} {item.keywords}" for item in lessons],
        "proofs": [f"{item.failed_event_id} {item.worked_event_id} {item.also}" for item in seen.corrections],
        "surest": [item.confidence for item in seen.corrections],
        "failures": [" ".join(map(str, failure)) for failure in failures],
        "worked": " ".join(f"{item.exact[:4]}{item.bare[:4]}" for item in seen.worked),
        "evidence": [f"{name} {item.mistake}" for name, item in seen.evidence],
        "scores": {name: one.score for name, one in score(seen, None).items()},
        "links": len(links(seen, judged)),
        "question": question(seen.open_points),
    }  # fmt: skip
    return {name: value for name, value in recorded.items() if value}


def answers() -> dict[str, Any]:
    """The fault that is read in each answer of a tool: as it is, in longer texts, in JSON, with a code or a mark."""
    cases = [(tool, arguments, answer) for tool, arguments, answer, _ in PRINTED] + HARMLESS
    texts = [path.read_text("utf-8") for path in sorted(OUTPUTS.glob("*.txt"))]
    run: Json = {"command": "make check"}
    read: Json = {"path": "notes.txt"}
    cases += [("bash", run, text) for text in texts] + [("read_file", read, text) for text in texts[::4]]
    recording: dict[str, Any] = {}
    for at, (tool, arguments, answer) in enumerate(cases):
        faults: dict[str, str] = {}
        for name, call in _forms(tool, arguments, answer):
            fault = call.fault
            said = "worked" if fault is None else f"{fault.category} {'marked ' * fault.marked}{fault.headline[:70]}"
            faults[said] = f"{faults[said]}, {name}" if said in faults else name
        recording[f"{at} {tool}"] = faults
    return recording


def _forms(tool: str, arguments: Json, answer: str) -> Iterator[tuple[str, Call]]:
    def call(text: str, error: str | None = None, **facts: Json) -> Call:
        asked = Event(id="a", type=EventType.TOOL_CALL, tool=tool, arguments=arguments)
        answered = Event(id="b", type=EventType.TOOL_RESPONSE, tool=tool, content=text, error=error, metadata=facts)
        return calls_of(Trace(task="t", outcome=Outcome.FAILURE, events=(asked, answered)))[0]

    yield "alone", call(answer)
    yield "marked", call("", error=answer or "no")
    yield "an error", call(answer, is_error=True)
    for code in (0, 1, 2):
        yield f"exit {code}", call(answer, exit_code=code)
    for status in (200, 399, 400, 404, 599, 600):
        yield f"status {status}", call(answer, status=status)
    for form in (
        {"error": answer},
        {"message": answer, "success": False},
        {"output": answer, "exit_code": 1},
        [answer],
    ):
        yield json.dumps(form)[:9], call(json.dumps(form))
    for size in SIZES:
        if len(answer) < size:
            filled = f"{answer}\n{'and so on ' * 500}"[: size - 1].ljust(size, ".")
            yield f"{size} long", call(filled)
            yield f"{size} long, last", call(f"{filled[len(answer) + 1 :]}\n{answer}")


def decisions() -> dict[str, Any]:
    """The reflections that rules write on decisions, by action and by how its metrics stand to their marks."""
    metrics: list[dict[str, Json]] = [
        {"latency": 120, "accuracy": 0.9},
        {"latency": 120, "accuracy": 0.5, "cost": 3},
        {"latency_ms": 80, "accuracy": "85 %"},
        {"latency": -1, "accuracy": 1.01},
        {"latency": 0, "accuracy": 1},
        {"accuracy": {"before": 0.7, "after": 0.8}},
        {"latency": None, "rows": True},
        {},
    ]
    marks: list[dict[str, float]] = [{}, {"latency": 120, "accuracy": 0.9}, {"latency": 100}, {"accuracy": 0.8}]
    recording: dict[str, Any] = {}
    for action in ("keep", "kill", "marry", "scale"):
        for at, given in enumerate(metrics):
            for place, mark in enumerate(marks):
                before = marks[-place]
                written = write(
                    Decision(action=action, component="retriever"), measures(given, before, mark), others(given)
                )
                recording[f"{action} {at} {place}"] = [written.text, plain(written.assessment)]
                if action in ("keep", "scale"):
                    recording[f"{action} {at} {place} in sections"] = plain(written.insights)
    return recording


def texts() -> dict[str, Any]:
    """What is read in texts: the assessments and the insights of reflections."""
    recording: dict[str, Any] = {}
    for at, case in enumerate(CASES):
        pair = f"{case['text']} {CASES[at - 1]['text']}"
        whole = f"## Execution\n{case['text']}\n## Decision\n{CASES[at - 2]['text']}"
        for form, text in {"alone": case["text"], "two": pair, "headed": whole}.items():
            said = read_assessment(text)
            read = f"{said.decision_appropriate} {said.execution_effective} {said.confidence}"
            recording[f"{form} {at}"] = read
    for name in ("HASHES", "BOLD", "LABELS", "NUMBERED", "LEVELS"):
        recording[name] = plain(
            read_insights(f"Before.\n\n{getattr(test_insights, name)}\n\n# Other\n- x\n  - y\n\nEnd.")
        )
    return recording


def transcripts() -> dict[str, Any]:
    """The runs that are read in sessions of each form, whole and with a line that is cut."""
    recording: dict[str, Any] = {}
    for form, session in sessions.ALL.items():
        text = session()
        for name, sent in {"whole": text, "twice": text + text, "cut": text[:-40]}.items():
            try:
                found = read_transcript(sent)
            except InputError as error:
                recording[f"{form} {name}"] = str(error)
                continue
            recording[f"{form} {name}"] = {"bad": found.bad, "runs": [[place, run] for place, run in found.runs]}
    return recording
