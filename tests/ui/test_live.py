"""A memory that other programs change while the window shows it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from pytestqt.qtbot import QtBot

from explorer.contract import (
    Document,
    DocumentBody,
    ForgetTarget,
    ItemKind,
    MemoryEngine,
    MemoryMeta,
    MetaFilter,
    Timestamp,
)
from explorer.engines.sqlite import SqliteEngine
from explorer.ui import news
from explorer.ui.main_window import MainWindow
from explorer.ui.models.item_model import Column
from tests.conftest import Until
from tests.fakes import FakeEngine, learning

pytestmark = pytest.mark.limit_s(30)  # another process has to start

ROOT = Path(__file__).parents[2]
LOOK_EVERY_MS = 20

OTHER = """
import asyncio, sys
from explorer.contract import Document, DocumentBody, ForgetTarget, MemoryMeta, MetaFilter
from explorer.engines.sqlite import SqliteEngine

async def main():
    engine = SqliteEngine(sys.argv[1], embedder=None)
    for line in sys.stdin:
        command, _, tag = line.strip().partition(" ")
        if command == "store":
            bodies = [DocumentBody(text=f"theirs {tag} {n}") for n in range(3)]
            await engine.store_many([Document(body=body, meta=MemoryMeta(tags=[tag])) for body in bodies])
        else:
            await engine.forget(ForgetTarget(filter=MetaFilter(tags_any=[tag])))
        print("done", flush=True)
    await engine.aclose()

asyncio.run(main())
"""


def note(n: int) -> Document:
    at = Timestamp.parse(f"2026-06-{n % 28 + 1:02}T10:00:00Z")
    return Document(
        body=DocumentBody(text=f"note {n:03}\n\n" + "word " * 50),
        meta=MemoryMeta(tags=[f"n{n}", "ours"], observed_at=at),
    )


class Other:
    """A second process with the file open."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def do(self, command: str) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{command}\n")
        self._process.stdin.flush()
        assert self._process.stdout.readline() == "done\n"


@contextmanager
def other(path: Path) -> Iterator[Other]:
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", OTHER, str(path)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=env, cwd=ROOT) as process:
        yield Other(process)


async def filled(path: Path, n: int = 60) -> None:
    engine = SqliteEngine(path, embedder=None)
    await engine.store_many([note(at) for at in range(n)])
    await engine.aclose()


@asynccontextmanager
async def opened(
    qtbot: QtBot, engine: MemoryEngine, until: Until, filter: MetaFilter | None = None
) -> AsyncIterator[MainWindow]:
    window = MainWindow()
    qtbot.addWidget(window)
    window.resize(1440, 900)
    window.show()
    window.watch.timer.setInterval(LOOK_EVERY_MS)
    window.show_engine(engine, "a.db", is_read_only=False)
    if filter is not None:
        window.go_to_filter(filter)
    try:
        await until(lambda: window.is_idle)
        yield window
    finally:
        await window.aclose()
        await engine.aclose()
        window.close_for_good()


def said(window: MainWindow) -> str:
    button = window.items.news_button
    return "" if button.isHidden() else button.text()


def ids(window: MainWindow) -> list[str]:
    model = window.items.model
    return [model.hit(row).id for row in range(model.rowCount())]


async def test_another_process_stores_and_forgets(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    path = tmp_path / "a.db"
    await filled(path)
    async with opened(qtbot, SqliteEngine(path, embedder=None), until) as window:
        view = window.items.view
        view.setCurrentIndex(window.items.model.index(40, Column.TEXT))
        view.verticalScrollBar().setValue(300)
        top, rows, scrolled = view.mapTo(window, QPoint()), ids(window), view.verticalScrollBar().value()
        current = window.items.current_hit()
        with other(path) as process:
            process.do("store new")
            await until(lambda: said(window) == "3 new: refresh")
            process.do("forget n7")
            await until(lambda: said(window) == "3 new, 1 gone: refresh")
        assert ids(window) == rows
        assert view.mapTo(window, QPoint()) == top
        assert view.verticalScrollBar().value() == scrolled
        qtbot.mouseClick(window.items.news_button, Qt.MouseButton.LeftButton)
        assert said(window) == ""
        await until(lambda: window.is_idle)
        assert window.items.model.rowCount() == 62
        assert window.items.current_hit() == current
        assert view.verticalScrollBar().value() == scrolled
        assert window.viewer.banner.isHidden()


async def test_only_what_the_filter_admits_is_news(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    path = tmp_path / "a.db"
    await filled(path, 10)
    writer = SqliteEngine(path, embedder=None)
    narrow = MetaFilter(tags_any=["n1", "n2", "wanted"])
    async with opened(qtbot, SqliteEngine(path, embedder=None), until, narrow) as window:
        found: list[object] = []
        window.watch.changed.connect(found.append)
        await writer.store(learning("elsewhere"))
        await until(lambda: found)
        assert said(window) == ""
        await writer.store(learning("here", tags=["wanted"]))
        await until(lambda: said(window) == "1 new: refresh")
        await writer.forget(ForgetTarget(filter=MetaFilter(tags_any=["wanted"])))
        await until(lambda: said(window) == "")
        await writer.forget(ForgetTarget(filter=MetaFilter(tags_any=["n1", "n5"])))
        await until(lambda: said(window) == "1 gone: refresh")
        window.go_to_filter(MetaFilter())
        await until(lambda: window.is_idle)
        assert said(window) == "", "what is read now is no news"
    await writer.aclose()


async def test_open_item_that_goes_stays_readable(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    path = tmp_path / "a.db"
    await filled(path, 10)
    writer = SqliteEngine(path, embedder=None)
    async with opened(qtbot, SqliteEngine(path, embedder=None), until) as window:
        hit = window.viewer.hit
        assert hit is not None
        other_tag = next(tag for tag in ("n1", "n2") if tag not in hit.meta.tags)
        await writer.forget(ForgetTarget(filter=MetaFilter(tags_any=[other_tag])))
        await until(lambda: said(window) == "1 gone: refresh")
        await until(lambda: not window.jobs.is_running("open item"))
        assert window.viewer.banner.isHidden()
        await writer.forget(ForgetTarget(ids=[hit.id]))
        await until(lambda: "no longer stored" in window.viewer.banner.sentence)
        text = window.viewer.full_text()
        assert text.startswith("note ")
        assert window.viewer.item is not None
        window.refresh()
        await until(lambda: window.is_idle)
        assert window.viewer.full_text() == text, "it is in no list any more, but not taken away"
        assert "no longer stored" in window.viewer.banner.sentence
        window.items.view.setCurrentIndex(window.items.model.index(0, Column.TEXT))
        await until(lambda: window.is_idle)
        assert window.viewer.banner.isHidden()
    await writer.aclose()


async def test_file_moved_away_is_said(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    path = tmp_path / "a.db"
    await filled(path, 10)
    async with opened(qtbot, SqliteEngine(path, embedder=None), until) as window:
        path.rename(tmp_path / "b.db")
        await until(lambda: "moved, deleted or replaced" in window.items.health_banner.sentence)
        assert window.items.model.rowCount() == 10
        assert window.connection_box.health_badge.accessibleName() != "health: healthy"
        (tmp_path / "b.db").rename(path)
        await until(lambda: window.connection_box.health_badge.accessibleName() == "health: healthy")
        assert window.items.health_banner.isHidden()


async def test_file_replaced_under_a_read_only_window(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    path, theirs = tmp_path / "a.db", tmp_path / "b.db"
    await filled(path, 10)
    await filled(theirs, 4)
    async with opened(qtbot, SqliteEngine(path, read_only=True, embedder=None), until) as window:
        theirs.replace(path)
        await until(lambda: said(window) == "Another memory is in this place: refresh")
        assert window.items.model.rowCount() == 10
        qtbot.mouseClick(window.items.news_button, Qt.MouseButton.LeftButton)
        await until(lambda: window.items.model.rowCount() == 4)
        assert said(window) == ""
        path.unlink()
        await until(lambda: window.connection_box.health_badge.accessibleName() == "health: down")
        assert window.items.model.rowCount() == 4
        assert window.items.health_banner.isVisible()


async def test_engine_that_does_not_know_is_not_asked(qtbot: QtBot, until: Until) -> None:
    engine = FakeEngine()
    await engine.store(learning("one"))
    assert await engine.changes(MetaFilter()) is None
    async with opened(qtbot, engine, until) as window:
        assert not window.watch.timer.isActive()
        assert said(window) == ""


async def test_changes_of_one_file_are_exact(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    reader, writer = SqliteEngine(path, embedder=None), SqliteEngine(path, embedder=None)
    await writer.store_many([note(n) for n in range(5)])
    learnings = MetaFilter(kinds=[ItemKind.LEARNING])
    before = {str(each): await reader.changes(each) for each in (MetaFilter(), learnings)}
    everything, few = before.values()
    assert (everything.total, few.total, everything.added) == (5, 0, None)
    again = await reader.changes(MetaFilter(), everything.mark)
    assert (again.mark, again.added, again.gone_since(everything)) == (everything.mark, 0, 0)
    await writer.store_many([learning("a"), learning("b"), note(1)])  # the last is held already
    await writer.forget(ForgetTarget(filter=MetaFilter(tags_any=["n0", "n1"])))
    (came,) = await writer.store_many([learning("c")])
    await writer.forget(ForgetTarget(ids=[came.id]))  # nobody saw it
    now = await reader.changes(MetaFilter(), everything.mark)
    assert (now.total, now.added, now.gone_since(everything)) == (5, 2, 2)
    assert now.mark != everything.mark
    now = await reader.changes(learnings, few.mark)
    assert (now.total, now.added, now.gone_since(few)) == (2, 2, 0)
    await reader.aclose()
    await writer.aclose()


def test_words_of_changes() -> None:
    assert news.changes(3, 1) == "3 new, 1 gone"
    assert news.changes(0, 1200) == "1\u202f200 gone"
    assert news.changes(0, 0) == ""
