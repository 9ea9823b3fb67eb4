"""A press on any value of an item's metadata narrows the list of the window to what has it."""

from __future__ import annotations

from datetime import UTC
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from explorer.contract import (
    Document,
    DocumentBody,
    Learning,
    LearningKind,
    MemoryMeta,
    Namespace,
    SourceKind,
    SourceRef,
    StoreItem,
    Timestamp,
    ToolCallRef,
    TurnRange,
)
from explorer.engines.sqlite import SqliteEngine
from explorer.ui.viewer import METADATA
from tests.conftest import Until
from tests.ui.test_main_window import opened, texts


def meta(name: str, turns: tuple[int, int], day: int, **more: object) -> MemoryMeta:
    """One that has a value of its own, made from `name`, in every field."""
    whole: dict[str, object] = {
        "namespace": Namespace.parse(f"team:{name}"),
        "workspace": f"/{name}/w",
        "folder": f"/{name}/w/f",
        "file_path": f"/{name}/w/f/a.md",
        "language": name,
        "repo": f"{name}/r",
        "commit": f"{name}c0ffee",
        "url": f"https://{name}.test/",
        "thread_id": f"{name}/1",
        "turns": TurnRange(first=turns[0], last=turns[1]),
        "agent_id": name,
        "tool_call": ToolCallRef(name=f"{name}-tool", id="call"),
        "source": SourceRef(kind=SourceKind.FILE if name == "b" else SourceKind.GITHUB, id=f"{name}-source"),
        "tags": [f"{name}-tag"],
        "observed_at": Timestamp(2026, 6, day, 12, tzinfo=UTC),
    }
    return MemoryMeta(**(whole | more))  # type: ignore[arg-type]


def note(text: str, meta: MemoryMeta) -> Learning:
    return Learning(text=text, kind=LearningKind.FACT, confidence=0.5, meta=meta)


ONE = note("the one", meta("a", (3, 7), 10))
ITEMS: list[StoreItem] = [
    ONE,
    Document(body=DocumentBody(text="another"), meta=meta("b", (20, 24), 20)),
    note("its neighbour", MemoryMeta(folder="/a/w/f-old", workspace="/a/w-old", thread_id="a/10", tags=["a"])),
    note("below it", MemoryMeta(folder="/a/w/f/deep", turns=TurnRange(first=5, last=9))),
]
ALONE = {"the one"}
NARROWED: dict[str, tuple[set[str], str]] = {
    "kind": ({"the one", "its neighbour", "below it"}, "kind is learning"),
    "node": (ALONE, "namespace only at team:a"),
    "workspace": (ALONE, "workspace is /a/w"),
    "folder": ({"the one", "below it"}, "folder under /a/w/f"),
    "file": (ALONE, "file under /a/w/f/a.md"),
    "language": (ALONE, "language is a"),
    "repo": (ALONE, "repo is a/r"),
    "commit": (ALONE, "commit is ac0ffee"),
    "url": (ALONE, "url is https://a.test/"),
    "thread": (ALONE, "thread is a/1"),
    "turns": (ALONE, "turns are 3 to 7"),
    "agent": (ALONE, "agent is a"),
    "tool": (ALONE, "tool is a-tool"),
    "source": (ALONE, "source is github"),
    "source id": (ALONE, "source id is a-source"),
    "tags": (ALONE, "tag is a-tag"),
    "observed": (ALONE, "observed on 10 Jun 2026"),
}


@pytest.mark.limit_s(60)  # as many questions as there are fields
async def test_each_value_of_the_metadata_narrows_the_list(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    engine = SqliteEngine(tmp_path / "a.db", embedder=None)
    await engine.store_many(ITEMS)
    async with opened(qtbot, tmp_path, until, engine) as window:
        assert len(texts(window)) == len(ITEMS)
        window.items.select_id(ONE.fingerprint())
        await until(lambda: window.is_idle)
        window.viewer.segments.button(METADATA).click()
        await until(lambda: window.is_idle)
        found = {}
        for label, buttons in window.viewer.metadata._pairs:
            for button in buttons:
                if button.value.field:
                    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
                    await until(lambda: window.is_idle)
                    (chip,) = window.chip_bar.chips()
                    found[label.key] = texts(window), chip.sentence
                    window.back_action.trigger()
        assert found == NARROWED
