"""The status line: how many items there are, when they were read, and in which zone times are shown."""

from __future__ import annotations

import re
from datetime import datetime, tzinfo
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from explorer.contract import MetaFilter
from explorer.ui.clock import zone_words
from explorer.ui.job_list import State
from tests.conftest import Until
from tests.ui.test_main_window import opened


async def test_the_status_line_says_how_many_when_and_in_which_zone(
    qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(qtbot, tmp_path, until) as window:
        label, zone = window.read_label, window.zone_label
        assert window.statusBar().isAncestorOf(label)
        assert label.isVisible()
        assert zone.isVisible()
        assert _words(label.text()) == ("4 items", "read"), "one of the five is in a sandbox"
        assert zone.text() == f"Times in {zone_words(window._zone)}"
        monkeypatch.setattr("explorer.ui.main_window.datetime", At)
        window.refresh()
        await until(lambda: label.text() == "4 items, read 09:05:07")
        window.search_box.search("refund")
        await until(lambda: window.is_idle and "hit" in label.text())
        hits = window.items.model.rowCount()
        assert label.text() == f"{hits} hits, read 09:05:07"
        window.go_to_filter(MetaFilter(agent_id="triage"))
        window.search_box.search("")
        await until(lambda: label.text() == "1 item, read 09:05:07")
        window.show_engine(None, "", is_read_only=True)
        assert label.text() == "", "of what was open before nothing stays"


class At(datetime):
    """Always the same time of day."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> At:
        return cls(2026, 6, 30, 9, 5, 7, tzinfo=tz)


def _words(said: str) -> tuple[str, str]:
    match = re.fullmatch(r"(\d+ items), (read) \d\d:\d\d:\d\d", said)
    assert match is not None, said
    return match[1], match[2]


async def test_all_of_the_status_line_stands_on_one_line(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until) as window:
        job = window.job_list.begin("Counting")
        await until(lambda: window.jobs_button.isVisible())
        centres = {part.geometry().center().y() for part in (window.read_label, window.jobs_button, window.zone_label)}
        assert len(centres) == 1
        assert window.jobs_button.geometry().bottom() < window.statusBar().height()
        window.job_list.end(job, State.DONE, "")
