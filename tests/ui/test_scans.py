"""How far the counts of a panel go."""

from __future__ import annotations

from explorer.contract.query import DEFAULT_SCAN, MAX_SCAN
from explorer.ui.scans import Scan


def test_everything_is_counted_in_steps_as_far_as_the_contract_lets_it():
    scan = Scan()
    assert not scan.step(is_cut=True), "nobody has asked for everything"
    scan.begin_all(DEFAULT_SCAN)
    limits = [scan.limit]
    while scan.step(is_cut=True):
        limits.append(scan.limit)
    assert limits == [20_000, MAX_SCAN]
    assert not scan.can_go_on


def test_it_ends_with_the_last_item_and_goes_on_from_what_is_counted():
    scan = Scan(limit=10)
    scan.begin_all(30)
    assert scan.limit == 120
    assert not scan.step(is_cut=False)
    assert not scan.step(is_cut=True), "it has ended"


def test_another_filter_is_counted_as_far_as_usual():
    scan = Scan()
    assert not scan.begin(), "nothing was said of everything"
    scan.begin_all(0)
    assert scan.begin()
    assert scan == Scan()


def test_where_counting_stopped_is_said_once():
    scan = Scan()
    assert scan.words_at_end(12, is_cut=True) == "Counted 12 of more items"
    assert scan.words_at_end(12, is_cut=True) is None
    assert scan.words_at_end(30, is_cut=False) == ""
    assert scan.words_at_end(12, is_cut=True) == "Counted 12 of more items"
    assert scan.words_so_far(12) == "Counting everything, 12 items so far…"
    assert scan.words_at_end(12, is_cut=True) == "Counted 12 of more items"
    scan.end_all()
    assert scan.words_at_end(12, is_cut=True) == "Counted 12 of more items", "a failure stood in its place"
