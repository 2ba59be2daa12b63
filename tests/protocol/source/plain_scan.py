"""The scan of machine-protocol §8.3 a second time: slow, and as close to the specification as can be.

Lines are cut instead of walked over, every context is a list of its own, and nothing is shared between steps.
"""

from __future__ import annotations

from slipway_lite.text import is_blank, trim

Container = tuple[str, int]
Prefix = list[Container]


def spaces(s: str) -> int:
    return len(s) - len(s.lstrip(" "))


def quote(s: str) -> str | None:
    lead = spaces(s)
    if lead > 3 or s[lead : lead + 1] != ">":
        return None
    rest = s[lead + 1 :]
    return rest[1:] if rest[:1] == " " else rest


def item(s: str) -> tuple[int, str, int | None] | None:
    """(indent, rest, start value of an ordered item)"""
    lead = spaces(s)
    if lead > 3:
        return None
    marker, start = "", None
    if s[lead : lead + 1] in ("-", "+", "*"):
        marker = s[lead]
    else:
        digits = ""
        while s[lead + len(digits) : lead + len(digits) + 1] in tuple("0123456789"):
            digits += s[lead + len(digits)]
        if 1 <= len(digits) <= 9 and s[lead + len(digits) : lead + len(digits) + 1] in (".", ")"):
            marker, start = s[lead : lead + len(digits) + 1], int(digits)
    if not marker:
        return None
    after = s[lead + len(marker) :]
    if after == "":
        return lead + len(marker) + 1, "", start
    if after[0] != " ":
        return None
    count = spaces(after)
    indent = lead + len(marker) + (count if count <= 4 else 1)
    return indent, s[indent:], start


def blank(s: str) -> bool:
    while not is_blank(s):
        stripped = quote(s)
        if stripped is None:
            return False
        s = stripped
    return True


def strip(s: str, prefix: Prefix) -> str | None:
    for kind, indent in prefix:
        if kind == "QUOTE":
            rest = quote(s)
            if rest is None:
                return None
            s = rest
        else:
            if len(s) < indent or s[:indent].strip(" "):
                return None
            s = s[indent:]
    return s


def peel(s: str, base: Prefix, paragraph: Prefix | None) -> tuple[str, Prefix]:
    pushed: Prefix = []
    while True:
        rest = quote(s)
        if rest is not None:
            s = rest
            pushed = [*pushed, ("QUOTE", 0)]
            continue
        found = item(s)
        if found is None:
            return s, pushed
        indent, rest, start = found
        if start is not None and start != 1 and paragraph is not None and paragraph == base + pushed:
            return s, pushed
        s = rest
        pushed = [*pushed, ("LIST", indent)]


def fence(s: str) -> tuple[str, int, str] | None:
    lead = spaces(s)
    s = s[lead:]
    if lead > 3 or s[:1] not in ("`", "~"):
        return None
    length = len(s) - len(s.lstrip(s[0]))
    return (s[0], length, s[length:]) if length >= 3 else None


def deepest(line: str, contexts: list[Prefix]) -> tuple[str, Prefix]:
    """The first base, from the deepest context to none, that strips."""
    for base in [*reversed(contexts), []]:
        s = strip(line, base)
        if s is not None:
            return s, base
    raise AssertionError("the empty base always strips")


def list_ending(prefix: Prefix) -> list[Prefix]:
    return [prefix[: n + 1] for n in range(len(prefix)) if prefix[n][0] == "LIST"]


def starts_paragraph(s: str) -> bool:
    bare = s.lstrip(" ")
    if spaces(s) > 3 or bare == "":
        return False
    hashes = len(bare) - len(bare.lstrip("#"))
    if 1 <= hashes <= 6 and bare[hashes : hashes + 1] in ("", " ", "\t"):
        return False
    visible = [character for character in bare if character not in " \t"]
    return not (len(visible) >= 3 and set(visible) in ({"*"}, {"-"}, {"_"}))


def second_marker(text: str) -> int:
    contexts: list[Prefix] = []
    paragraph: Prefix | None = None
    opened: tuple[str, int, Prefix] | None = None
    for number, line in enumerate(text.split("\n"), 1):
        if opened is not None:
            inside = "" if blank(line) else strip(line, opened[2])
            if inside is not None:
                closing = fence(inside)
                if closing and closing[0] == opened[0] and closing[1] >= opened[1] and is_blank(closing[2]):
                    opened = None
                continue
            opened = None
        if trim(line) == "```slipway-manifest":
            return number
        s, base = deepest(line, contexts)
        s, pushed = peel(s, base, paragraph)
        opening = fence(s)
        if opening and not (opening[0] == "`" and "`" in opening[2]):
            opened = (opening[0], opening[1], base + pushed)
            contexts, paragraph = list_ending(base + pushed), None
            continue
        if blank(line):
            paragraph = None
            if is_blank(line):
                leading = []
                for context in contexts:
                    if ("QUOTE", 0) in context:
                        break
                    leading.append(context)
                contexts = leading
        else:
            paragraph = base + pushed if starts_paragraph(s) else None
            contexts = list_ending(base) + [
                base + pushed[: n + 1] for n in range(len(pushed)) if pushed[n][0] == "LIST"
            ]
        if "<!-- slipway-level:" in line:
            return number
    return 0
