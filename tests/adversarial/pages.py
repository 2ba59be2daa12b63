"""Which bytes of a SQLite file mean nothing: the gaps and freed blocks of b-tree pages, and pages on the free list.

Written from the published file format; it knows as much of it as that takes.
"""

from __future__ import annotations

LEAF, INTERIOR = (10, 13), (2, 5)


def unused(raw: bytes) -> set[int]:
    """The offsets of all bytes that no row, no index entry and no pointer is kept in."""
    size = int.from_bytes(raw[16:18], "big")
    free, trunks = _free_list(raw, size)
    found: set[int] = set()
    for number in range(1, len(raw) // size + 1):
        start = (number - 1) * size
        if number in free:
            found.update(range(start, start + size))
        elif number not in trunks:
            found.update(start + offset for offset in _gaps(raw[start : start + size], 100 if number == 1 else 0))
    return found


def _free_list(raw: bytes, size: int) -> tuple[set[int], set[int]]:
    """The leaves of the free list, and the pages that list them."""
    leaves, trunks = set(), set()
    trunk = int.from_bytes(raw[32:36], "big")
    while trunk:
        trunks.add(trunk)
        page = raw[(trunk - 1) * size : trunk * size]
        count = int.from_bytes(page[4:8], "big")
        leaves.update(int.from_bytes(page[8 + 4 * n : 12 + 4 * n], "big") for n in range(count))
        trunk = int.from_bytes(page[:4], "big")
    return leaves, trunks


def _gaps(page: bytes, start: int) -> set[int]:
    kind = page[start]
    if kind not in (*LEAF, *INTERIOR):
        return set()  # an overflow page: all of it may be content
    cells = int.from_bytes(page[start + 3 : start + 5], "big")
    content = int.from_bytes(page[start + 5 : start + 7], "big") or 65536
    found = set(range(start + (8 if kind in LEAF else 12) + 2 * cells, min(content, len(page))))
    block = int.from_bytes(page[start + 1 : start + 3], "big")
    while block:
        length = int.from_bytes(page[block + 2 : block + 4], "big")
        found.update(range(block + 4, block + length))
        block = int.from_bytes(page[block : block + 2], "big")
    return found
