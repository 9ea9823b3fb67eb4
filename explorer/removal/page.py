"""A receipt to read and to print: as a page. Nothing in it is markup but what is made here."""

from __future__ import annotations

import html
import os
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from itertools import islice
from pathlib import Path
from typing import Protocol

from explorer.conditions import conditions
from explorer.contract import FetchMode, ItemKind, MetaFilter, Reach
from explorer.i18n import mark, mark_n, tr, tr_n
from explorer.removal.outcome import Asked, gone_besides
from explorer.removal.receipts import Receipt
from explorer.removal.remaining import not_covered
from explorer.removal.words import done
from explorer.removal.words import gone_besides as gone_besides_words
from explorer.text import (
    and_more,
    counted,
    duration,
    full_stop,
    inline,
    listed,
    named,
    number,
    sentence,
    shown,
    size,
    utc,
    when_full,
    word,
)

SUFFIX = ".html"
MOST_ROWS = 1_000
_MOST_NODES = 50
_MOST_TEXTS = 100
_LONG = 2_000

ACTIONS = {
    # Translators: what was done, in a list of what was done
    "forget": mark("Forget"),
    "erase": mark("Erase"),
    "move": mark("Move"),
    "copy": mark("Copy"),
    "restore": mark("Restore"),
}


class AnyCheck(Protocol):
    """A question asked again: as it was just asked, or as a receipt has it."""

    @property
    def asked(self) -> Asked: ...
    @property
    def mode(self) -> FetchMode | None: ...
    @property
    def questions(self) -> int: ...
    @property
    def found(self) -> int: ...
    @property
    def quoted(self) -> int: ...
    @property
    def error(self) -> str | None: ...
    @property
    def is_clean(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class CheckWords:
    """A row of the table of questions."""

    question: str
    asked_with: str
    result: str
    because: str
    """Why the result is no 0, a sentence; empty where it is."""


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of the page: a title, sentences, and a table, each of which may be missing."""

    title: str = ""
    said: tuple[str, ...] = ()
    head: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


def action_word(action: str) -> str:
    """`Erase`; one that is not known as it is."""
    return tr(ACTIONS[action]) if action in ACTIONS else inline(action)


def heading(receipt: Receipt) -> str:
    """`3 895 of 3 895 items erased`."""
    match receipt.action:
        case "forget" | "erase" | "move":
            return done(receipt.action, receipt.removed, receipt.planned)
        case "copy":
            return done(receipt.action, receipt.copied, receipt.planned)
        case "restore":
            return tr_n("{n} item restored", "{n} items restored", receipt.new, n=number(receipt.new))
        case "":
            return tr("This file is no receipt")
        case action:
            return inline(action)


def verdict(receipt: Receipt) -> list[str]:
    """What a person has to know of it first, in sentences."""
    if not receipt.is_readable:
        return [tr("Its first line cannot be read.")]
    said = []
    if receipt.is_running:
        said.append(tr("It is still running; this is how far it is."))
    elif not receipt.is_finished:
        said.append(tr("It was interrupted before it ended; what stands here is true up to then."))
    if receipt.stopped is not None:
        said.append(named(tr("It ended early"), sentence(receipt.stopped)))
    if receipt.unanswered_in_all:
        said.append(
            tr_n(
                "The engine never answered for {n} item, which may be gone, or not.",
                "The engine never answered for {n} items, which may be gone, or not.",
                receipt.unanswered_in_all,
                n=number(receipt.unanswered_in_all),
            )
        )
    left = listed(
        (
            _some(receipt.failed_in_all, *mark_n("{n} failed", "{n} failed")),
            _some(receipt.not_tried, *mark_n("{n} was not tried", "{n} were not tried")),
            _some(receipt.refused, *mark_n("{n} line was refused", "{n} lines were refused")),
        )
    )
    if left:
        said.append(full_stop(left))
    if n := _gone_besides(receipt):
        said.append(gone_besides_words(n))
    if receipt.is_finished and receipt.action in ("forget", "erase"):
        said += _checked_words(receipt)
    if receipt.continued_by is not None:
        said.append(named(tr("It went on in another receipt"), inline(receipt.continued_by)))
    if receipt.damaged_lines:
        lines = counted(receipt.damaged_lines, "line")
        said.append(tr("The receipt file is damaged: {lines} in it cannot be read.", lines=lines))
    return said


def _gone_besides(receipt: Receipt) -> int:
    before = None if receipt.stored_is_least else receipt.stored_before
    explained = receipt.removed + receipt.already_gone + receipt.unanswered_in_all
    return gone_besides(before, receipt.stored_after, explained) if receipt.action in ("forget", "erase") else 0


def _checked_words(receipt: Receipt) -> list[str]:
    checks = receipt.checks
    if not checks:
        return [tr("Nothing was asked again afterwards.")]
    said = []
    if any(check.found for check in checks):
        said.append(tr("Some of what was to go still answers: see the questions below."))
    if any(check.quoted for check in checks):
        said.append(tr("What went is still quoted by items that were not in the plan."))
    # The recall is asked last: without its line, the program ended before.
    if any(check.error is not None for check in checks) or not any(check.asked is Asked.RECALL for check in checks):
        said.append(tr("Not every question could be asked again."))
    return said or [tr("Every question was asked again, and none found anything of what went.")]


def _some(n: int, one: str, many: str) -> str:
    return tr_n(one, many, n, n=number(n)) if n else ""


def check_words(check: AnyCheck) -> CheckWords:
    n = number(check.questions)
    match check.asked:
        case Asked.LIST:
            question = tr("List")
            asked_with = tr_n("{n} filter, read to the end", "{n} filters, read to the end", check.questions, n=n)
        case Asked.GET:
            question = tr("Get")
            asked_with = tr_n("{n} id", "{n} ids", check.questions, n=n)
        case Asked.EXPLORE:
            question = tr("Explore")
            asked_with = tr_n("{n} facet", "{n} facets", check.questions, n=n)
        case Asked.FETCH:
            question = tr("Fetch, {mode}", mode=word(check.mode.value)) if check.mode is not None else tr("Fetch")
            asked_with = tr_n("{n} text of what went", "{n} texts of what went", check.questions, n=n)
        case Asked.RECALL:
            question = tr("Recall")
            asked_with = tr_n("{n} question", "{n} questions", check.questions, n=n)
    if check.error is not None:
        return CheckWords(question, asked_with, tr("not known"), sentence(check.error))
    if check.found:
        still = tr_n("{n} still answers", "{n} still answer", check.found, n=number(check.found))
        return CheckWords(question, asked_with, still, tr("The engine still answers with what was to go."))
    if check.quoted:
        still = tr_n("{n} quotes it", "{n} quote it", check.quoted, n=number(check.quoted))
        because = tr("What was to go is gone, but an item that was not in the plan says the same words.")
        return CheckWords(question, asked_with, still, because)
    return CheckWords(question, asked_with, tr("{n} found", n=number(0)), "")


def parts(receipt: Receipt, zone: tzinfo) -> list[Part]:
    """What stands below the heading and the verdict, in order."""
    if not receipt.is_readable:
        return [Part(rows=((tr("Receipt file"), inline(str(receipt.path), _LONG)),))]
    remains = not_covered(receipt) if receipt.action in ("forget", "erase", "move") else []
    made = [
        Part(rows=tuple(_about(receipt, zone))),
        Part(tr("Numbers"), rows=tuple(_numbers(receipt))),
        _check_part(receipt),
        _still_part(receipt),
        _table(tr("Nodes"), (tr("Node"), tr("Items")), _node_rows(receipt), receipt.nodes_in_all, _MOST_NODES),
        _table(tr("Failed"), (tr("Item"), tr("Reason")), _failed_rows(receipt), receipt.failed_in_all),
        _table(tr("Never answered"), (tr("Item"),), ((id,) for id in receipt.unanswered), receipt.unanswered_in_all),
        _table(tr("Refused lines"), (tr("Line"), tr("Reason")), _line_rows(receipt), receipt.refused),
        _table(tr("Receipts of the engine"), (), ((text,) for text in receipt.receipts), len(receipt.receipts)),
        Part(tr("Way back"), _way_back(receipt)) if receipt.action in ("forget", "erase") else Part(),
        Part(tr("What this does not cover"), tuple(one.words for one in remains)),
        _table(
            tr("What the items said"), (tr("Item"), tr("Text")), receipt.texts.items(), len(receipt.texts), _MOST_TEXTS
        ),
    ]
    return [part for part in made if part.said or part.rows]


def _about(receipt: Receipt, zone: tzinfo) -> Iterable[tuple[str, str]]:
    yield tr("Done"), action_word(receipt.action)
    yield from _target(receipt, zone)
    yield tr("Connection"), inline(receipt.connection)
    yield tr("Engine"), inline(receipt.engine_label or receipt.engine_id)
    if receipt.begun_at is not None:
        yield tr("Begun"), _moment(receipt.begun_at, zone)
    if receipt.ended_at is not None:
        yield tr("Ended"), _moment(receipt.ended_at, zone)
    if receipt.waited_s:
        yield tr("Waited for the engine"), duration(receipt.waited_s)
    yield tr("Program"), inline(receipt.version)
    yield tr("Receipt file"), inline(str(receipt.path), _LONG)


def _moment(at: datetime, zone: tzinfo) -> str:
    local, universal = when_full(at, zone), utc(at)
    return local if zone is UTC else f"{local} ({universal})"


def _target(receipt: Receipt, zone: tzinfo) -> Iterable[tuple[str, str]]:
    if isinstance(name := receipt.facts.get("to_connection"), str):
        yield tr("To the memory"), inline(name, _LONG)
    if isinstance(to := receipt.facts.get("to"), str):
        yield tr("To"), inline(to, _LONG)
    if isinstance(file := receipt.facts.get("file"), dict) and isinstance(file.get("path"), str):
        yield tr("From the file"), inline(file["path"], _LONG)
    target = receipt.target
    if target is None:
        return
    if target.filter is None:
        yield (
            tr("What"),
            tr_n(
                "{n} item chosen by itself", "{n} items chosen one by one", receipt.planned, n=number(receipt.planned)
            ),
        )
    elif target.is_whole_tree:
        yield tr("What"), tr("the whole tree, sandboxes included")
    else:
        yield from _filter(target.filter, zone)
    if receipt.kinds:
        kinds = (named(word(kind), number(n)) for kind, n in receipt.kinds.items() if kind in list(ItemKind))
        yield tr("Kinds"), listed(kinds)


def _filter(filter: MetaFilter, zone: tzinfo) -> Iterable[tuple[str, str]]:
    if filter.reach is not None:
        yield tr("Where"), _reach(filter.reach)
    for one in conditions(filter.model_copy(update={"reach": None}), zone):
        yield one.words[:1].upper() + one.words[1:], inline(one.value, _LONG)


def _reach(reach: Reach) -> str:
    node = inline(str(reach.at), _LONG)
    return tr("{node} and everything below it", node=node) if reach.descendants else tr("{node} alone", node=node)


def _numbers(receipt: Receipt) -> Iterable[tuple[str, str]]:
    def rows(*pairs: tuple[str, int]) -> Iterable[tuple[str, str]]:
        return ((name, number(n)) for name, n in pairs)

    match receipt.action:
        case "restore":
            yield from rows((tr("Restored"), receipt.new), (tr("Held already"), receipt.replayed))
            yield from rows((tr("Refused lines"), receipt.refused))
            return
        case "move" | "copy":
            yield from rows((tr("Planned"), receipt.planned), (tr("At their new place"), receipt.copied))
        case _:
            yield from rows((tr("Planned"), receipt.planned), (tr("Removed"), receipt.removed))
    yield from rows((tr("Gone before"), receipt.already_gone), (tr("Failed"), receipt.failed_in_all))
    yield from rows((tr("Not tried"), receipt.not_tried), (tr("Never answered"), receipt.unanswered_in_all))
    if receipt.action not in ("forget", "erase"):
        return
    yield tr("Stored before"), number(receipt.stored_before) + ("+" if receipt.stored_is_least else "")
    yield tr("Stored after"), tr("not known") if receipt.stored_after is None else number(receipt.stored_after)
    if receipt.erased_scopes is not None:
        yield from rows((tr("Nodes erased, each kind by itself"), receipt.erased_scopes))


def _check_part(receipt: Receipt) -> Part:
    words = [check_words(check) for check in receipt.checks]
    rows = tuple((one.question, one.asked_with, one.result, one.because) for one in words)
    return Part(tr("Asked again"), (), (tr("Question"), tr("With"), tr("Result"), "") if rows else (), rows)


def _still_part(receipt: Receipt) -> Part:
    rows = [(check_words(check).question, one.id, one.node) for check in receipt.checks for one in check.still]
    return _table(tr("Still answers"), (tr("Question"), tr("Item"), tr("Node")), rows, len(rows))


def _node_rows(receipt: Receipt) -> Iterable[tuple[str, str]]:
    return ((node, number(n)) for node, n in receipt.nodes.items())


def _failed_rows(receipt: Receipt) -> Iterable[tuple[str, str]]:
    return ((id, sentence(reason)) for id, reason in receipt.failed.items())


def _line_rows(receipt: Receipt) -> Iterable[tuple[str, str]]:
    return ((number(at), sentence(reason)) for at, reason in receipt.refused_lines)


def _way_back(receipt: Receipt) -> tuple[str, ...]:
    kept = receipt.way_back
    if kept is None:
        return (tr("There is none: nothing was exported first."),)
    said = [
        named(
            tr("{items} in a file of {size}", items=counted(kept.items, "item"), size=size(kept.size_bytes)),
            inline(str(kept.path), _LONG),
        )
    ]
    if kept.incomplete:
        said.append(
            tr("{items} could not be exported whole and cannot be restored.", items=counted(kept.incomplete, "item"))
        )
    return tuple(said)


def _table(title: str, head: tuple[str, ...], rows: Iterable[Sequence[str]], total: int, most: int = MOST_ROWS) -> Part:
    taken = tuple(tuple(inline(cell, _LONG) for cell in row) for row in islice(rows, most))
    more = (full_stop(tr("{more}, all of them in the receipt file", more=and_more(total - len(taken)))),)
    return Part(title, more if total > len(taken) else (), head if taken else (), taken)


_STYLE = """
body { font-family: sans-serif; font-size: 10pt; color: #1c1c1a; background: #ffffff; margin: 2em; }
h1 { font-size: 17pt; font-weight: 600; margin-bottom: 4px; }
h2 { font-size: 12pt; font-weight: 600; margin-top: 18px; margin-bottom: 4px; }
table { border-collapse: collapse; margin-top: 8px; }
th { text-align: left; font-weight: 600; padding: 3px 18px 3px 0; border-bottom: 1px solid #8a8a86; }
td { text-align: left; vertical-align: top; padding: 3px 18px 3px 0; }
p { margin-top: 2px; margin-bottom: 4px; }
"""


def page(receipt: Receipt, zone: tzinfo) -> str:
    """The receipt as an HTML page without anything from outside; printed by what draws simple HTML."""
    body = [f"<h1>{_markup(heading(receipt))}</h1>", *(f"<p>{_markup(said)}</p>" for said in verdict(receipt))]
    for part in parts(receipt, zone):
        if part.title:
            body.append(f"<h2>{_markup(part.title)}</h2>")
        if part.rows:
            body.append("<table>")
            if part.head:
                body.append("<tr>" + "".join(f"<th>{_markup(cell)}</th>" for cell in part.head) + "</tr>")
            body += ["<tr>" + "".join(f"<td>{_markup(cell)}</td>" for cell in row) + "</tr>" for row in part.rows]
            body.append("</table>")
        body += [f"<p>{_markup(said)}</p>" for said in part.said]
    return (
        '<!DOCTYPE html>\n<html><head><meta charset="utf-8">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{_markup(heading(receipt))}</title><style>{_STYLE}</style></head>\n<body>\n"
        + "\n".join(body)
        + "\n</body></html>\n"
    )


def _markup(text: str) -> str:
    """`text` as it is written, on one line, whatever it holds."""
    return html.escape(shown(text, _LONG * 2))


def write_page(path: Path) -> Path:
    """Write the page of a receipt beside it, in this computer's time zone. Raises FileError, OSError."""
    zone = datetime.now().astimezone().tzinfo or UTC
    target = path.with_suffix(SUFFIX)
    data = page(Receipt.read(path), zone).encode("utf-8", errors="replace")
    handle, temporary = tempfile.mkstemp(prefix=f".{path.stem}-", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise
    return target
