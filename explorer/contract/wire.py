"""Byte-exact JSON: what the Rust crates write, and nothing that they would refuse is read.

Source: memory-v2 contract, "JSON form of every type". Keys keep their order, output is compact UTF-8, 32-bit floats
are written as the shortest decimal that reads back to the same 32-bit value.
"""

from __future__ import annotations

import json
import math
import struct
from decimal import Decimal
from json.encoder import encode_basestring
from typing import Any

_MAX_FIXED_DIGITS = 13  # from 1e13 on the float printer changes to an exponent
_MIN_FIXED_POINT = -6  # so does anything below 1e-6


_MIN_NORMAL = 1.18e-38  # below it 32-bit floats hold fewer digits
_MAX_SHORT = 3.4e38  # and just above it there are none


class WireError(ValueError):
    """Text that is not JSON of this contract; the message is a sentence part for an InvalidRequest."""


def round_f32(value: float) -> float:
    """The 32-bit float nearest to `value`, given as the double whose shortest text is that float's own.

    So 0.8 stays 0.8 for Python, and two doubles that are one 32-bit value become equal.
    Raises OverflowError where no finite 32-bit float is near. NaN and infinities pass.
    """
    if math.isnan(value) or math.isinf(value):
        return value
    # No two decimals of 6 digits share a 32-bit float, so a value that short is its float's shortest text already.
    if float(f"{value:.6g}") == value and (value == 0.0 or _MIN_NORMAL <= abs(value) <= _MAX_SHORT):
        return value
    return float(_shortest(_as_f32(value)))


def f32_text(value: float) -> str:
    """`value` as the wire writes a 32-bit float: `0.0`, `0.33333334`, `1e-7`."""
    if math.isnan(value) or math.isinf(value):
        return "null"
    shortest = Decimal(_shortest(_as_f32(value)))
    sign, digit_tuple, exponent = shortest.normalize().as_tuple()
    assert isinstance(exponent, int)  # finite: it is no 'n', 'N' or 'F'
    minus = "-" if sign else ""
    digits = "".join(map(str, digit_tuple))
    if digits == "0":
        return f"{minus}0.0"
    point = len(digits) + exponent  # where the decimal point stands, counted from the first digit
    if exponent >= 0 and point <= _MAX_FIXED_DIGITS:
        return f"{minus}{digits}{'0' * exponent}.0"
    if 0 < point <= _MAX_FIXED_DIGITS:
        return f"{minus}{digits[:point]}.{digits[point:]}"
    if _MIN_FIXED_POINT < point <= 0:
        return f"{minus}0.{'0' * -point}{digits}"
    fraction = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{minus}{digits[0]}{fraction}e{point - 1}"


def _as_f32(value: float) -> float:
    single: float = struct.unpack("<f", struct.pack("<f", value))[0]
    return single


def _shortest(single: float) -> str:
    """The fewest significant digits that read back to `single`; among equals, the closest to it."""
    is_symmetric = abs(math.frexp(single)[0]) != 0.5
    for precision in range(9):
        text = f"{single:.{precision}e}"
        if is_symmetric:
            if _reads_back(float(text), single):
                return text
            continue
        # At a power of two the interval is lopsided: a neighbour may read back where the nearest decimal does not.
        step = Decimal(1).scaleb(int(text.partition("e")[2]) - precision)
        near = Decimal(text)
        fitting = [c for c in (near, near - step, near + step) if _reads_back(c, single)]
        if fitting:
            return str(min(fitting, key=lambda c: abs(c - Decimal(single))))
    return f"{single:.8e}"


def _reads_back(decimal: float | Decimal, single: float) -> bool:
    try:
        return _as_f32(float(decimal)) == single
    except OverflowError:
        return False


def dumps(value: Any) -> str:
    """Compact JSON of dicts, lists, strings, numbers, booleans and None; every float is a 32-bit one."""
    if isinstance(value, str):
        return encode_basestring(value)
    if value is None:
        return "null"
    if value is True:
        return "true"
    if value is False:
        return "false"
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float):
        return f32_text(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{encode_basestring(k)}:{dumps(v)}" for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(dumps, value)) + "]"
    raise TypeError(f"{type(value).__name__} has no JSON form here")


def loads(data: str | bytes) -> Any:
    """The JSON value in `data`.

    Raises WireError for what the Rust reader refuses anywhere in the text, ignored keys included: bad UTF-8, a
    repeated key, a lone surrogate, NaN or an infinity, a number too large for 64 bits, nesting too deep to read.
    """
    try:
        text = data.decode("utf-8") if isinstance(data, bytes) else data
        value = json.loads(text, object_pairs_hook=_unique, parse_float=_finite, parse_constant=_no_constant)
    except UnicodeDecodeError as error:
        raise WireError(f"the text is not UTF-8 (byte {error.start})") from error
    except RecursionError:
        raise WireError("the JSON is nested too deeply") from None
    except json.JSONDecodeError as error:
        what = error.msg.lower().removesuffix(" at")
        raise WireError(f"not JSON: {what} at character {error.pos}") from error
    except WireError:
        raise
    except ValueError as error:
        raise WireError("a number has too many digits") from error
    if _may_hold_surrogate(text) and _holds_surrogate(value):
        raise WireError("a string holds half of a surrogate pair")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        seen: set[str] = set()
        repeated = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise WireError(f"the key {json.dumps(repeated)} is there twice")
    return made


def _finite(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise WireError("a number is out of range")
    return value


def _no_constant(name: str) -> Any:
    raise WireError(f"{name} is not a JSON number")


def _may_hold_surrogate(text: str) -> bool:
    return "\\ud" in text or "\\uD" in text or not is_unicode(text)


def _holds_surrogate(value: Any) -> bool:
    # Without recursion: the parser reads deeper nesting than Python's own stack allows.
    left = [value]
    while left:
        part = left.pop()
        if isinstance(part, str):
            if not is_unicode(part):
                return True
        elif isinstance(part, dict):
            left += part.keys()
            left += part.values()
        elif isinstance(part, list):
            left += part
    return False


def is_unicode(text: str) -> bool:
    """Whether `text` has a UTF-8 form: no half of a surrogate pair."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def to_unicode(text: str) -> str:
    """`text` with each half of a surrogate pair replaced by U+FFFD, so that it can become part of an item."""
    return text if is_unicode(text) else "".join("\ufffd" if "\ud800" <= ch <= "\udfff" else ch for ch in text)
