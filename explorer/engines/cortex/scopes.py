"""Where in the server's tree of scopes a node keeps each kind of item, in the old layout and in the newer one.

Source: cortex, sections 4.1, 4.2 and 4.4.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from explorer.contract import ConfigError, InvalidRequest, ItemKind, Namespace, Segment, SegmentKind
from explorer.contract.model import trimmed

_LEGACY_ROOT = "app:tinymemory"
_BRAIN = "app:brain"
_FLOWS = "app:flows"
_LEAVES = {f"app:{kind.value}s": kind for kind in ItemKind}
_KINDS = list(ItemKind)
_SEGMENT_KINDS = list(SegmentKind)
_ROOT_SEGMENT = re.compile(r"(org|dept|team|app|user|agent|service|ws|project|source):[A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class Scope:
    """One place on the server: the path to send, and the node and the kind whose items it holds.

    Scopes order by kind, then node (one before what is below it), then path.
    """

    path: str
    namespace: Namespace
    kind: ItemKind

    def __lt__(self, other: Scope) -> bool:
        return self.key < other.key

    @property
    def key(self) -> tuple[int, list[tuple[int, str]], str]:
        node = [(_SEGMENT_KINDS.index(segment.kind), segment.id) for segment in self.namespace.segments]
        return _KINDS.index(self.kind), node, self.path


@dataclass(frozen=True, slots=True)
class Layout:
    """How nodes become paths.

    `root` is None in the old layout, else what the paths of the newer one begin with; empty where the backend
    puts them below the tenant's own root, which only the hosted wire does.
    """

    root: str | None = None
    hosted: bool = False
    _base: list[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        base = _LEGACY_ROOT if self.root is None else self.root
        object.__setattr__(self, "_base", base.split("/") if base else [])

    def path(self, namespace: Namespace, kind: ItemKind) -> str:
        """The scope of the node's items of one kind."""
        return "/".join([*self._base, *self._below(namespace, kind)])

    def _below(self, namespace: Namespace, kind: ItemKind) -> list[str]:
        leaf = f"app:{kind.value}s"
        if self.root is None:
            return [*map(str, namespace.segments), leaf]
        if kind is ItemKind.DOCUMENT and _holds(namespace, SegmentKind.SOURCE):
            return _steps(namespace, with_brain=True)
        return [*_steps(namespace, with_brain=False), leaf]

    def parse(self, path: str) -> Scope | None:
        """What lies at a path that the server named; None where it is not of this layout.

        On the hosted wire a tenant's prefix is dropped: the backend puts it before every path that is sent.
        """
        parts = path.split("/")
        start = self._start(parts)
        if start is None:
            return None
        rest = parts[start + len(self._base) :]
        kind = _LEAVES.get(rest[-1]) if rest else None
        node = rest
        if kind is not None:
            node = rest[:-1]
        elif self.root is not None and _BRAIN in rest:
            kind = ItemKind.DOCUMENT
        else:
            return None
        if self.root is not None:
            node = [part for part in node if part not in (_BRAIN, _FLOWS)]
        try:
            namespace = Namespace.parse("/".join(node))
        except InvalidRequest:
            return None
        if self._below(namespace, kind) != rest:
            return None
        return Scope("/".join(parts[start:]) if self.hosted else path, namespace, kind)

    def _start(self, parts: list[str]) -> int | None:
        """Where in the path the root stands."""
        if not self._base:
            return 1 if parts[0].startswith("org:") else 0
        if self.root is None:
            return parts.index(_LEGACY_ROOT) if _LEGACY_ROOT in parts else None
        found = [at for at in range(len(parts)) if parts[at : at + len(self._base)] == self._base]
        if self.hosted:
            return found[-1] if found else None
        return 0 if 0 in found else None

    def prefixes(self, namespace: Namespace) -> list[str]:
        """The prefixes that everything at or below the node lies under; an empty one stands for all scopes."""
        if self.root is None:
            return ["/".join([*self._base, *map(str, namespace.segments)])]
        ways = [_steps(namespace, with_brain=False)]
        if _holds(namespace, SegmentKind.SOURCE):
            ways.append(_steps(namespace, with_brain=True))
        return ["/".join([*self._base, *way]) for way in ways]

    def refuse(self, namespace: Namespace) -> None:
        """Raise InvalidRequest for a node whose paths would read back as another node's."""
        if self.root is None or not self._base:
            return
        node = list(map(str, namespace.segments))
        # Hosted, the root is looked for from the end of a path, so that the node may hold it nowhere.
        starts = range(len(node)) if self.hosted else (0,)
        if any(node[at : at + len(self._base)] == self._base for at in starts):
            raise InvalidRequest(f"namespace `{namespace}` repeats the scope root `{self.root}`")
        for kind in ItemKind:
            scope = Scope(self.path(namespace, kind), namespace, kind)
            if self.parse(scope.path) != scope:
                raise InvalidRequest(f"namespace `{namespace}` has no scopes of its own below `{self.root}`")


def _holds(namespace: Namespace, kind: SegmentKind) -> bool:
    return any(segment.kind is kind for segment in namespace.segments)


def _steps(namespace: Namespace, *, with_brain: bool) -> list[str]:
    """The node's segments, with the mark of the newer layout before the first of each kind that has one."""
    marks = {SegmentKind.SERVICE: _FLOWS} | ({SegmentKind.SOURCE: _BRAIN} if with_brain else {})
    steps: list[str] = []
    segment: Segment
    for segment in namespace.segments:
        mark = marks.pop(segment.kind, None)
        steps += [str(segment)] if mark is None else [mark, str(segment)]
    return steps


def checked_root(text: str, name: str = "scope root") -> str:
    """A scope root as it is used. Raises ConfigError for one that the server, or this layout, has no place for, which
    it calls `name`.
    """
    root = trimmed(text).strip("/")
    segments = root.split("/")
    if not all(map(_ROOT_SEGMENT.fullmatch, segments)):
        raise ConfigError(f"{name} `{root}` must be written like org:42, each part as type:id")
    if _LEGACY_ROOT in segments:
        raise ConfigError(f"{name} `{root}` must not hold `{_LEGACY_ROOT}`")
    return root
