"""What is open in one window: files, saved connections and the sample, one at a time, and the end of it."""

from __future__ import annotations

import asyncio
import logging
import os
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from PySide6.QtWidgets import QMessageBox

from explorer import text
from explorer.asking import WriterStore
from explorer.asking.settings import FILE_NAME
from explorer.contract import ConfigError, EngineHealth, MemoryEngine, TinyMemoryError
from explorer.engines import (
    ConnectionStore,
    EngineCredential,
    EngineSettings,
    KeyStore,
    SavedConnection,
    build_engine,
    file_settings,
    find_credential,
    list_engines,
    read_only_view,
)
from explorer.engines.place import has_no_file
from explorer.i18n import tr, tr_n
from explorer.options import Options
from explorer.removal.journal import is_done_in
from explorer.sample import ensure_sample
from explorer.ui import reads
from explorer.ui.ask import ask, confirm
from explorer.ui.dialogs.connect import ConnectDialog
from explorer.ui.dialogs.connect_parts.cards import engine_icon
from explorer.ui.dialogs.key import KeyDialog
from explorer.ui.engine_words import engine_label
from explorer.ui.files import choose_memory, not_there
from explorer.ui.job_list import Job, Read
from explorer.ui.jobs import Jobs
from explorer.ui.main_window import MainWindow
from explorer.ui.models.journal_model import title_of, where_of
from explorer.ui.moves import Moves
from explorer.ui.receipts import Receipts
from explorer.ui.removals import Removals
from explorer.ui.toolbar import CHOOSE_FILE, MANAGE, Choice
from explorer.ui.transfers import Transfers

log = logging.getLogger(__name__)

_SAMPLE_KEY = "sample"
_SAVED_KEY = "saved:"
_FILE_KEY = "file:"
_TOLD_MOST = 5


@dataclass(frozen=True)
class Opened:
    """What is open: a key of the picker, and how to open it again."""

    key: str
    name: str
    engine_id: str
    settings: EngineSettings
    credential: EngineCredential = None


class _Gone(ConfigError):
    """A memory whose file is not there."""

    def __init__(self, opened: Opened) -> None:
        super().__init__(not_there(opened.settings.path))
        self.opened = opened


class Program:
    """Opens memories into one window, one at a time, and ends in order. Each window has an engine of its own."""

    def __init__(self, window: MainWindow, store: ConnectionStore, keys: KeyStore, sample: Path) -> None:
        self.window = window
        self.store = store
        self.keys = keys
        self._sample = sample
        self._opened: Opened | None = None
        self._unlocked: MemoryEngine | None = None
        """The engine that was locked as it was: the window has a view of it, and unlocking gives it back."""
        self._saved: list[SavedConnection] = []
        self.has_failed = False  # whether something could not be opened
        self.transfers = Transfers(window)
        window.context.memory_path = lambda: self.transfers.memory_path
        journal = window.journal.journal
        self.removals = Removals(window, journal)
        self.receipts = Receipts(window, self.removals)
        self.moves = Moves(window, journal, store, keys)
        window.asking.writers = WriterStore(store.path.with_name(FILE_NAME))
        self.jobs = Jobs(window)
        self.closing = asyncio.Event()
        self._question: QMessageBox | None = None  # about jobs that run
        window.connection_chosen.connect(self._on_window_connection_chosen)
        window.open_action.triggered.connect(self._on_open_action_triggered)
        window.connections_action.triggered.connect(self._on_connections_action_triggered)
        window.read_only_wanted.connect(self._on_window_read_only_wanted)
        window.connection_renamed.connect(self.follow_rename)
        window.close_wanted.connect(self._on_window_close_wanted)
        self.jobs.failed.connect(self._on_jobs_failed)

    @property
    def name(self) -> str:
        """What is open in the window, by name."""
        return self._opened.name if self._opened is not None else ""

    @property
    def key(self) -> str:
        """What is open in the window, as the picker has it."""
        return self._opened.key if self._opened is not None else ""

    # Opening

    async def start(self, options: Options, key: str = "", *, is_first: bool = True) -> None:
        """Open what the command line names, else what has that key, else what was open last, else the sample.

        `is_first`: among the windows that are opened together; what concerns all of them is said in it.
        """
        await asyncio.to_thread(list_engines)  # imports them all, which takes a moment
        await self._load_saved()
        self._show_choices()  # there is a way on even where nothing can be opened
        if options.open_path is not None:
            await self.open_file(options.open_path, is_read_only=options.is_read_only)
        elif options.connection is not None:
            await self.open_saved(options.connection, is_read_only=options.is_read_only)
        elif key:
            await self._open_key(key, is_read_only=options.is_read_only)
        elif options.is_sample or not self._saved:
            await self.open_sample(is_read_only=options.is_read_only)
        else:
            await self._open_last(is_read_only=options.is_read_only)
        if options.filter is not None and self.window.engine is not None:
            self.window.go_to_filter(options.filter)
        self._say_notices()
        if is_first and options.shot is None:  # a picture is of the memory alone
            await self._say_interrupted()

    async def _open_last(self, *, is_read_only: bool) -> None:
        """Open what was open last; the sample where that is not possible any more."""
        last = max(self._saved, key=lambda saved: saved.last_opened.unix_ns if saved.last_opened is not None else 0)
        try:
            await self.open_saved(last.name, is_read_only=is_read_only)
        except TinyMemoryError as error:
            await self.open_sample(is_read_only=is_read_only)
            self._say_failed(error)
        else:
            if self.window.engine is None:  # its key was not given
                await self.open_sample(is_read_only=is_read_only)

    async def open_like(self, other: Program) -> None:
        """Open what another window shows, and show the same of it; a key that was given there is not asked again."""
        await self._load_saved()
        self._show_choices()
        if other._opened is not None and await self._open(other._opened):
            self.window.go(other.window.trail.current)

    async def open_sample(self, *, is_read_only: bool = False) -> None:
        # Translators: the title of a job: the sample memory is written to a file.
        making = Read(tr("Prepare the sample memory"), partial(self.jobs.cancel, "open"))
        with self.window.job_list.if_slow(making):
            path = await ensure_sample(self._sample)
        settings = EngineSettings(path=str(path), read_only=is_read_only or None)
        await self._open(Opened(_SAMPLE_KEY, tr("Sample memory"), "sqlite", settings))

    async def open_file(self, path: Path, *, is_read_only: bool = False, may_be_new: bool = True) -> None:
        path = _absolute(path)
        settings = file_settings(path, read_only=is_read_only or None)
        await self._open(Opened(f"{_FILE_KEY}{path}", path.name, "sqlite", settings), may_be_new=may_be_new)

    async def open_saved(self, name: str, *, is_read_only: bool = False, may_be_new: bool = False) -> None:
        """Open a saved connection, read-only at least where it is saved so, asking for its key where it is not kept."""
        await self._load_saved()
        saved = next((saved for saved in self._saved if saved.name == name), None)
        if saved is None:
            self.has_failed = True
            self.window.show_error(
                tr("There is no saved connection named {name}. Open Connections to see them.", name=text.inline(name))
            )
            return
        # Translators: the title of a job: the keyring may ask for a password first.
        title = tr("Read the key of {name}", name=text.isolate(text.shown(name, 60)))
        with self.window.job_list.if_slow(Read(title, partial(self.jobs.cancel, "open"))):
            found = await asyncio.to_thread(find_credential, saved, self.keys)
        credential: EngineCredential = found.credential
        if found.ask_because is not None:
            dialog = KeyDialog(saved.name, found.ask_because, self.window)
            if not await ask(dialog):
                return
            credential = dialog.credential
        settings = saved.engine_settings
        if is_read_only:
            settings = settings.model_copy(update={"read_only": True})
        opened = Opened(f"{_SAVED_KEY}{name}", name, saved.engine, settings, credential)
        await self._open(opened, may_be_new=may_be_new)

    async def _open(self, opened: Opened, *, may_be_new: bool = False) -> bool:
        """Show `opened` in the window; False where it cannot be opened, which is said, and what was open stays.

        The view stays where `opened` is what is open already, opened in another way. Raises ConfigError for a file that
        is not there, unless it `may_be_new`: an empty one in its place would look as if all had been forgotten.
        """
        if not may_be_new and await asyncio.to_thread(has_no_file, opened.settings):
            raise _Gone(opened)
        engine = build_engine(opened.engine_id, opened.settings, opened.credential)
        # Translators: the title of a job: a file, or a connection, is being opened.
        opening = tr("Open {name}", name=text.isolate(text.shown(opened.name, 60)))
        try:
            with self.window.job_list.if_slow(Read(opening, partial(self.jobs.cancel, "open"))):
                health = await engine.health()
            old = self.window.engine
            is_shown = health.is_serving or old is None
            # Only now: nothing is to be cancelled for what cannot be opened, nor begin between question and answer.
            may_show = is_shown and await self._may_end_jobs(tr("Cancel jobs and open"), tr("Cancel"))
        except BaseException:  # cancelled too: by the next choice, or by the end
            await self._close_engine(engine)
            raise
        if not may_show:
            await self._close_engine(engine)
            self._show_choices()
            if not is_shown:
                self._say_down(opened, health)
            return False
        self._unlocked = None
        self._show(opened, engine)
        if not health.is_serving:
            self._say_down(opened, health)
        if old is not None:
            await self._close_engine(old)
        if health.is_serving and opened.key.startswith(_SAVED_KEY):
            await self._touch(opened.key.removeprefix(_SAVED_KEY))
        return health.is_serving

    def _show(self, opened: Opened, engine: MemoryEngine) -> None:
        keeps_view = self._opened is not None and self._opened.key == opened.key
        self._opened = opened
        self.window.show_engine(
            engine,
            opened.name,
            is_read_only=bool(opened.settings.read_only),
            keeps_view=keeps_view,
            key=opened.key,
        )
        self.transfers.leave(opened.settings.path)
        self.removals.leave(opened.settings.path)
        self.moves.leave(opened.settings.path, opened.name if opened.key.startswith(_SAVED_KEY) else "")
        self._show_choices()

    async def _turn_lock(self, opened: Opened, *, is_read_only: bool) -> None:
        """Lock what is open, or unlock it where the person says so again; for this session, whatever is saved."""
        if not is_read_only and not await self._is_unlocking_wanted(opened):
            return
        turned = replace(opened, settings=opened.settings.model_copy(update={"read_only": is_read_only or None}))
        engine = self._unlocked
        if is_read_only and self.window.engine is not None and not self.window.engine.descriptor().needs_path:
            engine = self.window.engine
        if engine is None:  # a file, which is locked on the disk as well; or one that was opened locked
            await self._open(turned)
        elif await self._may_end_jobs(tr("Cancel jobs and open"), tr("Cancel")):
            # As it is, not opened anew: one that is held in memory would be empty.
            self._unlocked = engine if is_read_only else None
            self._show(turned, read_only_view(engine) if is_read_only else engine)

    async def _is_unlocking_wanted(self, opened: Opened) -> bool:
        name = opened.key.removeprefix(_SAVED_KEY) if opened.key.startswith(_SAVED_KEY) else ""
        is_kept = any(saved.name == name and saved.settings.read_only for saved in self._saved)
        said = tr("What is stored there can then be changed and removed, until you lock it or open another memory.")
        if is_kept:
            said += " " + tr("The saved connection stays read-only: at the next start it is locked again.")
        return await confirm(
            self.window, tr("Allow changes in {name}?", name=text.inline(opened.name)), said, tr("Allow changes")
        )

    def _say_down(self, opened: Opened, health: EngineHealth) -> None:
        self.has_failed = True
        name = text.inline(opened.name)
        if health.reason:
            said = tr("{name} cannot be opened: {reason}.", name=name, reason=text.shown(health.reason, 600))
        else:
            said = tr("{name} cannot be opened: the engine is down.", name=name)
        if opened.key.startswith(_SAVED_KEY):
            said += " " + tr("Connections has its settings.")
        self.window.show_error(said, retry=lambda: self._start_open(opened))

    def _start_open(self, opened: Opened, *, may_be_new: bool = False) -> None:
        self.jobs.start("open", self._open(opened, may_be_new=may_be_new), lambda _: None)

    async def _close_engine(self, engine: MemoryEngine) -> None:
        try:
            await engine.aclose()
        except TinyMemoryError as error:
            log.warning("closing an engine: %s", error)

    async def _touch(self, name: str) -> None:
        """Remember that `name` was opened last; where that cannot be written, it is open all the same."""
        try:
            await asyncio.to_thread(self.store.touch, name)
        except TinyMemoryError as error:
            log.warning("remembering what was opened: %s", error)

    async def _load_saved(self) -> None:
        try:
            self._saved = await asyncio.to_thread(self.store.load)
        except TinyMemoryError as error:
            self.window.show_exception(error)

    def _say_notices(self) -> None:
        """What was found out about the saved connections; after an opening, which clears the banner."""
        if self.store.notices:
            self.window.error_banner.show_note(" ".join(text.shown(notice, 600) for notice in self.store.notices))
            self.store.notices.clear()

    async def _say_interrupted(self) -> None:
        """Offer to go on with what was interrupted; where the banner says something else already, the journal does."""
        window = self.window
        try:
            found = await asyncio.to_thread(window.journal.journal.unfinished)
        except TinyMemoryError as error:
            log.warning("looking for what was interrupted: %s", error)
            return
        if not found:
            return
        first, engine = found[0], window.engine
        is_of_this = engine is not None and is_done_in(first, engine, self.name)
        if window.error_banner.sentence:
            window.show_journal(first.path)
        elif len(found) > 1 or window.is_read_only or not is_of_this:
            n = len(found)
            said = tr_n(
                "{n} removal or move was interrupted; the journal has it.",
                "{n} removals and moves were interrupted; the journal has them.",
                n,
                n=text.number(n),
            )
            show = partial(window.show_journal, first.path)
            window.error_banner.show_note(said, tr("Open the journal"), show, icon="pause")
        else:
            what = text.listed((title_of(first), where_of(first), window.journal.model.when(first)))
            said = text.full_stop(text.named(tr("Interrupted"), what))
            go_on = partial(window.journal.continue_wanted.emit, first.path)
            window.error_banner.show_note(said, tr("Continue…"), go_on, icon="pause")

    def _show_choices(self) -> None:
        engines = {engine.id: engine for engine in list_engines()}

        def choice(key: str, name: str, engine_id: str) -> Choice:
            engine = engines.get(engine_id)
            return Choice(key, name, engine_label(engine) if engine is not None else engine_id, engine_icon(engine))

        choices = [choice(f"{_SAVED_KEY}{saved.name}", saved.name, saved.engine) for saved in self._saved]
        choices.append(choice(_SAMPLE_KEY, tr("Sample memory"), "sqlite"))
        current = self._opened.key if self._opened is not None else ""
        if self._opened is not None and current not in {one.key for one in choices}:
            choices.insert(0, choice(current, self._opened.name, self._opened.engine_id))
        self.window.show_choices(choices, current)

    # Signals

    def _on_window_connection_chosen(self, key: str) -> None:
        self._show_choices()  # the box goes back to what is open until the new one is
        if key == CHOOSE_FILE:
            self._on_open_action_triggered()
        elif key == MANAGE:
            self._on_connections_action_triggered()
        else:
            self.jobs.start("open", self._open_key(key), lambda _: None)

    async def _open_key(self, key: str, *, is_read_only: bool = False) -> None:
        if key == _SAMPLE_KEY:
            await self.open_sample(is_read_only=is_read_only)
        elif key.startswith(_SAVED_KEY):
            await self.open_saved(key.removeprefix(_SAVED_KEY), is_read_only=is_read_only)
        elif key.startswith(_FILE_KEY):
            path = Path(key.removeprefix(_FILE_KEY))
            await self.open_file(path, is_read_only=is_read_only, may_be_new=False)

    def _on_open_action_triggered(self) -> None:
        self.jobs.start("open", self._choose_file(), lambda _: None)

    async def _choose_file(self) -> None:
        path = await choose_memory(self.window, tr("Open a memory file"))
        if path is None:
            return
        saved = next((s for s in self._saved if s.settings.path is not None and Path(s.settings.path) == path), None)
        if saved is None:
            saved = SavedConnection(
                name=self._free_name(path.name), engine="sqlite", settings=EngineSettings(path=str(path))
            )
            try:
                await asyncio.to_thread(self.store.add, saved)
            except TinyMemoryError as error:  # where no connection can be kept, a file can still be read
                await self.open_file(path)
                self.window.show_exception(error)
                return
        await self.open_saved(saved.name)

    def _free_name(self, name: str) -> str:
        taken = {saved.name for saved in self._saved}
        name = text.shown(name).strip() or tr("Memory")
        number = 2
        free = name
        while free in taken:
            free, number = f"{name} ({number})", number + 1
        return free

    def _on_connections_action_triggered(self) -> None:
        self.jobs.start("open", self._manage(), lambda _: None)

    async def _manage(self) -> None:
        await self._load_saved()
        current = self._opened.key.removeprefix(_SAVED_KEY) if self._opened is not None else ""
        engine = self.window.engine
        dialog = ConnectDialog(
            self.store,
            self.keys,
            self._saved,
            list_engines(),
            current,
            self.window,
            details=engine.details if engine is not None else None,
        )
        dialog.renamed.connect(self.window.connection_renamed)
        self.window.job_list.watch(dialog.jobs, reads.of_connections(dialog))
        try:
            is_open_wanted = await ask(dialog)
        finally:
            await dialog.jobs.aclose()
        await self._load_saved()
        self._show_choices()
        if is_open_wanted:
            await self.open_saved(dialog.chosen_name, may_be_new=dialog.chosen_is_new)
        self._say_notices()

    def follow_rename(self, old: str, new: str) -> None:
        """A saved connection has another name now: what is kept for it, and what is open of it, goes on under that."""
        before, after = f"{_SAVED_KEY}{old}", f"{_SAVED_KEY}{new}"
        self.window.views.move(before, after)
        self._saved = [
            one.model_copy(update={"name": new, "settings": one.engine_settings}) if one.name == old else one
            for one in self._saved
        ]
        if self._opened is not None and self._opened.key == before:
            self._opened = replace(self._opened, key=after, name=new)
            self.window.show_name(new)
            self.moves.key = new
        self._show_choices()

    def _on_window_read_only_wanted(self, is_read_only: bool) -> None:
        if self._opened is not None:
            self.jobs.start("open", self._turn_lock(self._opened, is_read_only=is_read_only), lambda _: None)

    def _on_jobs_failed(self, lane: str, error: Exception) -> None:
        self.has_failed |= lane == "open"
        self._say_failed(error)

    def _say_failed(self, error: Exception) -> None:
        if isinstance(error, _Gone):
            begin = partial(self._start_open, error.opened, may_be_new=True)
            said = text.sentence(error.text)
            self.window.error_banner.show_note(said, tr("Begin an empty memory there"), begin, icon="warning")
        else:
            self.window.show_exception(error)

    # The end

    def _on_window_close_wanted(self) -> None:
        if not self.jobs.is_running("close"):  # else it is asked, or waited for, already
            self.jobs.start("close", self.may_close(), self._on_may_close)

    async def may_close(self) -> bool:
        """Whether no job runs any more in this window; asks before it cancels those that do."""
        return await self._may_end_jobs(tr("Cancel jobs and close"), tr("Keep open"))

    async def _may_end_jobs(self, yes: str, no: str) -> bool:
        """Whether nothing runs any more that must not be lost unasked, or the person wants its end, which is begun."""
        jobs = self.window.job_list
        while True:
            await jobs.settle()
            if jobs.holding and not await self._is_end_wanted(yes, no):
                return False
            await jobs.end_holding()
            if not jobs.is_holding:  # nothing was begun meanwhile
                return True

    async def _is_end_wanted(self, yes: str, no: str) -> bool:
        """Whether the person says `yes` to the end of what runs, or it ended by itself, and the question with it.

        There is one question at a time: a newer one answers the one before with no.
        """
        jobs = self.window.job_list
        box: QMessageBox | None = None
        is_needless = False

        def on_opened(opened: QMessageBox) -> None:
            nonlocal box
            if self._question is not None:
                self._question.reject()
            self._question = box = opened

        def on_changed() -> None:
            nonlocal is_needless
            if box is None or self._question is not box:  # answered
                return
            if not jobs.holding:
                is_needless = True
                box.reject()
            elif (said := _about(jobs.holding)) != (box.text(), box.informativeText()):
                box.setText(said[0])
                box.setInformativeText(said[1])

        jobs.changed.connect(on_changed)
        try:
            return await confirm(self.window, *_about(jobs.holding), yes, no, on_opened) or is_needless
        finally:
            jobs.changed.disconnect(on_changed)
            if self._question is box:
                self._question = None

    def _on_may_close(self, may_close: bool) -> None:
        if may_close:
            self.closing.set()

    async def aclose(self) -> None:
        """End the window's work, then the engine."""
        await self.jobs.aclose()
        await self.transfers.aclose()
        await self.receipts.aclose()
        await self.removals.aclose()
        await self.moves.aclose()
        await self.window.aclose()
        if self.window.engine is not None:
            await self._close_engine(self.window.engine)


def _about(jobs: list[Job]) -> tuple[str, str]:
    """How many jobs run, and which, and what becomes of them when they are ended."""
    left = tr(
        "What is stored by now stays, what is removed by now is gone, and the rest is left out. "
        "An export that is not finished leaves no file."
    )
    n = len(jobs)
    how_many = tr_n("{n} job is running", "{n} jobs are running", n, n=text.number(n))
    return how_many, "\n".join([*_told([job.title for job in jobs]), "", left])


def _told(titles: list[str]) -> list[str]:
    """The jobs by their titles, a line each; of many the first, and how many more there are."""
    more = len(titles) - _TOLD_MOST
    if more <= 0:
        return titles
    # Translators: below a list of jobs
    return [*titles[:_TOLD_MOST], text.and_more(more)]


def _absolute(path: Path) -> Path:
    return Path(os.path.abspath(path))
