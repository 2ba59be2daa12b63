"""Is there an order of requests that ran at once that explains every answer? By brute force over all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import permutations
from typing import Any

Names = dict[Any, str]
"""What the model's own names (an ordinal) are called in the file (an id)."""


def orders(spans: Sequence[tuple[float, float]]) -> Iterator[tuple[int, ...]]:
    """Every order of the requests in which none comes before one that had ended when it began."""
    for order in permutations(range(len(spans))):
        if all(spans[one][0] <= spans[other][1] for place, one in enumerate(order) for other in order[place + 1 :]):
            yield order


def explanations(
    model: Any,
    names: Names,
    requests: Sequence[Any],
    answers: Sequence[Any],
    spans: Sequence[tuple[float, float]],
    apply: Callable[[Any, Any], tuple[Any, Any]],
    fits: Callable[[Any, Any, Names], Names | None],
) -> list[tuple[Any, Names]]:
    """Each (model, names) after an order of ``requests`` that gives ``answers``; none where nothing explains them.

    ``apply(model, request)`` is (what is expected, the model after it). ``fits(expected, answer, names)`` is what is
    called how after this answer, or ``None`` where it is another one.
    """
    found: list[tuple[Any, Names]] = []
    for order in orders(spans):
        after, called = model, dict(names)
        for number in order:
            expected, after = apply(after, requests[number])
            learned = fits(expected, answers[number], called)
            if learned is None:
                break
            called = learned
        else:
            if (after, called) not in found:
                found.append((after, called))
    return found


def named(names: Names, name: Any, value: str) -> Names | None:
    """``names`` with ``name`` called ``value``; ``None`` where it is called otherwise, or another is called so."""
    if name in names:
        return names if names[name] == value else None
    return None if value in names.values() else names | {name: value}
