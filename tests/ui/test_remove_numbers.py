"""The numbers of a plan: very many nodes, and very many years."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime

import pytest
from pytestqt.qtbot import QtBot

from explorer.contract import ItemId, Namespace
from explorer.removal.plan import Action, Plan, Target
from explorer.removal.preview import Preview
from explorer.ui.dialogs.plan_parts import numbers
from explorer.ui.dialogs.plan_parts.numbers import MonthBars, Numbers
from tests.ui.removing import told

ALL = Plan(Target.below(Namespace.ROOT), Action.FORGET, ())


def whole(nodes: Counter[Namespace]) -> Preview:
    ids = dict.fromkeys(ItemId(str(n)) for n in range(nodes.total()))
    return Preview(UTC, ids=ids, nodes=nodes, counted_at=datetime.now(UTC))


def test_of_many_nodes_only_those_seen_are_named(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    named: set[Namespace] = set()

    def label(node: Namespace, at: Namespace | None) -> str:
        named.add(node)
        return str(node)

    monkeypatch.setattr(numbers, "node_label", label)
    nodes = Counter({Namespace.parse(f"agent:n{n:04}"): 1 + (n == 7) for n in range(2_000)})
    preview = whole(nodes)
    part = Numbers(UTC)
    qtbot.addWidget(part)
    part.resize(800, 600)
    part.show()
    part.show_preview(ALL, preview)
    table = part.preview_table
    assert table.counts.size() == 2_000
    table.grab()
    assert 0 < len(named) < 50
    assert Namespace.parse("agent:n1999") not in named
    table.scrollToBottom()
    table.grab()
    assert Namespace.parse("agent:n1999") in named
    assert told(table)[0] == "agent:n0007, 2 items"


def test_the_same_numbers_of_another_node_are_named_anew(qtbot: QtBot) -> None:
    preview = whole(Counter({Namespace.parse("team:a/agent:b"): 3}))
    part = Numbers(UTC)
    qtbot.addWidget(part)
    part.show_preview(ALL, preview)
    assert told(part.preview_table) == ["team:a/agent:b, 3 items"]
    part.show_preview(Plan(Target.below(Namespace.parse("team:a")), Action.FORGET, ()), preview)
    assert told(part.preview_table) == ["agent:b, 3 items"]


@pytest.mark.parametrize(
    ("years", "first", "last"),
    [
        (range(1990, 2026), "1990: 1", "2025: 1"),
        (range(1026, 2026, 25), "1026: 1", "2001: 1"),  # forty of a thousand
        (range(1026, 2026, 10), "before 1636: 61", "2016: 1"),
    ],
)
def test_the_newest_years_are_always_among_the_bars(years: range, first: str, last: str, qtbot: QtBot) -> None:
    bars = MonthBars()
    qtbot.addWidget(bars)
    bars.show_months({f"{year:04}-01": 1 for year in years})
    said = bars.accessibleName().split(", ")
    assert (said[1], said[-1]) == (first, last)
    assert len(said) <= 41
