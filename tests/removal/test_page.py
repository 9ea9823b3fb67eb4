"""A receipt as a page: what it says, and that nothing stored becomes part of the page."""

from __future__ import annotations

import contextlib
import html
import re
from datetime import UTC, tzinfo
from html.parser import HTMLParser
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from explorer.contract import FetchMode, ItemId, MetaFilter, Namespace, Reach, Timestamp, Unavailable
from explorer.removal.journal import Journal
from explorer.removal.moving import Move, Way
from explorer.removal.outcome import Asked, Check
from explorer.removal.page import SUFFIX, check_words, heading, page, parts, verdict
from explorer.removal.plan import Action, Target, make_plan
from explorer.removal.receipts import Receipt
from explorer.removal.way_back import WayBack
from explorer.text import NARROW
from tests.fakes import filled, learning
from tests.removal.made import done
from tests.removal.written import begin, planned, ready, ten

HOSTILE = '<img src="https://evil.test/x"><script>alert(1)</script>&amp;\u202e\u2028\ud83d'
BERLIN = ZoneInfo("Europe/Berlin")


class Tags(HTMLParser):
    """What is markup in a page."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        self.attributes.update(name for name, _ in attrs)


def tags_of(text: str) -> Tags:
    tags = Tags()
    tags.feed(text)
    return tags


def plain(receipt: Receipt, zone: tzinfo) -> str:
    """All that a page says, as lines."""
    lines = [heading(receipt), *verdict(receipt)]
    for part in parts(receipt, zone):
        lines += [part.title, *("  ".join(row).rstrip() for row in part.rows), *part.said]
    return "\n".join(lines) + "\n"


async def test_a_clean_erase(tmp_path: Path, journal: Journal) -> None:
    removal = await ready(await ten(), journal, action=Action.ERASE)
    outcome = await done(removal)
    assert outcome.receipt is not None
    read = Receipt.read(outcome.receipt)
    assert heading(read) == "5 of 5 items erased"
    assert verdict(read) == ["Every question was asked again, and none found anything of what went."]
    text = plain(read, UTC)
    assert re.search(r"Where +agent:a and everything below it\n", text)
    assert re.search(r"Stored before +10\n", text)
    assert re.search(r"Stored after +5\n", text)
    assert re.search(r"Get +\d ids? +0 found\n", text)
    assert "There is none: nothing was exported first." in text
    assert "5 items may come back at the next sync of their source (folder): kb" in text
    assert str(outcome.receipt) in text
    assert outcome.receipt.with_suffix(SUFFIX).exists()


async def test_times_are_local_and_universal(journal: Journal) -> None:
    with begin(journal, await ready(await ten(), journal), "forget") as writer:
        writer.close(removed=5)
    text = plain(Receipt.read(writer.path), BERLIN)
    moments = re.findall(r"(?:Begun|Ended) +\d+ \w+ \d{4}, [\d:]+ CES?T \(UTC\+\d\) \([\d-]+ [\d:]+ UTC\)", text)
    assert len(moments) == 2


async def test_what_failed_is_named_with_its_reason(journal: Journal) -> None:
    removal = await ready(await ten(), journal)
    a, b, c, *_ = planned(removal)
    with begin(journal, removal, "forget") as writer:
        writer.note("failed", id=a, reason="it is locked")
        writer.note("asked", ids=[b])
        writer.note("checked", asked="fetch", mode="vector", questions=3, found=1, still=[{"id": c, "node": "agent:a"}])
        writer.note("checked", asked="recall", questions=1, quoted=1)
        writer.note("checked", asked="list", questions=1, error="the connection is gone")
        writer.close(removed=1, failed=1, not_tried=2, unanswered=[b], stopped="the connection is gone")
    read = Receipt.read(writer.path)
    assert heading(read) == "1 of 5 items forgotten"
    assert verdict(read) == [
        "It ended early: The connection is gone.",
        "The engine never answered for 1 item, which may be gone, or not.",
        "1 failed, 2 were not tried.",
        "Some of what was to go still answers: see the questions below.",
        "What went is still quoted by items that were not in the plan.",
        "Not every question could be asked again.",
    ]
    text = plain(read, UTC)
    assert re.search(rf"{a} +It is locked\.", text)
    assert re.search(rf"Fetch, vector +{c} +agent:a", text)
    assert re.search(r"Recall +1 question +1 quotes it +What was to go is gone, but", text)
    assert re.search(r"List +1 filter, read to the end +not known +The connection is gone\.", text)
    body = page(read, UTC)
    for said in verdict(read):
        assert html.escape(said) in body


async def test_nothing_stored_becomes_markup(journal: Journal, tmp_path: Path) -> None:
    engine = await filled([learning("x", "agent:a", folder=HOSTILE[:-1])])
    target = Target.of_filter(MetaFilter(reach=Reach.exact(Namespace.parse("agent:a")), folder=HOSTILE[:-1]))
    removal = await ready(engine, journal, target)
    removal.connection = HOSTILE
    removal.way_back = WayBack(tmp_path / HOSTILE, 1, 10, (ItemId(HOSTILE),))
    with begin(journal, removal, "forget") as writer:
        writer.note("failed", id=HOSTILE, reason=HOSTILE)
        writer.note("text", id=HOSTILE, text=HOSTILE)
        writer.note("erased", scopes=1, receipts=[HOSTILE])
        writer.note("remains", words=[HOSTILE])
        writer.note("refused", number=1, reason=HOSTILE)
        writer.note("checked", asked="get", found=1, still=[{"id": HOSTILE, "node": HOSTILE}], error=HOSTILE)
        writer.close(removed=0, failed=1, stopped=HOSTILE, continued_by=HOSTILE)
    body = writer.path.with_suffix(SUFFIX).read_text("utf-8")
    tags = tags_of(body)
    assert tags.seen == {"html", "head", "meta", "title", "style", "body", "h1", "h2", "p", "table", "tr", "th", "td"}
    assert tags.attributes == {"charset", "http-equiv", "content"}
    assert "\u202e" not in body
    assert body.count("evil.test") >= 8  # it is all there, as text
    assert "\u202e" not in plain(Receipt.read(writer.path), UTC)
    assert "⟦RLO⟧" in body


async def test_a_filter_is_told_in_the_words_of_the_window(journal: Journal) -> None:
    filter = MetaFilter(
        folder="/src", thread_id="t", tags_any=["a", "b"], observed_before=Timestamp.parse("2026-02-01T00:00:00Z")
    )
    engine = await filled([learning("x", "agent:a", folder="/src", tags=["a"])])
    with begin(journal, await ready(engine, journal, Target.of_filter(filter)), "forget") as writer:
        writer.close(removed=0)
    rows = dict(row for part in parts(Receipt.read(writer.path), UTC) for row in part.rows if len(row) == 2)
    assert {name: rows[name] for name in ("Folder under", "Thread is", "Tag is")} == {
        "Folder under": "/src",
        "Thread is": "t",
        "Tag is": "a or b",
    }
    assert not rows.keys() & set(MetaFilter.model_fields)


async def test_one_that_runs_and_one_that_was_interrupted(journal: Journal) -> None:
    removal = await ready(await ten(), journal)
    with begin(journal, removal, "forget") as writer:
        assert verdict(Receipt.read(writer.path))[0] == "It is still running; this is how far it is."
    assert verdict(Receipt.read(writer.path))[0].startswith("It was interrupted before it ended")
    assert not writer.path.with_suffix(SUFFIX).exists()
    journal.settle(writer.path)
    assert "the program ended before this did" in writer.path.with_suffix(SUFFIX).read_text("utf-8").lower()


def test_what_is_no_receipt_has_a_page_as_well(tmp_path: Path) -> None:
    path = tmp_path / "2026-07-03T145931Z-erase.jsonl"
    path.write_bytes(b"\x00\xff")
    read = Receipt.read(path)
    assert heading(read) == "This file is no receipt"
    assert str(path) in plain(read, UTC)
    assert tags_of(page(read, UTC)).seen >= {"h1", "p"}


async def test_very_many_failures_are_cut_and_counted(journal: Journal) -> None:
    removal = await ready(await ten(), journal)
    with begin(journal, removal, "forget") as writer:
        for n in range(1_500):
            writer.note("failed", id=f"{n:040x}", reason="no")
    text = plain(Receipt.read(writer.path), UTC)
    assert f"{999:040x}" in text
    assert f"{1000:040x}" not in text
    assert "And 500 more" in text or "and 500 more" in text


@pytest.mark.parametrize(
    ("check", "said"),
    [
        (Check(Asked.LIST, questions=1), ("List", "1 filter, read to the end", "0 found", "")),
        (Check(Asked.GET, questions=3895), ("Get", f"3{NARROW}895 ids", "0 found", "")),
        (Check(Asked.EXPLORE, questions=14), ("Explore", "14 facets", "0 found", "")),
        (Check(Asked.FETCH, FetchMode.HYBRID, 40), ("Fetch, hybrid", "40 texts of what went", "0 found", "")),
        (
            Check(Asked.FETCH, FetchMode.KEYWORD, 1, found=2),
            (
                "Fetch, keyword",
                "1 text of what went",
                "2 still answer",
                "The engine still answers with what was to go.",
            ),
        ),
        (
            Check(Asked.RECALL, questions=5, error="it timed out"),
            ("Recall", "5 questions", "not known", "It timed out."),
        ),
    ],
)
def test_words_of_checks(check: Check, said: tuple[str, ...]) -> None:
    words = check_words(check)
    assert (words.question, words.asked_with, words.result, words.because) == said


async def test_a_restore_has_a_page(journal: Journal) -> None:
    engine = await ten()
    with journal.start("restore", engine, "Notes", file={"path": "/home/u/out.jsonl", "size_bytes": 10}) as writer:
        writer.note("refused", number=7, reason="not JSON")
        writer.note("stored", new=3, replayed=2, refused=1)
        writer.close(new=3, replayed=2, refused=1)
    text = plain(Receipt.read(writer.path), UTC)
    assert text.startswith("3 items restored\n1 line was refused.\n")
    assert re.search(r"From the file +/home/u/out\.jsonl\n", text)
    assert re.search(r"Held already +2\n", text)
    assert re.search(r"7 +Not JSON\.\n", text)


async def test_a_move_names_the_syncs_that_may_bring_it_back(journal: Journal) -> None:
    source = await ten()
    plan = await make_plan(source, Target.below(Namespace.parse("agent:a")), Action.FORGET)
    move = Move(source, plan, source, Way(Namespace.parse("agent:z")), journal, "Notes", "Notes")
    async with contextlib.aclosing(move.count()) as counting:
        async for _ in counting:
            pass
    async with contextlib.aclosing(move.run()) as steps:
        outcome = [step.outcome async for step in steps][-1]
    assert outcome is not None
    assert outcome.receipt is not None
    text = plain(Receipt.read(outcome.receipt), UTC)
    assert "5 items may come back at the next sync of their source (folder): kb" in text


async def test_an_engine_that_is_never_there_ends_in_a_page(journal: Journal) -> None:
    engine = await ten()
    engine.fail("forget", Unavailable("the service is down"))
    removal = await ready(engine, journal)
    with contextlib.suppress(Unavailable):
        await done(removal)
    (entry,) = journal.entries()
    assert "The service is down." in entry.path.with_suffix(SUFFIX).read_text("utf-8")
