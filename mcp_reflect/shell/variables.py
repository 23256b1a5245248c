"""What variables are while a script is read: known, one of several values, or something that nobody can know.

A value is known only where each way through the script leads to the same one. Where ways meet again (behind an `if`, a
loop, `&&`), a variable that differs has *candidates*: `possible` gives them to who asks what may run.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice, product
from typing import Final

from mcp_reflect.patterns import lazy_compile

SPLIT: Final = "\ufdd0"
"""Where a list, or an expansion without quotes, is cut into words; a character of no text."""

MOST_CANDIDATES: Final = 16
"""Values that a variable may have; of more, the first are kept."""

_MOST_VALUE: Final = 4_000  # characters of a value that is kept
_MOST_DIGITS: Final = 4  # of the number of a list's word
_BLANKS: Final = " \t\n"
_MOST_NAMED_ARGUMENTS: Final = 9
_NEVER_KNOWN: Final = frozenset(
    "RANDOM SRANDOM SECONDS PWD OLDPWD LINENO BASHPID EPOCHSECONDS EPOCHREALTIME REPLY OPTARG OPTIND PIPESTATUS "
    "BASH_COMMAND FUNCNAME DIRSTACK _".split()
)
_IN_WORKING_FOLDER: Final = lazy_compile(r"(?:\$PWD|\$\{PWD\}|\$\(pwd\)|`pwd`)(?:/[\w./@+-]*)?")
ARGUMENTS: Final = "@"
"""The name of the list of arguments."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a command; not known where it holds a value that the text does not tell."""

    text: str
    is_known: bool = True


@dataclass(frozen=True, slots=True)
class Value:
    """What a variable is: its text if that is known, else None and its candidates.

    The candidates are texts that it may have; it may also have another one. `Value("a")` is known to be "a",
    `Value(None, ("a", "b"))` may be either, and `Value(None)` anything.

    `in_working_folder` is a path as it is written, `$PWD/web`, as long as that names what it did: up to the next `cd`.
    """

    text: str | None
    candidates: tuple[str, ...] = ()
    in_working_folder: str = ""

    @property
    def doubted(self) -> "Value":
        """What the variable is after something that may have changed it: its text is one candidate."""
        return Value(None, _texts(self))

    def or_else(self, other: "Value") -> "Value":
        """Return what a variable is that has this value or the other: of "a" and "b" both are candidates."""
        if self == other:
            return self
        both = dict.fromkeys((*_texts(self), *_texts(other)))
        return Value(None, tuple(both)[:MOST_CANDIDATES])


_UNKNOWN: Final = Value(None)


def _texts(value: Value) -> tuple[str, ...]:
    """Return the texts that a variable may have: its own, or its candidates."""
    if value.text is None:
        return value.candidates
    return (value.text,)


@dataclass(slots=True)
class Variables:
    """The variables of a shell at one place of a script. One that is not named here may be set from outside.

    A list `a` has its words under the name `a[@]`, divided by SPLIT. To *doubt* a variable is to make its text a mere
    candidate, to *forget* it is to have no idea of it.
    """

    values: dict[str, Value] = field(default_factory=dict[str, Value])
    exported: set[str] = field(default_factory=set[str])
    exports_all: bool = False
    splits_otherwise: bool = False  # `IFS` was set
    # Names of which the value is not what is assigned, as by `declare -i`: numbers, lower case.
    converted: set[str] = field(default_factory=set[str])
    # Names that were asked for since this was cleared, and of which only candidates are known.
    names_with_candidates: dict[str, None] = field(default_factory=dict[str, None])

    def known(self, name: str) -> str | None:
        """Return the text of a variable if it is known, else None.

        A variable with candidates is noted in `names_with_candidates`: whoever asked may look at each of them.
        """
        value = self.values.get(name)
        if value is None and "[" in name:
            return self._element(name)
        if value is None:
            return _BLANKS if name == "IFS" else None
        if value.text is None and value.candidates:
            self.names_with_candidates[name] = None
        return value.text

    def in_working_folder(self, name: str) -> str:
        """Return the path in the folder of the shell that a variable is, as it is written; empty for none."""
        return self.values.get(name, _UNKNOWN).in_working_folder

    def change_folder(self) -> None:
        """Note `cd`: what was a path in the folder of the shell is one in another folder."""
        for name, value in self.values.items():
            if value.in_working_folder:
                self.values[name] = value.doubted

    def _element(self, name: str) -> str | None:
        """Return a word of a list by its number, such as `a[1]`: empty behind its end, None where it is not known."""
        list_name, _, number = name.rstrip("]").partition("[")
        words = self.values.get(f"{list_name}[@]", _UNKNOWN).text
        if words is None or not number.isdecimal() or len(number) > _MOST_DIGITS:
            return None
        return "".join(words.split(SPLIT)[int(number) : int(number) + 1])

    def assign_element(self, name: str, word: Word) -> None:
        """Note `a[0]=x`. Nothing is known of the list behind it, as that `a` had other words.

        The first word of a list that was never set is a candidate for the whole.
        """
        list_name, _, number = name.rstrip("]").partition("[")
        former = self.values.get(f"{list_name}[@]", self.values.get(list_name))
        self.forget(list_name)
        if number == "0" and word.is_known and former is None:
            self.values[f"{list_name}[@]"] = Value(None, (word.text,))
            self.values[name] = Value(None, (word.text,))

    def assign(self, name: str, words: Sequence[Word], *, is_list: bool = False) -> None:
        """Note an assignment of one word, `x=a`, or of a list, `x=(a b)`, whose first word is then the value of `$x`."""
        if name == "IFS":
            self.splits_otherwise = True
        self.values[name] = _value_of(name, words[:1] or (Word(""),))
        self.values.pop(f"{name}[0]", None)
        if is_list:
            self.values[f"{name}[@]"] = _value_of(name, words)
        elif f"{name}[@]" in self.values:
            self.forget(f"{name}[@]")
        if self.exports_all:
            self.exported.add(name)
        if name in self.converted:
            self.forget(name)

    def convert(self, name: str) -> None:
        """Note `declare -i x`: what is assigned to the variable is not the value that it gets, now or later."""
        self.converted.add(name)
        self.forget(name)

    def assign_any(self, name: str, words: Sequence[Word]) -> None:
        """Note that a variable becomes one of some words, as in `for x in a b`."""
        texts = dict.fromkeys(word.text for word in words if word.is_known)
        self.values[name] = Value(None, tuple(texts)[:MOST_CANDIDATES])

    def append(self, name: str, words: Sequence[Word], *, is_list: bool) -> None:
        """Note `x+=y` and `x+=(y z)`: the text grows by a text, or the list by words."""
        key = name
        if is_list:
            key = f"{name}[@]"
        former = self.values.get(key, _UNKNOWN)
        added = _value_of(name, words)
        is_unknown = former.text is None or added.text is None
        if is_unknown or name in self.converted:
            self.doubt(name)
            return
        parts = [former.text or "", added.text or ""]
        text = "".join(parts)
        if is_list:
            text = SPLIT.join(filter(None, parts))
        if len(text) > _MOST_VALUE:
            self.values[key] = _UNKNOWN
        else:
            self.values[key] = Value(text)

    def set_arguments(self, words: Sequence[Word]) -> None:
        """Note the arguments of a script or a function."""
        self.values[ARGUMENTS] = _value_of(ARGUMENTS, words)
        for number in range(1, _MOST_NAMED_ARGUMENTS + 1):
            self.values[str(number)] = _value_of("", words[number - 1 : number])

    def shift(self, count: int) -> None:
        """Note `shift 2`: the first `count` arguments are gone. Where the arguments are not known, they stay candidates."""
        listed = self.values.get(ARGUMENTS, _UNKNOWN).text
        if listed is None:
            self.doubt_arguments()
            return
        words = [Word(word) for word in listed.split(SPLIT) if listed]
        self.set_arguments(words[count:])

    def arguments(self) -> dict[str, Value]:
        """Return the arguments, to be restored after a call of a function."""
        return {name: value for name, value in self.values.items() if _is_argument(name)}

    def restore_arguments(self, arguments: dict[str, Value]) -> None:
        """Set the arguments to what they were before a call."""
        for name in [name for name in self.values if _is_argument(name)]:
            del self.values[name]
        self.values.update(arguments)

    def doubt_arguments(self) -> None:
        """Note that the arguments may have been changed."""
        for name in [name for name in self.values if _is_argument(name)]:
            self.values[name] = self.values[name].doubted

    def doubt(self, name: str) -> None:
        """Note that a variable may have been set to something else."""
        for key in (name, f"{name}[@]"):
            if key in self.values:
                self.values[key] = self.values[key].doubted

    def doubt_all(self) -> None:
        """Note that any variable may have been set: by a file that is sourced, by a text that nobody knows."""
        for name, value in self.values.items():
            self.values[name] = value.doubted

    def forget(self, name: str) -> None:
        """Note that a variable is set to something unknown."""
        self.values[name] = _UNKNOWN
        self.values.pop(f"{name}[0]", None)
        if f"{name}[@]" in self.values:
            self.values[f"{name}[@]"] = _UNKNOWN

    def unset(self, name: str) -> None:
        """Note that a variable is set to nothing."""
        for key in (name, f"{name}[@]", f"{name}[0]"):
            self.values[key] = Value("")

    def copy(self) -> "Variables":
        """Return a copy of the variables as they are now: what is set in it changes nothing here."""
        return Variables(
            dict(self.values),
            set(self.exported),
            self.exports_all,
            self.splits_otherwise,
            set(self.converted),
        )

    def or_else(self, other: "Variables") -> "Variables":
        """Return what the variables are where two ways through a script meet, as behind an `if`.

        A variable that is the same on both ways stays known; of any other the values on both ways are candidates.
        """
        names = dict.fromkeys((*self.values, *other.values))
        values = {
            name: self.values.get(name, _UNKNOWN).or_else(other.values.get(name, _UNKNOWN))
            for name in names
        }
        return Variables(
            values,
            self.exported | other.exported,
            self.exports_all or other.exports_all,
            self.splits_otherwise or other.splits_otherwise,
            self.converted | other.converted,
        )

    def inherited(self) -> "Variables":
        """Return the variables of a shell that is started here, `bash -c`: those that are exported.

        It may start in another folder (`env -C web bash`), so that a path in the folder of this shell is not known there.
        """
        values = {
            name: value
            for name, value in self.values.items()
            if self.exports_all or name in self.exported
        }
        started = Variables(values, set(self.exported))
        started.change_folder()
        return started

    def possible(self, names: Sequence[str]) -> Iterator["Variables"]:
        """Yield the variables with each of the values that some of them may have, a bounded number of times."""
        choices = [self.values[name].candidates for name in names]
        for texts in islice(product(*choices), MOST_CANDIDATES):
            chosen = self.copy()
            for name, text in zip(names, texts, strict=True):
                chosen.values[name] = Value(text)
            yield chosen

    def may_be(self, name: str, texts: Sequence[str]) -> None:
        """Note texts that a variable, which is not known, may have: by `${x:-text}`."""
        value = self.values.get(name, _UNKNOWN)
        if value.text is None:
            candidates = dict.fromkeys((*value.candidates, *texts))
            self.values[name] = Value(None, tuple(candidates)[:MOST_CANDIDATES])
            self.names_with_candidates[name] = None


def _value_of(name: str, words: Sequence[Word]) -> Value:
    """Return the value of a variable that is assigned some words.

    It is not known where one of the words is not, or where the shell itself sets the variable, such as `RANDOM`.
    """
    text = SPLIT.join(word.text for word in words)
    if name in _NEVER_KNOWN or len(text) > _MOST_VALUE:
        return _UNKNOWN
    if all(word.is_known for word in words):
        return Value(text)
    if len(words) == 1 and _IN_WORKING_FOLDER.fullmatch(text):
        return Value(None, in_working_folder=text)
    return _UNKNOWN


def _is_argument(name: str) -> bool:
    """Return whether a name is that of arguments: `@`, `1`, `2` …"""
    return name == ARGUMENTS or name.isdigit()
