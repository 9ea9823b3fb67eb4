"""What a tool answered, exactly: JSON as plain text, in which the ids of items lead to them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass

from PySide6.QtCore import QUrl, Signal
from PySide6.QtGui import QTextCharFormat
from PySide6.QtWidgets import QWidget

from explorer.contract import ItemId
from explorer.ui.viewer_parts.ink import Ink, end_of, put, put_long
from explorer.ui.viewer_parts.readers import Reader

SHOWN_MOST = 300_000
"""Characters of one answer that are drawn; all of it is copied."""
_NOW = 8_000
_LISTS = ("items", "hits", "citations")


@dataclass(frozen=True)
class Part:
    """A piece of the text; `id` where it is an item's id, in its quotes."""

    text: str
    id: ItemId | None = None


def item_ids(answer: str) -> list[ItemId]:
    """The ids that stand for items in a tool's answer, in its order; those it could not see are none."""
    try:
        told = json.loads(answer)
    except ValueError:
        return []
    if not isinstance(told, dict):
        return []
    rows = [row for name in _LISTS for row in told.get(name) or []]
    return [ItemId(row["id"]) for row in [told, *rows] if isinstance(row, dict) and isinstance(row.get("id"), str)]


def parts(text: str, ids: list[ItemId]) -> Iterator[Part]:
    """`text` with its ids apart, given in the order in which they stand in it, each as the value of an `id`."""
    at = 0
    for id in ids:
        quoted = json.dumps(id, ensure_ascii=False)
        places = [(text.find(f'"id":{blank}{quoted}', at), blank) for blank in ("", " ")]
        start, blank = next(((place, blank) for place, blank in places if place >= 0), (-1, ""))
        if start < 0:
            continue
        start += len('"id":') + len(blank)
        yield Part(text[at:start])
        at = start + len(quoted)
        yield Part(text[start:at], id)
    yield Part(text[at:])


class ResultView(Reader):
    """Written piece by piece: a tool may answer with items of any size."""

    id_wanted = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("toolResult", parent)
        self._ids: list[ItemId] = []
        self.link_wanted.connect(self._on_link_wanted)

    async def show_answer(self, text: str, ids: list[ItemId], token: str = "text") -> None:
        """Show `text` in a colour of the theme, as far as `SHOWN_MOST`; ids are given as to `parts`."""
        self.start(8)
        self._ids = []
        written = told = 0
        for steps in self._steps(text[:SHOWN_MOST], ids, token):
            written += steps
            if written - told > _NOW:
                told = written
                await asyncio.sleep(0)
        self.go_to_start()

    def _steps(self, text: str, ids: list[ItemId], token: str) -> Iterator[int]:
        ink = Ink()
        plain = ink.chars("mono", token)
        cursor = end_of(self.document())
        cursor.setBlockFormat(ink.block())
        for part in parts(text, ids):
            if part.id is None:
                yield from put_long(cursor, part.text, plain, ink)
                continue
            link = QTextCharFormat(ink.chars("mono", "accent"))
            link.setAnchor(True)
            link.setAnchorHref(f"#{len(self._ids)}")  # never the id itself: it may be any text
            self._ids.append(part.id)
            put(cursor, part.text, link, ink)
            yield len(part.text)

    def _on_link_wanted(self, url: QUrl) -> None:
        at = url.fragment()
        if at.isdigit() and int(at) < len(self._ids):
            self.id_wanted.emit(self._ids[int(at)])
