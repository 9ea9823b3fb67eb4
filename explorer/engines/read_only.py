"""Any engine without its writes: what is handed to those who are only to read."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NoReturn
from weakref import WeakKeyDictionary

from explorer.contract import InvalidRequest, MemoryEngine
from explorer.engines.place import pass_place

READS = frozenset(
    {
        *("descriptor", "health", "refuse_undeclared", "sorts", "aclose"),
        *("refresh", "waiting", "details"),
        *("recall", "fetch", "fetch_explained", "list", "list_preview", "list_span", "export", "get", "get_items"),
        *("explore", "explore_many", "explore_gradually", "namespaces", "histogram", "changes", "beliefs"),
    }
)
"""Calls of the contract that pass. Every other one is refused: also one that a later contract adds."""
OWN_READS = frozenset({"path", "vector_status", "is_empty"})
"""What engines have beside the contract, and that passes where the engine has it; nothing else of theirs is there."""

_REFUSED = "this memory is open read-only; nothing was changed"

# Beside the views, not in them: none has an attribute that leads to its engine.
_engines: WeakKeyDictionary[MemoryEngine, MemoryEngine] = WeakKeyDictionary()
_classes: WeakKeyDictionary[type[MemoryEngine], type[MemoryEngine]] = WeakKeyDictionary()


def read_only_view(engine: MemoryEngine) -> MemoryEngine:
    """A view of `engine` whose every write raises InvalidRequest before the engine hears of it; closing it closes both.

    What an engine of this kind offers is found out by looking which calls its class overrides: the view's class
    overrides the same ones.
    """
    if isinstance(engine, _ReadOnly):
        return engine
    kind = type(engine)
    if kind not in _classes:
        _classes[kind] = _class_over(kind)
    view = _classes[kind]()
    _engines[view] = engine
    pass_place(engine, view)
    return view


class _ReadOnly(MemoryEngine):
    """Only to know a view by."""


def _class_over(kind: type[MemoryEngine]) -> type[MemoryEngine]:
    body: dict[str, Any] = {}
    for name, default in vars(MemoryEngine).items():
        if name.startswith("_"):
            continue
        if name not in READS:
            body[name] = _refused(name, default)
        elif getattr(kind, name) is not default:
            body[name] = _passed(name, default)
    for name in OWN_READS:
        own = inspect.getattr_static(kind, name, None)
        if own is not None:
            body[name] = _passed(name, own) if callable(own) else property(_value_of(name))
    return type(f"ReadOnly{kind.__name__}", (_ReadOnly,), body)


def _passed(name: str, like: Callable[..., Any]) -> Callable[..., Any]:
    """A call that the engine answers. Its default in the contract needs no passing: it asks the view's own calls."""

    def passed(self: MemoryEngine, *args: Any, **kwargs: Any) -> Any:
        return getattr(_engines[self], name)(*args, **kwargs)

    return _named(passed, name, like)


def _refused(name: str, like: Callable[..., Any]) -> Callable[..., Any]:
    if inspect.iscoroutinefunction(like):

        async def refused_later(self: MemoryEngine, *args: Any, **kwargs: Any) -> NoReturn:
            raise InvalidRequest(_REFUSED)

        return _named(refused_later, name, like)

    def refused(self: MemoryEngine, *args: Any, **kwargs: Any) -> NoReturn:
        raise InvalidRequest(_REFUSED)

    return _named(refused, name, like)


def _value_of(name: str) -> Callable[[MemoryEngine], Any]:
    return lambda view: getattr(_engines[view], name)


def _named(made: Callable[..., Any], name: str, like: Callable[..., Any]) -> Callable[..., Any]:
    made.__name__, made.__qualname__, made.__doc__ = name, f"ReadOnly.{name}", like.__doc__
    return made
