"""Looking out for what others change in the memory that is shown."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QObject, QTimer, Signal

from explorer.contract import Changes, MemoryEngine, MetaFilter, Unauthorized
from explorer.ui.jobs import Jobs

_EVERY_MS = 2_000


@dataclass(frozen=True)
class News:
    """What became of the items of a filter since they were read."""

    new: int = 0
    gone: int = 0
    is_other: bool = False
    """Whether another memory took the place of the one that was read: then there are no numbers."""


class Watch(QObject):
    """Asks the engine now and then what changed, where it knows. Nothing is read again by itself."""

    changed = Signal(object)  # News: the items differ from those read, or differ in another way than before
    answering = Signal(bool)  # False: the engine does not answer any more; True: it does again

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._engine: MemoryEngine | None = None
        self._filter = MetaFilter()
        self._read: Changes | None = None  # as it was when the items were read
        self._seen: Changes | None = None  # as it was told last
        self._answers = True
        self.jobs = Jobs(self)
        self.timer = QTimer(self)
        self.timer.setInterval(_EVERY_MS)
        self.timer.timeout.connect(self.look)
        self.jobs.failed.connect(self._on_jobs_failed)

    def begin(self, engine: MemoryEngine | None, filter: MetaFilter) -> None:
        """From now on tell what changes among the items of `filter`; to be called before they are read."""
        self.timer.stop()
        self.jobs.cancel()
        self._engine, self._filter = engine, filter
        self._read = self._seen = None
        self._answers = True
        if engine is not None and type(engine).changes is not MemoryEngine.changes:
            self.jobs.start("changes", engine.changes(filter), self._on_read)
            self.timer.start()

    def rest(self) -> None:
        """Ask nothing until the next `begin`."""
        self.timer.stop()
        self.jobs.cancel()

    def look(self) -> None:
        """Ask now, unless an answer is awaited."""
        if self._engine is None or self.jobs.is_busy:
            return
        if self._read is None:  # the first time nobody answered
            self.jobs.start("changes", self._engine.changes(self._filter), self._on_read)
        else:
            self.jobs.start("changes", self._engine.changes(self._filter, self._read.mark), self._on_look)

    async def aclose(self) -> None:
        """Stop looking."""
        self.timer.stop()
        await self.jobs.aclose()

    def _on_read(self, changes: Changes | None) -> None:
        self._tell_whether_answering(True)
        self._read = self._seen = changes
        if changes is None:  # this one does not know after all
            self.timer.stop()

    def _on_look(self, changes: Changes | None) -> None:
        self._tell_whether_answering(True)
        if changes is None or self._read is None or self._seen is None or changes.mark == self._seen.mark:
            return
        self._seen = changes
        gone = changes.gone_since(self._read)
        if changes.added is None or gone is None:
            self.changed.emit(News(is_other=True))
        else:
            self.changed.emit(News(changes.added, gone))

    def _on_jobs_failed(self, lane: str, error: Exception) -> None:
        self._tell_whether_answering(False)
        if isinstance(error, Unauthorized):
            self.timer.stop()  # it would be refused each time, until something is read anew

    def _tell_whether_answering(self, answers: bool) -> None:
        if answers != self._answers:
            self._answers = answers
            self.answering.emit(answers)
