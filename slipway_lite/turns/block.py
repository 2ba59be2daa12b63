"""Decoding the body of a block: strict RFC 8259 as the published tools read it.

Not :func:`slipway_lite.canon.decode`: this contract lets a repeated key win by coming last and keeps numbers as they
are, and a reply that cannot be read is a result with a code here, never an exception. (turn-contract §4, §16.1)
"""

from __future__ import annotations

import json
from typing import Any, NoReturn

from slipway_lite.canon import is_too_dense
from slipway_lite.turns.shapes import Problem

_TOO_DENSE = Problem("block_too_dense", "$", "The json block holds more values than its size warrants.")
_TOO_DEEP = Problem("block_too_deep", "$", "The json block nests deeper than this interpreter's recursion limit.")


def _constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not json")


def _integer(digits: str) -> int | float:
    """Any whole number: one with more digits than Python converts is out of every reader's range."""
    try:
        return int(digits)
    except ValueError:
        return float(digits)


_decode = json.JSONDecoder(parse_constant=_constant).decode
_decode_any_length = json.JSONDecoder(parse_constant=_constant, parse_int=_integer).decode


def decode_block(body: str) -> tuple[Any, Problem | None]:
    """The JSON value of ``body``, or the problem: ``block_not_json``, ``block_too_deep`` or ``block_too_dense``.

    Depth is bounded by the interpreter's recursion limit, about 990 levels unless the caller raised it.
    """
    if is_too_dense(body):
        return None, _TOO_DENSE
    for decode in (_decode, _decode_any_length):
        try:
            return decode(body), None
        except RecursionError:
            return None, _TOO_DEEP
        except json.JSONDecodeError as error:
            where = f"line {error.lineno} column {error.colno} of the block"
            return None, Problem("block_not_json", "$", f"The json block is not valid JSON ({where}).")
        except ValueError:
            continue
    return None, Problem("block_not_json", "$", "The json block is not valid JSON (NaN or Infinity).")
