"""The zone of the window: the system's, by name where it has one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

import pytest
from PySide6.QtCore import QByteArray

from explorer.ui import clock


def in_a_system(monkeypatch: pytest.MonkeyPatch, id: bytes) -> tzinfo:
    class System:
        @staticmethod
        def systemTimeZoneId() -> QByteArray:
            return QByteArray(id)

    monkeypatch.setattr(clock, "QTimeZone", System)
    return clock.local_zone()


def test_the_zone_is_the_systems_with_its_summer_time(monkeypatch: pytest.MonkeyPatch) -> None:
    zone = in_a_system(monkeypatch, b"Europe/Berlin")
    assert zone == ZoneInfo("Europe/Berlin")
    offsets = {datetime(2026, month, 1, tzinfo=zone).utcoffset() for month in (1, 7)}
    assert offsets == {timedelta(hours=1), timedelta(hours=2)}


@pytest.mark.parametrize("id", [b"", b"No/Such_Zone", b"../../etc/passwd", b"/etc/localtime"])
def test_where_it_has_no_name_the_offset_of_today_stands_in(monkeypatch: pytest.MonkeyPatch, id: bytes) -> None:
    zone = in_a_system(monkeypatch, id)
    assert datetime.now(zone).utcoffset() == datetime.now().astimezone().utcoffset()


@pytest.mark.parametrize(
    ("zone", "said"),
    [
        (UTC, "UTC"),
        (ZoneInfo("UTC"), "UTC"),
        (ZoneInfo("Etc/GMT-3"), "UTC+3"),
        (ZoneInfo("Asia/Kathmandu"), "UTC+5:45, Kathmandu"),
        (ZoneInfo("America/Argentina/Buenos_Aires"), "UTC\u22123, Buenos Aires"),
        (timezone(timedelta(hours=-9, minutes=-30)), "UTC\u22129:30"),
    ],
)
def test_a_zone_is_said_by_its_offset_and_its_place(zone: tzinfo, said: str) -> None:
    assert clock.zone_words(zone) == said


def test_the_program_takes_the_zone_of_its_system() -> None:
    assert datetime.now(clock.local_zone()).utcoffset() == datetime.now().astimezone().utcoffset()
