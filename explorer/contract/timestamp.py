"""Times as the wire has them: UTC, to the nanosecond.

Source: memory-v2 contract, JSON form of times (RFC 3339 with `Z`, a fraction of 0, 3, 6 or 9 digits).
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from typing import Any, SupportsIndex
from zoneinfo import ZoneInfo

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from explorer.contract.errors import InvalidRequest

_RFC_3339 = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:([Zz])|([+-])(\d\d):(\d\d))", re.ASCII
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Timestamp(datetime):
    """A UTC `datetime` that also keeps the nanoseconds below its microsecond (`nanosecond`, 0..999).

    It equals and orders with plain datetimes. Arithmetic and `astimezone` give values at microsecond
    precision, as pandas' class of that name does not; what must survive is written from `text`.
    """

    _nanosecond: int

    def __new__(cls, *args: Any, nanosecond: int = 0, **kwargs: Any) -> Timestamp:
        made = super().__new__(cls, *args, **kwargs)
        made._nanosecond = nanosecond
        return made

    @property
    def nanosecond(self) -> int:
        return self._nanosecond

    @classmethod
    def of(cls, moment: datetime) -> Timestamp:
        """The same moment in UTC; one without a zone is read as UTC. Raises ValueError outside years 1 to 9999."""
        if isinstance(moment, Timestamp) and moment.tzinfo is UTC:
            return moment
        try:
            at = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
        except OverflowError:
            raise ValueError("a time must lie in the years 1 to 9999 in UTC") from None
        nanosecond = moment.nanosecond if isinstance(moment, Timestamp) else 0
        return cls(at.year, at.month, at.day, at.hour, at.minute, at.second, at.microsecond, UTC, nanosecond=nanosecond)

    @classmethod
    def parse(cls, text: str) -> Timestamp:
        """Read RFC 3339 with any offset; digits past the ninth of the fraction are dropped. Raises ValueError."""
        found = _RFC_3339.fullmatch(text)
        if found is None:
            raise ValueError("a time must be written like 2026-10-04T09:30:00Z, with its offset")
        *parts, fraction, utc, sign, hours, minutes = found.groups()
        nanoseconds = int(fraction[:9].ljust(9, "0")) if fraction else 0
        zone: tzinfo = UTC
        if not utc:
            if int(hours) > 23 or int(minutes) > 59:
                raise ValueError("a time's offset must be at most 23:59")
            offset = timedelta(hours=int(hours), minutes=int(minutes))
            zone = timezone(-offset if sign == "-" else offset)
        year, month, day, hour, minute, second = map(int, parts)
        microsecond, nanosecond = divmod(nanoseconds, 1000)
        return cls.of(cls(year, month, day, hour, minute, second, microsecond, zone, nanosecond=nanosecond))

    @classmethod
    def now_utc(cls) -> Timestamp:
        return cls.of(datetime.now(UTC))

    @classmethod
    def from_unix_ns(cls, nanoseconds: int) -> Timestamp:
        """The moment `nanoseconds` after 1970 (negative before)."""
        micros, nanosecond = divmod(nanoseconds, 1000)
        at = _EPOCH + timedelta(microseconds=micros)
        return cls(at.year, at.month, at.day, at.hour, at.minute, at.second, at.microsecond, UTC, nanosecond=nanosecond)

    @property
    def unix_ns(self) -> int:
        """Nanoseconds since 1970; outside the years 1678 to 2261 it does not fit 64 bits."""
        return ((self.as_datetime() - _EPOCH) // timedelta(microseconds=1)) * 1000 + self._nanosecond

    @property
    def text(self) -> str:
        """The wire form: no fraction when it is zero, else 3, 6 or 9 digits, the fewest that lose nothing."""
        whole = f"{self.year:04}-{self.month:02}-{self.day:02}T{self.hour:02}:{self.minute:02}:{self.second:02}"
        if self._nanosecond:
            return f"{whole}.{self.microsecond:06}{self._nanosecond:03}Z"
        if self.microsecond % 1000:
            return f"{whole}.{self.microsecond:06}Z"
        return f"{whole}.{self.microsecond // 1000:03}Z" if self.microsecond else f"{whole}Z"

    def as_datetime(self) -> datetime:
        """A plain datetime, to the microsecond."""
        return datetime(
            self.year, self.month, self.day, self.hour, self.minute, self.second, self.microsecond, self.tzinfo
        )

    def astimezone(self, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
        return self.as_datetime().astimezone(tz)

    # `NotImplemented` for a plain date would let the date compare by its day.

    def __eq__(self, other: object) -> bool:
        return self._key() == _key(other) if isinstance(other, datetime) else super().__eq__(other)

    def __ne__(self, other: object) -> bool:
        return not self == other  # `datetime` has its own, which would not see the nanoseconds

    def __hash__(self) -> int:
        return super().__hash__()

    def __lt__(self, other: date) -> bool:
        return self._key() < _key(other)

    def __le__(self, other: date) -> bool:
        return self._key() <= _key(other)

    def __gt__(self, other: date) -> bool:
        return self._key() > _key(other)

    def __ge__(self, other: date) -> bool:
        return self._key() >= _key(other)

    def _key(self) -> tuple[datetime, int]:
        return self.as_datetime(), self._nanosecond

    def __str__(self) -> str:
        return self.text

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        return (Timestamp.parse, (self.text,))

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            _read,
            serialization=core_schema.plain_serializer_function_ser_schema(
                lambda value: value.text, return_schema=core_schema.str_schema(), when_used="json"
            ),
        )


def _read(value: object) -> Timestamp:
    if isinstance(value, datetime):
        return Timestamp.of(value)
    if isinstance(value, str):
        return Timestamp.parse(value)
    raise ValueError("a time must be a text like 2026-10-04T09:30:00Z or a datetime")


def _key(moment: date) -> tuple[datetime, int]:
    if isinstance(moment, Timestamp):
        return moment._key()
    if isinstance(moment, datetime):
        return moment, 0
    raise TypeError(f"a time has no order with a {type(moment).__name__}")


def zone_named(name: str | None) -> tzinfo:
    """The time zone of an IANA name, UTC for None. Raises InvalidRequest for a name that is not known."""
    if name is None:
        return UTC
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise InvalidRequest(f"`{name}` is not a known time zone") from error
