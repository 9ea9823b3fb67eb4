"""The zone in which the window shows times."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo

from PySide6.QtCore import QTimeZone

from explorer.text import zone_offset


def local_zone() -> tzinfo:
    """The system's zone with its rules for summer time; where Qt cannot name it, today's fixed offset."""
    try:
        return ZoneInfo(QTimeZone.systemTimeZoneId().toStdString())
    except (KeyError, ValueError, OSError):  # no name, or no time zone data on this machine
        return datetime.now().astimezone().tzinfo or UTC


def zone_words(zone: tzinfo) -> str:
    """`UTC+2, Berlin`: the offset of now, and the place where the zone has one."""
    offset = zone_offset(datetime.now(zone))
    area, _, place = str(zone).rpartition("/")
    return f"{offset}, {place.replace('_', ' ')}" if area and area != "Etc" else offset
