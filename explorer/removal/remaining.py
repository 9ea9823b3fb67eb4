"""What a removal does not reach: said before it, and again on its receipt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from explorer.contract import EngineDescriptor, EngineHealth, SourceKind
from explorer.contract.query import Consolidation
from explorer.i18n import tr
from explorer.removal.plan import Plan
from explorer.removal.preview import Preview, Source
from explorer.removal.receipts import Receipt
from explorer.removal.words import unlisted_sandboxes
from explorer.text import counted, inline, named, number, sentence, word

MOST_SOURCES = 5

SYNCED = frozenset({SourceKind.FOLDER, SourceKind.FILE, SourceKind.LINK, SourceKind.GITHUB, SourceKind.RSS})
"""The sources that are read again and again, from a place that still has what was removed here."""


_OF_REMOVALS = ("remov", "forg", "eras", "delet", "purg")
"""Parts of the words by which engines speak of it."""


class Remains(StrEnum):
    DERIVED = "derived"
    """What the engine made out of the items."""
    SERVICE = "service"
    """What a hosted engine keeps by itself."""
    BACKUPS = "backups"
    """Copies of the memory's file."""
    ENGINE = "engine"
    """What the engine itself tells."""
    SOURCE = "source"
    """Where the items came from, and may come from again."""
    SANDBOXES = "sandboxes"
    EXPORT = "export"
    """The way back."""


@dataclass(frozen=True, slots=True)
class Remnant:
    kind: Remains
    words: str
    """A sentence; a name out of the memory stands at its end alone."""


def remaining(engine: EngineDescriptor, plan: Plan, preview: Preview, health: str | None = None) -> list[Remnant]:
    """What may remain of the previewed items in an engine and around it; `health` is the reason that it gives."""
    stay = not plan.knows_sandboxes and not plan.takes_unlisted
    unlisted = [_of_sandboxes(plan.action, takes_sandboxes=plan.takes_sandboxes)] if stay else []
    return [
        *_of_engine(engine.hosted, engine.consolidation is not Consolidation.NONE, engine.needs_path),
        *(Remnant(Remains.ENGINE, sentence(words)) for words in _about_removals(health)),
        *_of_sources(preview.sources),
        *unlisted,
    ]


def not_covered(receipt: Receipt) -> list[Remnant]:
    """The same of a removal that is written down, with the file that it was exported to."""
    engine, sources = receipt.engine, receipt.facts.get("sources")
    kept = receipt.way_back
    unlisted = []
    if receipt.facts.get("knows_sandboxes") is False:
        takes = receipt.facts.get("takes_sandboxes") is True
        unlisted.append(_of_sandboxes(receipt.action, takes_sandboxes=takes))
    return [
        *_of_engine(
            engine.get("hosted") is True,
            engine.get("consolidation") in [one.value for one in Consolidation if one is not Consolidation.NONE],
            engine.get("is_file") is True,
        ),
        *(Remnant(Remains.ENGINE, sentence(words)) for words in receipt.remains),
        *_of_sources(_read_sources(sources if isinstance(sources, dict) else {})),
        *unlisted,
        *([] if kept is None else [Remnant(Remains.EXPORT, _export_words(str(kept.path)))]),
    ]


def _of_engine(hosted: bool, derives: bool, is_file: bool) -> list[Remnant]:
    found = []
    if derives:
        said = tr("What the engine derived from the items, such as beliefs and summaries, may stay and still answer.")
        found.append(Remnant(Remains.DERIVED, said))
    if hosted:
        said = tr("Whether the service keeps backups, logs or copies of its own cannot be seen from here.")
        found.append(Remnant(Remains.SERVICE, said))
    if is_file:
        said = tr(
            "Your own backups of the memory's file, and snapshots of the disk that it is on, still hold the items."
        )
        found.append(Remnant(Remains.BACKUPS, said))
    return found


def told(health: EngineHealth) -> list[str]:
    """What an engine's health says of removals, for the receipt."""
    return _about_removals(health.reason)


def _about_removals(reason: str | None) -> list[str]:
    """The reason of an engine's health, where it is about removals: it may be about anything."""
    words = "" if reason is None else reason.casefold()
    return [reason] if reason is not None and any(part in words for part in _OF_REMOVALS) else []


def _of_sources(sources: Mapping[Source, int]) -> list[Remnant]:
    synced = sorted(
        ((n, kind, id or "") for (kind, id), n in sources.items() if kind in SYNCED), key=lambda one: (-one[0], one[1:])
    )
    found = [Remnant(Remains.SOURCE, _source_words(*one)) for one in synced[:MOST_SOURCES]]
    if rest := synced[MOST_SOURCES:]:
        items = counted(sum(n for n, _, _ in rest), "item")
        said = tr(
            "{items} came from {n} more sources, which may bring them back at their next sync.",
            items=items,
            n=number(len(rest)),
        )
        found.append(Remnant(Remains.SOURCE, said))
    return found


def _source_words(n: int, kind: SourceKind, id: str) -> str:
    items, kind_word = counted(n, "item"), word(kind.value)
    if not id:
        # Translators: {kind} is folder, file, link, github or rss; below, the source's name follows after a colon
        return tr("{items} may come back at the next sync of a source ({kind}).", items=items, kind=kind_word)
    said = tr("{items} may come back at the next sync of their source ({kind})", items=items, kind=kind_word)
    return named(said, inline(id))


def _of_sandboxes(action: str, *, takes_sandboxes: bool) -> Remnant:
    return Remnant(Remains.SANDBOXES, unlisted_sandboxes(action, takes_sandboxes=takes_sandboxes))


def _export_words(path: str) -> str:
    return named(tr("The export that was made first still holds the items"), inline(path))


def _read_sources(written: Mapping[str, object]) -> dict[Source, int]:
    """As the journal writes them: `folder:kb-export`, or `agent` alone."""
    found: dict[Source, int] = {}
    for name, n in written.items():
        kind, _, id = name.partition(":")
        if kind in list(SourceKind) and isinstance(n, int):
            found[SourceKind(kind), id or None] = n
    return found
