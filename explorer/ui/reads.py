"""What a window does in the background: each lane by name, in words for the list of jobs.

A lane stands here, or it is called `Working` there. None is never a job, and says why.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Protocol

from explorer.i18n import tr, tr_n
from explorer.text import counted, number
from explorer.ui.job_list import Progress, Read

if TYPE_CHECKING:
    from explorer.ui.dialogs.connect import ConnectDialog
    from explorer.ui.jobs import Jobs
    from explorer.ui.main_window import MainWindow
    from explorer.ui.palette import Palette

Reads = Mapping[str, Read | None]


class Counting(Protocol):
    """What a panel tells of its count under the filter that is shown."""

    @property
    def has_counted(self) -> bool: ...

    @property
    def counted_items(self) -> tuple[int, bool]: ...


def watch(window: MainWindow) -> None:
    """Make jobs of what the window and its panels do by themselves, or are told to, once it takes long."""
    owners = (
        (window.jobs, of_window(window)),
        (window.watch.jobs, of_watch()),
        (window.namespaces.jobs, of_namespaces(window)),
        (window.facets.jobs, of_facets(window)),
        (window.timeline.jobs, of_timeline(window)),
        (window.items.jobs, of_items(window)),
        (window.viewer.jobs, of_viewer(window)),
        (window.context.jobs, of_context(window)),
        (window.compare.jobs, of_compare(window)),
        (window.journal.jobs, of_journal(window)),
        (window.console.jobs, of_console(window)),
        (window.asking.jobs, of_asking(window)),
    )
    for jobs, reads in owners:
        window.job_list.watch(jobs, reads)


def of_window(window: MainWindow) -> Reads:
    stored = tr("Looking whether the item is still stored")
    return {
        "open item": Read(stored, partial(window.jobs.stop, "open item")),
        "health": None,  # asked by itself twice a minute, and told by the badge, whatever comes of it
    }


def of_watch() -> Reads:
    return {"changes": None}  # asked by itself every two seconds: a job would come and go all the time


def of_palette(palette: Palette) -> Reads:
    """The window watches them once it has made its palette."""
    return {"ask": Read(tr("Reading more for the palette"), palette.cancel_asking)}


def of_namespaces(window: MainWindow) -> Reads:
    panel = window.namespaces

    def nodes() -> Progress:
        is_running = panel.jobs.is_running("counts")  # those that are there are of before
        return "" if is_running else counted(len(panel.names()), "node"), None

    def items() -> Progress:
        return _scanned(window, panel)

    return {
        "counts": Read(tr("Counting the nodes"), panel.cancel_counting, nodes),
        "everything": Read(tr("Counting everything at the nodes"), panel.cancel_counting, items, holds_window=True),
    }


def of_facets(window: MainWindow) -> Reads:
    panel = window.facets

    def facets() -> Progress:
        if panel.is_partial:
            return items()
        done, total = panel.counted_facets
        # Of many that are counted at one go nothing is known before all are there.
        said = tr_n("{n} of {total} facet", "{n} of {total} facets", total, n=number(done), total=number(total))
        return said, done / total if done else None

    def items() -> Progress:
        return _scanned(window, panel)

    return {
        "counts": Read(tr("Counting the facets"), panel.cancel_counting, facets),
        "everything": Read(tr("Counting everything"), panel.cancel_counting, items, holds_window=True),
    }


def of_context(window: MainWindow) -> Reads:
    context = window.context
    writing = Read(tr("Writing context.md to the screen"), context.pages.stop)
    return {
        "gather": Read(tr("Compiling context.md"), context.stop),
        "items": Read(tr("Listing the items of context.md"), partial(context.jobs.stop, "items")),
        "count": Read(tr("Counting the tokens of context.md"), partial(context.jobs.stop, "count")),
        "parse": writing,
        "first": writing,
        "rest": writing,
        "save": None,  # waits for a person
        "link": None,
    }


def of_compare(window: MainWindow) -> Reads:
    return {
        "gather": Read(tr("Compiling context.md for another node"), window.compare.stop),
        "compare": Read(tr("Comparing two documents"), window.compare.stop),
    }


def of_journal(window: MainWindow) -> Reads:
    return {
        "read": Read(tr("Reading the journal"), partial(window.journal.jobs.stop, "read")),
        "settle": Read(tr("Ending a receipt"), None),
    }


def of_console(window: MainWindow) -> Reads:
    jobs = window.console.jobs
    return {
        "call": Read(tr("Calling a tool of the agent"), partial(jobs.stop, "call"), holds_window=True),
        "write": Read(tr("A tool of the agent that writes"), partial(jobs.stop, "write"), holds_window=True),
        "show": None,  # writes what came, a piece at a time
        "open": Read(tr("Reading an item of the answer"), partial(jobs.stop, "open")),
    }


def of_asking(window: MainWindow) -> Reads:
    stored = Read(tr("Looking whether answers still hold"), partial(window.asking.jobs.stop, "stored"))
    return {
        "ask": Read(tr("Asking"), window.asking.cancel),
        "stored": stored,
        "settings": None,  # a small file of the program's own
    }


def of_receipts(jobs: Jobs) -> Reads:
    """Of what is done with single receipts: one of a million lines takes a while to be read."""
    return {
        **{lane: Read(tr("Reading a receipt"), partial(jobs.stop, lane)) for lane in ("open", "continue", "restore")},
        "leave": None,
    }


def of_timeline(window: MainWindow) -> Reads:
    view = window.timeline

    def once() -> Progress:
        is_running = view.jobs.is_running("histogram")  # what is there is of before
        return "" if is_running else counted(view.counted_items[0], "item", view.counted_items[1]), None

    def items() -> Progress:
        return _scanned(window, view)

    return {
        "histogram": Read(tr("Counting over time"), view.cancel_counting, once),
        "everything": Read(tr("Counting everything over time"), view.cancel_counting, items, holds_window=True),
    }


def of_items(window: MainWindow) -> Reads:
    items = window.items

    def cancel(lane: str) -> Callable[[], None]:
        return partial(items.jobs.stop, lane)

    def rows() -> Progress:
        return items.loaded_label.text(), None

    def so_far() -> Progress:
        return items.count_label.text(), None

    copied, written = (partial(items.copies.progress, lane) for lane in ("copy", "drag"))
    lists = Read(tr("Reading the list"), items.cancel_reading, rows)
    counting = Read(tr("Counting the items"), items.cancel_counting)
    return {
        "first": lists,
        "rows": lists,
        "page": lists,
        "grow": lists,
        "why": Read(tr("Looking why nothing is shown"), items.cancel_reading),
        "count": counting,
        "stored": counting,
        "place": Read(tr("Looking for the row of an item"), cancel("place")),
        "kinds": Read(tr("Reading the kinds of learnings"), cancel("kinds")),
        "all": Read(tr("Counting all of the list"), items.cancel_counting, so_far, holds_window=True),
        "copy": Read(tr("Copying items"), items.copies.cancel, copied, holds_window=True),
        "drag": Read(tr("Writing a file to pull out"), cancel("drag"), written, holds_window=True),
    }


def of_viewer(window: MainWindow) -> Reads:
    viewer = window.viewer
    stop = viewer.cancel_reading

    def rest() -> Progress:
        return viewer.rest_progress

    reading = Read(tr("Reading the item"), stop)
    return {
        "item": reading,
        "parse": reading,
        "first": reading,
        "thread": Read(tr("Looking for the conversation"), stop),
        "raw": Read(tr("Writing the item as JSON"), stop),
        "why": Read(tr("Asking why it was found"), stop),
        "fingerprint": Read(tr("Checking the id of the item"), stop),
        "seen": Read(tr("Looking who can see the item"), stop),
        "rest": Read(tr("Loading the rest of the item"), viewer.cancel_rest, rest),
        "find": Read(tr("Looking for words in the item"), partial(viewer.jobs.stop, "find")),
        "copy": Read(tr("Copying the item as JSON"), partial(viewer.jobs.stop, "copy"), holds_window=True),
        "link": None,  # waits for a person
    }


def of_connections(dialog: ConnectDialog) -> Reads:
    return {
        "test": Read(tr("Testing the connection"), dialog.stop_test),
        "check": Read(tr("Checking the settings of the connection"), partial(dialog.jobs.stop, "check")),
        "save": Read(tr("Saving the connection"), None),  # half of it must not be written
        "keyring": Read(tr("Looking for the keyring"), partial(dialog.jobs.stop, "keyring")),
        "choose": None,  # waits for a person
    }


def _scanned(window: MainWindow, panel: Counting) -> Progress:
    """Items that were counted so far, and their share of those in the list, where these are the same and known."""
    if not panel.has_counted:
        return tr("Nothing counted so far"), None
    n, is_least = panel.counted_items
    filter = window.trail.current.filter
    total = window.items.known_total(filter) if filter.is_empty() else None
    return counted(n, "item", is_least), n / total if is_least and total and n < total else None
