"""Reading what a model passes to a tool. The first fault is told, as an InvalidRequest that names tool and field.

Nothing here recurses: arguments may be nested as deep as a parser reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Any, NoReturn, TypeVar

from explorer.contract import InvalidRequest, ItemId, ItemKind, MetaFilter, SourceKind, Timestamp, is_blank
from explorer.contract.wire import is_unicode, round_f32, to_unicode
from explorer.tools.specs import DEFAULT_LIMIT, MAX_IDS, MAX_LIMIT

Choice = TypeVar("Choice", bound=StrEnum)

HOST_FIXED = frozenset({"namespace", "reach"})
"""Keys that only the host sets: no argument may have one, wherever it stands."""

_SHOWN = 80  # characters of a key or value that an error repeats
_PATH_SHOWN = 200  # and of the way to a key
_FILTER_KEYS = (
    *("kinds", "sources", "tags_any", "workspace", "repo", "url", "thread_id", "agent_id"),
    *("folder", "file_path", "observed_after", "observed_before"),
)
_EXACT = ("workspace", "repo", "url", "thread_id", "agent_id", "folder", "file_path")


def shown(text: object) -> str:
    """What a model wrote, as an error may repeat it: its beginning, whole characters."""
    written = to_unicode(str(text)[: _SHOWN + 1])
    return written if len(written) <= _SHOWN else written[:_SHOWN] + "…"


class Arguments:
    """One object of a tool's arguments: the tool's own, or one within them, with where it stands (`filter.`).

    A key whose value is null reads as absent, but must be one that the object may have all the same.
    """

    def __init__(self, tool: str, path: str, values: dict[Any, Any], allowed: Iterable[str]) -> None:
        self._tool = tool
        self._path = path
        known = frozenset(allowed)
        for key in values:
            if key not in known:
                self._refuse(shown(key), "is not an argument of this tool")
        self._values = {key: value for key, value in values.items() if value is not None}

    @classmethod
    def of_call(cls, tool: str, arguments: object, allowed: Iterable[str]) -> Arguments:
        """The arguments of a call; None is none. Raises for keys that the host fixes, at any depth, before all else."""
        if arguments is None:
            return cls(tool, "", {}, allowed)
        if not isinstance(arguments, dict):
            raise InvalidRequest(f"{tool}: arguments must be a json object")
        if (path := _host_fixed(arguments)) is not None:
            raise InvalidRequest(f"{tool}: `{path}` is fixed by the host and cannot be passed to a memory tool")
        return cls(tool, "", arguments, allowed)

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def _refuse(self, key: str, problem: str) -> NoReturn:
        raise InvalidRequest(f"{self._tool}: `{self._path}{key}` {problem}")

    def refuse(self, problem: str) -> NoReturn:
        """Refuse the whole rather than one field."""
        raise InvalidRequest(f"{self._tool}: {problem}")

    # --- values

    def text(self, key: str) -> str | None:
        """A string as it is given, blank or not."""
        value = self._values.get(key)
        if value is None:
            return None
        if not isinstance(value, str):
            self._refuse(key, "must be a string")
        if not is_unicode(value):
            self._refuse(key, "must be a string without half of a surrogate pair")
        return value

    def required_text(self, key: str) -> str:
        """A string that is not blank; white space around it is kept."""
        value = self.text(key)
        if value is None or is_blank(value):
            self._refuse(key, "is required and must not be blank")
        return value

    def texts(self, key: str) -> list[str]:
        value = self._values.get(key, [])
        if not isinstance(value, list) or not all(isinstance(part, str) for part in value):
            self._refuse(key, "must be an array of strings")
        if not all(map(is_unicode, value)):
            self._refuse(key, "must be an array of strings without half of a surrogate pair")
        return list(value)

    def choice(self, key: str, choices: Sequence[Choice], default: Choice | None = None) -> Choice:
        """One of `choices` by its name, which is required where there is no default."""
        name = self.required_text(key) if default is None else self.text(key)
        if name is None:
            assert default is not None
            return default
        found = next((choice for choice in choices if choice.value == name), None)
        if found is None:
            self._refuse(key, f"must be one of {', '.join(choices)}")
        return found

    def limit(self) -> int:
        value = self._values.get("limit", DEFAULT_LIMIT)
        if type(value) is not int or not 1 <= value <= MAX_LIMIT:  # for Python, True is 1
            self._refuse("limit", f"must be an integer from 1 to {MAX_LIMIT}")
        return value

    def share(self, key: str, default: float) -> float:
        """A number from 0 to 1 as a 32-bit float."""
        value = self._values.get(key, default)
        if type(value) not in (int, float) or not 0 <= value <= 1:  # which NaN is not
            self._refuse(key, "must be a number from 0 to 1")
        return round_f32(float(value))

    def ids(self) -> list[ItemId]:
        """From 1 to 200 ids, counted as they are given; a repeated one is returned once."""
        ids = self.texts("ids")
        if not 1 <= len(ids) <= MAX_IDS:
            self._refuse("ids", f"must list from 1 to {MAX_IDS} ids")
        if any(map(is_blank, ids)):
            self._refuse("ids", "must not hold a blank id")
        return [ItemId(id) for id in dict.fromkeys(ids)]

    def time(self, key: str) -> Timestamp | None:
        written = self.text(key)
        if written is None:
            return None
        try:
            return Timestamp.parse(written)
        except ValueError:
            self._refuse(key, "must be an rfc 3339 timestamp")

    # --- objects within

    def object(self, key: str, allowed: Iterable[str]) -> Arguments:
        """The object under `key`, which must be there."""
        value = self._values[key]
        if not isinstance(value, dict):
            self._refuse(key, "must be an object")
        return Arguments(self._tool, f"{self._path}{key}.", value, allowed)

    def objects(self, key: str, allowed: Iterable[str]) -> list[Arguments]:
        """The objects in the array under `key`, at least one."""
        value = self._values.get(key, [])
        if not isinstance(value, list):
            self._refuse(key, "must be an array")
        if not value:
            self._refuse(key, "must hold at least one turn")
        if not all(isinstance(part, dict) for part in value):
            self._refuse(key, "must hold only objects")
        return [Arguments(self._tool, f"{self._path}{key}[].", part, allowed) for part in value]

    def filter(self) -> MetaFilter:
        """The conditions under `filter`, without a reach; the empty filter where there are none."""
        if "filter" not in self:
            return MetaFilter()
        given = self.object("filter", _FILTER_KEYS)
        kinds = given._named("kinds", ItemKind, "an item kind")
        sources = given._named("sources", SourceKind, "a source kind")
        tags_any = given.texts("tags_any")
        exact: dict[str, Any] = {key: given.text(key) for key in _EXACT}
        return MetaFilter(
            kinds=kinds,
            sources=sources,
            tags_any=tags_any,
            observed_after=given.time("observed_after"),
            observed_before=given.time("observed_before"),
            **exact,
        )

    def _named(self, key: str, kinds: type[Choice], what: str) -> list[Choice]:
        names = self.texts(key)
        known = {kind.value: kind for kind in kinds}
        for name in names:
            if name not in known:
                self._refuse(key, f"`{shown(name)}` is not {what}")
        return [known[name] for name in names]


_Step = tuple[object, Any]
"""A key, or `_WITHIN` an array, and the step above it (None at the top)."""

_WITHIN = object()


def _host_fixed(arguments: dict[Any, Any]) -> str | None:
    """Where the first key that the host fixes stands, as `filter.reach` or `turns[].reach`; None: there is none."""
    # Each step down keeps only its own part and the step above it, so that depth costs no more than size.
    left: list[tuple[_Step | None, object]] = [(None, arguments)]
    seen: set[int] = set()  # a value that Python made, not JSON, may hold itself
    while left:
        step, value = left.pop()
        if step is not None and step[0] in HOST_FIXED:
            return _path(step)
        if not isinstance(value, (dict, list)) or id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, dict):
            left += [((key, step), part) for key, part in reversed(value.items())]
        else:
            left += [((_WITHIN, step), part) for part in reversed(value)]
    return None


def _path(step: _Step | None) -> str:
    parts: list[str] = []
    while step is not None:
        key, step = step
        parts.append("[]" if key is _WITHIN else f".{shown(key)}")
    path = "".join(reversed(parts)).removeprefix(".")
    return path if len(path) <= _PATH_SHOWN else f"{path[: _PATH_SHOWN // 2]}…{path[-_PATH_SHOWN // 2 :]}"
