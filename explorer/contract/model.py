"""The base of every type with a JSON form, and the field types they share."""

from __future__ import annotations

import re
from typing import Annotated, Any, ClassVar, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_serializer
from pydantic_core import InitErrorDetails, PydanticCustomError

from explorer.contract import wire

# Rust's White_Space, which `str.strip()` exceeds by U+001C to U+001F.
WHITE_SPACE = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f"
    "\u205f\u3000"
)
_WHITE_RUN = re.compile(f"[{WHITE_SPACE}]+")


def trimmed(text: str) -> str:
    """`text` without white space at both ends, by the Unicode property that the contract uses."""
    return text.strip(WHITE_SPACE)


def is_blank(text: str) -> bool:
    return not trimmed(text)


def collapsed(text: str) -> str:
    """`text` trimmed, and with each run of white space inside it as one space."""
    return " ".join(filter(None, _WHITE_RUN.split(text)))


def _to_f32(value: float) -> float:
    try:
        return wire.round_f32(value)
    except OverflowError:
        raise ValueError("the number is out of range for a 32-bit float") from None


# A length bound, even one that always holds, makes pydantic look at the text: half a surrogate pair is refused.
Text = Annotated[str, Field(strict=True, min_length=0)]
Flag = Annotated[bool, Field(strict=True)]
Count = Annotated[int, Field(strict=True, ge=0, le=2**64 - 1)]
U32 = Annotated[int, Field(strict=True, ge=0, le=2**32 - 1)]
F32 = Annotated[float, Field(strict=True), AfterValidator(_to_f32)]


class Model(BaseModel):
    """A value of the contract: immutable, unknown keys ignored, unset keys left out when written.

    `model_dump_json` and `model_validate_json` are the byte-exact wire form. Reading raises pydantic's
    ValidationError, which `invalid()` turns into the sentence of an InvalidRequest.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True, ser_json_inf_nan="null")

    LEFT_OUT: ClassVar[dict[str, Any]] = {}
    """Fields that are not written while they hold this value (None is never written)."""

    WRITTEN_NULL: ClassVar[frozenset[str]] = frozenset()
    """Fields whose None is written as null."""

    @model_serializer(mode="wrap")
    def _write(self, handler: Any) -> dict[str, Any]:
        written: dict[str, Any] = handler(self)
        for name, unset in self.LEFT_OUT.items():
            if name in written and getattr(self, name) == unset:
                del written[name]
        return {key: value for key, value in written.items() if value is not None or key in self.WRITTEN_NULL}

    def model_dump_json(self, **options: Any) -> str:
        return wire.dumps(self.model_dump(mode="json", by_alias=True, **options))

    @classmethod
    def model_validate_json(cls, json_data: str | bytes | bytearray, **options: Any) -> Self:
        try:
            value = wire.loads(bytes(json_data) if isinstance(json_data, bytearray) else json_data)
        except wire.WireError as error:
            # The input is left out of the error: it may be a whole stored text.
            detail = InitErrorDetails(type=PydanticCustomError("wire", "{what}", {"what": str(error)}), input=None)
            raise ValidationError.from_exception_data(cls.__name__, [detail]) from error
        return cls.model_validate(value, **options)


def reason(error: ValidationError) -> str:
    """One line that says where the first fault is and what it is, without the offending value."""
    first = error.errors(include_url=False, include_context=True, include_input=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    if first["type"] == "union_tag_invalid":  # whose message quotes what was read, however long it is
        context = first["ctx"]
        return f"{place}: " * bool(place) + f"{context['discriminator']} must be one of {context['expected_tags']}"
    message = first["msg"].removeprefix("Value error, ").removesuffix(".")
    message = message[:1].lower() + message[1:]
    more = error.error_count() - 1
    tail = f" (and {more} more)" if more else ""
    return f"{place}: {message}{tail}" if place else f"{message}{tail}"
