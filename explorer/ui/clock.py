"""The zone in which the window shows times."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo

from PySide6.QtCore import QTimeZone


def local_zone() -> tzinfo:
    """The system's zone with its rules for summer time; where Qt cannot name it, today's fixed offset."""
    try:
        return ZoneInfo(QTimeZone.systemTimeZoneId().toStdString())
    except (KeyError, ValueError, OSError):  # no name, or no time zone data on this machine
        return datetime.now().astimezone().tzinfo or UTC


def zone_words(zone: tzinfo) -> str:
    """`UTC+2, Berlin`: the offset of now, and the place where the zone has one."""
    now = datetime.now(zone)
    seconds = int((now.utcoffset() or UTC.utcoffset(None)).total_seconds())
    hours, minutes = divmod(abs(seconds) // 60, 60)
    offset = "UTC" if not seconds else f"UTC{'+' if seconds > 0 else chr(0x2212)}{hours}"
    offset += f":{minutes:02}" if minutes else ""
    area, _, place = str(zone).rpartition("/")
    return f"{offset}, {place.replace('_', ' ')}" if area and area != "Etc" else offset
