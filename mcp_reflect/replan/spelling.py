"""How many slips of the finger are between two words."""

from collections.abc import Iterable, Iterator


def edit_distance(one: str, other: str, most: int) -> int:
    """Slips between two words (insert, delete, replace, swap neighbours); `most` + 1 stands for any more."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        earlier, before, row = before, row, [i]
        for j, sign in enumerate(other, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != sign))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == sign:
                cost = min(cost, earlier[j - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
    return min(row[-1], most + 1)


def distance_to(word: str, others: Iterable[tuple[int, str]], most: int) -> Iterator[tuple[int, str]]:
    """The words within `most` slips, each with its distance. The others come with their letter masks."""
    mask = letters(word)
    for other_mask, other in others:
        if (other_mask ^ mask).bit_count() <= 2 * most:
            slips = edit_distance(word, other, most)
            if slips <= most:
                yield slips, other


def letters(word: str) -> int:
    """A bit for each letter; two words n slips apart differ in at most 2n bits."""
    mask = 0
    for letter in word:
        mask |= 1 << (ord(letter) & 63)
    return mask
