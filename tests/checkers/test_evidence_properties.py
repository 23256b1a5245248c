"""Outputs made up in many forms, each with true sentences about it and the same with one fact changed.

Each class of mistake has a floor of its own: the share of its sentences that is contradicted. Of the true sentences
hardly any may be.
"""

import json
import random
from collections.abc import Callable, Iterator
from typing import Final

import pytest

from mcp_reflect.checkers.base import Work
from mcp_reflect.checkers.evidence.checker import EvidenceChecker
from mcp_reflect.checkers.verify import verifier
from mcp_reflect.models.critique import Status, ToolResult

Table = dict[str, dict[str, int | str]]
"""A row for each name: two numbers and a state."""

_SUBJECTS: Final = (
    ("host", ("web-1", "web-2", "db-1", "cache-3"), ("requests", "errors"), ("running", "stopped")),
    ("region", ("Basel", "Geneva", "Lugano", "Bern"), ("orders", "returns"), ("open", "closed")),
    ("service", ("billing", "search", "mailer", "gateway"), ("latency_ms", "retries"), ("healthy", "down")),
)
Form = Callable[[str, Table], str]


def _aligned(subject: str, table: Table) -> str:
    rows = [[subject, *next(iter(table.values()))], *([name, *map(str, row.values())] for name, row in table.items())]
    return "\n".join("  ".join(cell.ljust(12) for cell in row).rstrip() for row in rows)


def _markdown(subject: str, table: Table) -> str:
    head = [subject, *next(iter(table.values()))]
    rows = [head, ["---"] * len(head), *([name, *map(str, row.values())] for name, row in table.items())]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def _csv(subject: str, table: Table) -> str:
    rows = [[subject, *next(iter(table.values()))], *([name, *map(str, row.values())] for name, row in table.items())]
    return "\n".join(",".join(row) for row in rows)


def _json(subject: str, table: Table) -> str:
    return json.dumps([{subject: name, **row} for name, row in table.items()])


def _pairs(subject: str, table: Table) -> str:
    lines = [f"{subject}={name} " + " ".join(f"{k}={v}" for k, v in row.items()) for name, row in table.items()]
    return "\n".join(lines)


def _json_lines(subject: str, table: Table) -> str:
    return "\n".join(json.dumps({subject: name, **row}) for name, row in table.items())


def _python(subject: str, table: Table) -> str:
    return repr([{subject: name, **row} for name, row in table.items()])


_FORMS: Final[dict[str, Form]] = {
    "aligned": _aligned, "markdown": _markdown, "csv": _csv, "json": _json, "pairs": _pairs,
    "json lines": _json_lines, "python": _python,
}  # fmt: skip


def _tables(count: int = 30) -> Iterator[tuple[str, Table, random.Random]]:
    for seed in range(count):
        chance = random.Random(seed)
        subject, names, columns, states = _SUBJECTS[seed % len(_SUBJECTS)]
        numbers = chance.sample(range(21, 4000), 2 * len(names))
        table: Table = {
            name: {columns[0]: numbers[2 * i], columns[1]: numbers[2 * i + 1], "status": chance.choice(states)}
            for i, name in enumerate(names)
        }
        table[names[0]]["status"], table[names[1]]["status"] = states
        yield subject, table, chance


Pair = tuple[str, str]
"""A true sentence and a false one."""


def _value(table: Table, chance: random.Random, other: Callable[[int, list[int]], int]) -> Pair:
    column = chance.choice(list(next(iter(table.values())))[:2])
    name = chance.choice(list(table))
    value = int(table[name][column])
    wrong = other(value, [int(row[column]) for each, row in table.items() if each != name])
    noun = column.removesuffix("_ms")
    unit = " ms" if column.endswith("_ms") else ""
    form = chance.choice(
        (
            "The {noun} of {name} is {value}.", "{name} has {value} {noun}.", "{name}: {noun} {value}.",
            "On {name} there were {value} {noun}.", "{name} shows a {noun} of {value}.",
        )
        if not unit
        else ("The {noun} of {name} is {value}.", "{name} has a {noun} of {value}.")
    )  # fmt: skip
    return (
        form.format(noun=noun, name=name, value=f"{value}{unit}"),
        form.format(noun=noun, name=name, value=f"{wrong}{unit}"),
    )


def _swapped_rows(table: Table, chance: random.Random) -> Pair:
    return _value(table, chance, lambda _, others: chance.choice(others))


def _other_digit(table: Table, chance: random.Random) -> Pair:
    return _value(table, chance, lambda value, _: value + 10 ** chance.randrange(len(str(value))) * (1 + value % 3))


def _off_by_ten(table: Table, chance: random.Random) -> Pair:
    return _value(table, chance, lambda value, _: value * 10)


def _extreme(table: Table, chance: random.Random) -> Pair:
    column = chance.choice(list(next(iter(table.values())))[:2])
    noun = column.removesuffix("_ms")
    order = sorted(table, key=lambda name: int(table[name][column]))
    word, right, wrong = chance.choice((("highest", order[-1], order[0]), ("lowest", order[0], order[1])))
    form = chance.choice(("{name} has the {word} {noun}.", "The {word} {noun} is on {name}."))
    return form.format(name=right, word=word, noun=noun), form.format(name=wrong, word=word, noun=noun)


def _compared(table: Table, chance: random.Random) -> Pair:
    column = chance.choice(list(next(iter(table.values())))[:2])
    noun = column.removesuffix("_ms")
    less, more = sorted(chance.sample(list(table), 2), key=lambda name: int(table[name][column]))
    form = "{} has a higher {} than {}."
    return form.format(more, noun, less), form.format(less, noun, more)


def _total(table: Table, chance: random.Random) -> Pair:
    column = chance.choice(list(next(iter(table.values())))[:2])
    total = sum(int(row[column]) for row in table.values())
    noun = column.removesuffix("_ms")
    return f"That is {total} {noun} in total.", f"That is {total + 1 + total // 50} {noun} in total."


def _state(table: Table, chance: random.Random) -> Pair:
    name = chance.choice(list(table))
    status = str(table[name]["status"])
    other = next(str(row["status"]) for row in table.values() if row["status"] != status)
    return f"{name} is {status}.", f"{name} is {other}."


_CLASSES: Final[dict[str, tuple[Callable[[Table, random.Random], Pair], float]]] = {
    "value of another row": (_swapped_rows, 0.9),
    "another digit": (_other_digit, 0.9),
    "off by ten": (_off_by_ten, 0.9),
    "extreme": (_extreme, 0.9),
    "comparison": (_compared, 0.9),
    "total": (_total, 0.9),
    "state": (_state, 0.9),
}


def contradicted(sentence: str, *outputs: str) -> bool:
    results = tuple(ToolResult(content=output, tool="report") for output in outputs)
    work = Work(goal="", steps=(sentence,), tool_results=results)
    return any(finding.status is Status.FAIL for finding in EvidenceChecker().check(work))


@pytest.mark.parametrize("mistake", _CLASSES)
@pytest.mark.parametrize("form", _FORMS)
def test_a_changed_fact_is_contradicted_and_a_true_one_is_not(form: str, mistake: str) -> None:
    make, least = _CLASSES[mistake]
    found, count = 0, 0
    alarms: list[str] = []
    for subject, table, chance in _tables():
        output = _FORMS[form](subject, table)
        right, wrong = make(table, chance)
        count += 1
        found += contradicted(wrong, output)
        if contradicted(right, output):
            alarms.append(right)
    assert len(alarms) <= 0.02 * count, alarms
    assert found >= least * count


@pytest.mark.parametrize("form", _FORMS)
def test_true_sentences_about_rows_are_supported(form: str) -> None:
    supported = [
        _supported(make(table, chance)[0], _FORMS[form](subject, table))
        for make, _ in _CLASSES.values()
        for subject, table, chance in _tables(15)
    ]
    assert sum(supported) >= 0.8 * len(supported)


def _supported(sentence: str, *outputs: str) -> bool:
    steps = (sentence,)
    results = tuple(ToolResult(content=output, tool="report") for output in outputs)
    verified = verifier(Work(goal="Report what came out.", steps=steps, tool_results=results))(steps)
    return verified.complete and not verified.failed


Told = tuple[str, str, tuple[str, ...]]
"""A true sentence, a false one, and the outputs that both are about."""


def _money(chance: random.Random) -> float:
    return round(chance.uniform(1_000, 9_999), 2)


def _named_pairs(chance: random.Random) -> Told:
    names = [f"Account {number:02}" for number in chance.sample(range(10, 99), 4)]
    rows = [(name, _money(chance)) for name in names]
    digits = list(f"{rows[2][1]:.2f}")
    wrong = next(
        "".join(swapped)
        for place in (5, 0, 1, 2)
        if (swapped := [*digits[:place], *reversed(digits[place : place + 2]), *digits[place + 2 :]]) != digits
        and "." not in digits[place : place + 2]
    )
    told = ", ".join(f"{name} ({value:,.2f})" for name, value in rows[:3])
    return told + ".", told.replace(f"{rows[2][1]:,.2f}", f"{float(wrong):,.2f}") + ".", (repr(rows),)


def _share_of_a_count(chance: random.Random) -> Told:
    whole, part = chance.randrange(1_200, 9_000), chance.randrange(20, 1_100)
    share = 100 * part / whole
    output = chance.choice(("imported {} of {}", "rows: {1}, imported: {0}", '{{"imported": {}, "rows": {}}}'))
    form = chance.choice(("{:,} of {:,} rows were imported ({:.1f} %).", "Imported {} of {} rows: {:.1f} %."))
    return form.format(part, whole, share), form.format(part, whole, share + 1.5), (output.format(part, whole),)


_TOLD: Final[dict[str, Callable[[random.Random], Told]]] = {
    "names with their number": _named_pairs,
    "a share of a count": _share_of_a_count,
}


@pytest.mark.parametrize("told", _TOLD)
def test_sentences_as_agents_write_them_are_decided(told: str) -> None:
    cases = [_TOLD[told](random.Random(seed)) for seed in range(30)]
    alarms = [right for right, _, outputs in cases if contradicted(right, *outputs)]
    missed = [wrong for _, wrong, outputs in cases if not _refused(wrong, *outputs)]
    supported = [_supported(right, *outputs) for right, _, outputs in cases]
    passed = [wrong for _, wrong, outputs in cases if _supported(wrong, *outputs)]
    assert not passed
    assert len(alarms) <= 0.02 * len(cases), alarms
    assert len(missed) <= 0.1 * len(cases), missed
    assert sum(supported) >= 0.8 * len(cases)


def _refused(sentence: str, *outputs: str) -> bool:
    steps = (sentence,)
    results = tuple(ToolResult(content=output, tool="report") for output in outputs)
    return bool(verifier(Work(goal="", steps=steps, tool_results=results))(steps).failed)
