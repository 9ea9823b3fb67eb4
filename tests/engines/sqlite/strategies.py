"""Random items, filters and calls of an engine, over few values: filters then match and items share their strings."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import count
from typing import Any, TypeVar

from explorer.contract import (
    ActorRef,
    BeliefsRequest,
    ConsolidateRequest,
    Conversation,
    Document,
    DocumentBody,
    EraseRequest,
    ExploreRequest,
    Facet,
    FetchMode,
    FetchRequest,
    ForgetTarget,
    GetRequest,
    HistogramRequest,
    ItemId,
    ItemKind,
    Learning,
    LearningKind,
    ListRequest,
    MemoryMeta,
    MetaFilter,
    Namespace,
    Reach,
    RecallRequest,
    Role,
    SourceKind,
    SourceRef,
    StoreItem,
    StoreOptions,
    TimeHint,
    Timestamp,
    TimeUnit,
    ToolCallRef,
    Turn,
    TurnRange,
    Wait,
    redacted_id,
)
from explorer.contract.model import Model
from explorer.contract.namespace import EVERYTHING

T = TypeVar("T")

LONG = "x" * 300

# Paths that are near one another, patterns of SQL, and characters that C, JSON or a sort might mistake.
PATHS = (
    *("", "/", "//", "/a", "/a/", "/ab", "/a/b", "//a//b", "/a//b", "/a/b/", "/a/bc", "/a/b/c", "a", "a/b", "A"),
    *("é", "e\u0301", "日本", "a\0b", "\0", "🚀", "\uffff", " ", "/a%", "/_", "*", "'; DROP TABLE item; --", LONG),
)
IDS = ("42", "u-1", "+49 170 1234567", redacted_id("+49 170 1234567"), "", redacted_id("u-1"), "U-1")
TAGS = ("x", "X", "", "x y", "tag", "tags", "\0", "日", "tag\0")
TOOLS = ("grep", "", "grep ", "sed")
DEEPEST = "/".join(f"agent:{letter}" for letter in "abcdefgh")
NODES = (
    *("root", "agent:a", "agent:b", "agent:a/agent:c", "agent:ab", "team:t/user:u/project:p/ws:w", "team:t", "user:a"),
    *("agent:a/agent:b/agent:c/agent:d", DEEPEST, "agent:a/service:j", "agent:a/service:j/agent:d", "service:s"),
    *("agent:a/service:j/service:k", "service:s/agent:a", "agent:a/agent:b/service:j/agent:d/agent:e"),
)
EMPTY_NODES = ("agent:nobody", "agent:a/service:nobody", "team:t/user:u", "agent:a/agent:b")
TIMES = (
    "0001-01-01T00:00:00Z",
    "1677-01-01T00:00:00.000000001Z",
    "1969-12-31T23:59:59.999999999Z",
    "1970-01-01T00:00:00Z",
    "2024-05-01T00:00:00Z",
    "2024-05-01T00:00:00.000000001Z",
    "2024-05-01T00:00:00.000000002Z",
    "2024-05-01T00:00:00.1Z",
    "2024-05-01T23:30:00Z",
    "2300-01-01T00:00:00Z",
    "9999-12-31T23:59:59.999999999Z",
)
TURNS = (TurnRange(first=0, last=1), TurnRange(first=0, last=2**32 - 1), TurnRange(first=1, last=1))
ZONES = (None, "UTC", "Europe/Berlin", "Pacific/Kiritimati", "America/Los_Angeles")
BAD_ZONES = ("Mars/Base", "", "../UTC", "a\0b")
BLANKS = ("", " ", "\t\n", "\u3000")
LIMITS = (1, 1, 2, 3, 7, 20, 2**63, 2**64 - 1)
RESERVED = "consolidated"

PLAIN = ("crimson", "Teal", "ochre")
"""Words that every splitter finds alike, and no other word here begins with."""

FRAGMENTS = (
    *PLAIN,
    *("blue_sky", "getHTTPServer", "naïve", "nai\u0308ve", "深色模式", "カタカナ", "한국어", "🚀", "ＦＵＬＬ"),
    *("zip\0zap", "straße", "2031-05-17", "Ωμέγα", "—", "%_*", '"quoted" NEAR(', "\x1f"),
)
"""What texts are made of."""

OFTEN = "pebble " * 300
"""One word more often than a byte can count."""

FINDS: Mapping[str, tuple[str, ...]] = {
    **{word: (word,) for word in PLAIN},
    "CRIMSON": ("crimson",),
    "teal": ("Teal",),
    "blue": ("blue_sky",),
    "sky": ("blue_sky",),
    "http": ("getHTTPServer",),
    "GetHttpServer": ("getHTTPServer",),
    "naive": ("naïve", "nai\u0308ve"),
    "naïve": ("naïve", "nai\u0308ve"),
    "色": ("深色模式",),
    "深色": ("深色模式",),
    "色模式": ("深色模式",),
    "タカナ": ("カタカナ",),
    "국어": ("한국어",),
    "🚀": ("🚀",),
    "full": ("ＦＵＬＬ",),
    "zap": ("zip\0zap",),
    "STRASSE": ("straße",),
    "2031": ("2031-05-17",),
    "ωμεγα": ("Ωμέγα",),
    "pebble": (OFTEN,),
    "quoted": ('"quoted" NEAR(',),
    "absent": (),
    "模色": (),
    "colored": (),
}
"""The fragments that hold each word of a query, written down by hand."""

BEGINNINGS: Mapping[str, tuple[str, ...]] = {
    "crim": ("crimson",),
    "tea": ("Teal",),
    "ser": ("getHTTPServer",),
    "peb": (OFTEN,),
    "absen": (),
}
"""The same for the beginnings of words, which find the whole word only as the last of a query."""

WORDLESS = ("—", "%_*", "\0", "() : ^ *")


@dataclass(frozen=True)
class Question:
    """A query with what it must find, by its own account."""

    text: str
    fragments: frozenset[str]
    """An item is a hit when its text was made of one of these."""
    is_plain: bool
    """The reference engine, which splits texts in a simpler way, finds just the same."""


@dataclass(frozen=True)
class Operation:
    """One call of an engine, written so that a failure can be read and run again."""

    name: str
    args: tuple[Any, ...]
    by: str = "first"
    """Which of the engines over the file is called."""

    def __str__(self) -> str:
        text = f"{self.by}.{self.name}({', '.join(map(shown, self.args))})"
        return text.replace(OFTEN, "pebble×300 ").replace(LONG, "x×300")


def shown(value: Any) -> str:
    if isinstance(value, Model):
        return f"{type(value).__name__} {value.model_dump_json()}"
    if isinstance(value, list):
        return f"[{', '.join(map(shown, value))}]"
    return str(value) if isinstance(value, Operation) else repr(value)


class Maker:
    """Draws values. `stored`: the ids of all items that were stored, those that are gone again included."""

    def __init__(self, rand: random.Random) -> None:
        self.rand = rand
        self.made: list[StoreItem] = []
        """Every item drawn, so that they can come again."""
        self._numbers = count()

    def maybe(self, values: Iterable[T], chance: float = 0.4) -> T | None:
        return self.rand.choice(list(values)) if self.rand.random() < chance else None

    def some(self, values: Iterable[T], most: int = 3) -> list[T]:
        """Up to `most` values, repeats among them."""
        return self.rand.choices(list(values), k=self.rand.randint(0, most))

    def one(self, *values: Any) -> Any:
        return self.rand.choice(values)

    # --- items

    def time(self) -> Timestamp:
        return Timestamp.parse(self.rand.choice(TIMES))

    def node(self) -> Namespace:
        return Namespace.parse(self.rand.choice(NODES))

    def meta(self) -> MemoryMeta:
        return MemoryMeta(
            namespace=self.node(),
            workspace=self.maybe(PATHS),
            folder=self.maybe(PATHS, 0.7),
            file_path=self.maybe(PATHS, 0.7),
            language=self.maybe(("en", "de", "EN", "")),
            repo=self.maybe(PATHS),
            commit=self.maybe(PATHS),
            url=self.one(None, self.rand.choice(PATHS), *[f"/u/{next(self._numbers)}"] * 18),
            thread_id=self.maybe(IDS),
            turns=self.maybe(TURNS),
            agent_id=self.maybe(IDS),
            tool_call=self._tool_call() if self.rand.random() < 0.4 else None,
            source=SourceRef(kind=self.rand.choice(list(SourceKind)), id=self.maybe(IDS)),
            tags=self.some(TAGS),
            observed_at=self.time() if self.rand.random() < 0.8 else None,
            derive=self.maybe((True, False), 0.1),
            observed_actor=self._actor() if self.rand.random() < 0.1 else None,
        )

    def _actor(self) -> ActorRef:
        return ActorRef(id=f"user:{self.rand.choice(IDS)}", name=self.maybe(PATHS))

    def _tool_call(self) -> ToolCallRef:
        return ToolCallRef(name=self.rand.choice(TOOLS), id=self.maybe(IDS))

    def text(self) -> str:
        """Fragments, and a number that makes the text one of its kind."""
        return " ".join([f"n{next(self._numbers)}", *self.some(FRAGMENTS), *self.some([OFTEN], self.one(*[0] * 29, 1))])

    def fresh(self) -> StoreItem:
        """An item that was not drawn before."""
        item: StoreItem
        match self.rand.choice(list(ItemKind)):
            case ItemKind.DOCUMENT:
                title = self.maybe(("A title", *BLANKS, "Teal\ntitle"))
                mime = self.maybe(("text/markdown",))
                item = Document(title=title, body=DocumentBody(text=self.text()), mime=mime, meta=self.meta())
            case ItemKind.CONVERSATION:
                item = Conversation(turns=[self._turn() for _ in range(self.rand.randint(1, 4))], meta=self.meta())
            case _:
                item = Learning(
                    text=self.text(),
                    kind=self.rand.choice(list(LearningKind)),
                    confidence=self.one(0.0, 1.0, 0.1, self.rand.random()),
                    evidence=self.maybe(IDS),
                    meta=self.meta(),
                )
        self.made.append(item)
        return item

    def _turn(self) -> Turn:
        calls = [self._tool_call() for _ in range(self.rand.choice([0, 0, 1, 2]))]
        at = self.time() if self.rand.random() < 0.5 else None
        return Turn(role=self.rand.choice(list(Role)), text=self.text(), at=at, tool_calls=calls)

    def item(self) -> StoreItem:
        """A fresh item, or one drawn before, seen at another time by another."""
        if self.made and self.rand.random() < 0.25:
            item = self.rand.choice(self.made)
            seen = {"observed_at": self.time(), "observed_actor": self._actor()}
            again: StoreItem = item.model_copy(update={"meta": item.meta.model_copy(update=seen)})
            return self.one(item, again)
        return self.fresh()

    def refused(self) -> StoreItem:
        """An item that an engine must refuse."""
        blank, meta = self.rand.choice(BLANKS), self.meta()
        fact = LearningKind.FACT
        return self.one(
            Document(body=DocumentBody(text=blank), meta=meta),
            Document(body=DocumentBody(uri="file:///a"), meta=meta),
            Conversation(turns=[], meta=meta),
            Conversation(turns=[self._turn(), Turn(role=Role.USER, text=blank)], meta=meta),
            Learning(text=blank, kind=fact, confidence=0.5, meta=meta),
            Learning(text="crimson", kind=fact, confidence=self.one(1.5, -0.1, float("nan"), float("inf")), meta=meta),
        )

    # --- requests

    def reach(self) -> Reach:
        at = Namespace.parse(self.rand.choice((*NODES, *EMPTY_NODES)))
        return Reach(at=at, inherit=self.rand.random() < 0.5, descendants=self.rand.random() < 0.5)

    def filter(self) -> MetaFilter:
        """A filter with few conditions set: those of one item would rarely leave anything."""
        choices: dict[str, Callable[[], Any]] = {
            **dict.fromkeys(("workspace", "repo", "commit"), lambda: self.rand.choice(PATHS)),
            **dict.fromkeys(("folder", "file_path"), lambda: self.rand.choice((*PATHS, "/a/b//", "///"))),
            **dict.fromkeys(("thread_id", "agent_id", "source_id"), lambda: self.rand.choice(IDS)),
            **dict.fromkeys(("observed_after", "observed_before"), self.time),
            "reach": self.reach,
            "url": lambda: self.rand.choice((*PATHS, "nowhere")),
            "language": lambda: self.one("en", "EN", "", "fr"),
            "turns": lambda: self.rand.choice((*TURNS, TurnRange(first=1, last=0))),
            "tool_call": lambda: self.rand.choice((*TOOLS, "none")),
            "kinds": lambda: self.some(ItemKind, 2),
            "sources": lambda: self.some(SourceKind),
            "tags_any": lambda: self.some((*TAGS, "none")),
        }
        names = self.rand.sample(list(choices), self.rand.choice([0, 1, 1, 1, 2, 2, 3]))
        own = _conditions(self.rand.choice(self.made)) if self.made and self.rand.random() < 0.5 else {}
        return MetaFilter(**{name: own[name] if name in own else choices[name]() for name in names})

    def limit(self) -> int:
        return self.rand.choice(LIMITS)

    def hint(self) -> TimeHint:
        first = self.one(date(1, 1, 1), date(1969, 12, 31), *[date(2024, 5, 1)] * 4, date(9999, 12, 31))
        days = min(self.one(0, 0, 1, 365), (date.max - first).days)
        return TimeHint(from_=first, to=first + timedelta(days=days), zone=self.rand.choice(ZONES))

    def question(self) -> Question:
        if self.rand.random() < 0.05:
            return Question(self.rand.choice(WORDLESS), frozenset(), True)
        words = self.rand.sample(list(FINDS), self.rand.choice([1, 2, 2, 4]))
        found = {fragment for word in words for fragment in FINDS[word]}
        is_plain = all(word in PLAIN for word in words)
        if self.rand.random() < 0.3:
            beginning, is_last, is_plain = self.rand.choice(list(BEGINNINGS)), self.rand.random() < 0.6, False
            words.insert(len(words) if is_last else 0, beginning)
            if is_last:
                found |= set(BEGINNINGS[beginning])
        return Question(self.one(" ", ", ", "\n").join(words), frozenset(found), is_plain)

    def ids(self, stored: Sequence[ItemId]) -> list[ItemId]:
        """Some ids, of no item among them, with repeats; at least one."""
        odd = ["0" * 40, "none", "A" * 40, *(id.upper() for id in stored[:1]), *(f"{id}\n" for id in stored[:1])]
        some = self.some(stored[-100:], 8) if stored else []
        return [*some, *map(ItemId, self.some(odd, 1))] or [ItemId("0" * 40)]

    # --- operations

    def operation(self, stored: Sequence[ItemId], by: Sequence[str]) -> Operation:
        """Any call, of one of the engines named in `by`."""
        names = list(self._makers(stored))
        name = self.rand.choices(names, [_WEIGHTS.get(name, 2) for name in names])[0]
        args = self._makers(stored)[name]()
        if self.rand.random() < 0.06:
            args = self._spoiled(name, args)
        return Operation(name, args, self.rand.choice(by))

    def _makers(self, stored: Sequence[ItemId]) -> dict[str, Callable[[], tuple[Any, ...]]]:
        return {
            "store": lambda: (self.item(),),
            "store_many": lambda: (self._batch(),),
            "store_with": lambda: (self.item(), StoreOptions(wait=self.rand.choice(list(Wait)))),
            "store_many_with": lambda: (self._batch(), StoreOptions(wait=self.rand.choice(list(Wait)))),
            "forget": lambda: (self._target(stored),),
            "forget_within": lambda: (self.ids(stored), self.one(None, self.reach())),
            "erase": lambda: (self._erasure(),),
            "list": lambda: (self._listing(),),
            "list_preview": lambda: (self._listing(),),
            "export": lambda: (self._listing(),),
            "page": lambda: (self.rand.randint(0, 2), self.filter(), self.one(1, 3, 10)),
            "get": lambda: (GetRequest(ids=self.ids(stored), reach=self.one(None, self.reach())),),
            "get_items": lambda: (GetRequest(ids=self.ids(stored), reach=self.one(None, self.reach())),),
            "explore": lambda: (self._exploration(),),
            "explore_many": lambda: (self._explorations(),),
            "namespaces": lambda: (self.filter(), self.one(1, 5_000)),
            "histogram": lambda: (self._over_time(),),
            "fetch": self._fetching,
            "fetch_explained": self._fetching,
            "recall": self._recalling,
            "consolidate": lambda: (ConsolidateRequest(reach=self.reach(), kinds=self.some(ItemKind, 2)),),
            "beliefs": lambda: (BeliefsRequest(reach=self.reach(), query=self.maybe(PLAIN), limit=self.limit()),),
            "health": lambda: (),
            "reopen": lambda: (),
        }

    def together(self, stored: Sequence[ItemId]) -> Operation:
        """A change, and a read that another engine over the file is asked for at the same time."""
        makers = self._makers(stored)
        change = self.one("store_many", "forget", "erase")
        read = self.one("explore_many", "namespaces", "histogram", "get", "export")
        # Several pages would be several reads.
        asked = (ListRequest(filter=self.filter(), limit=2**64 - 1),) if read == "export" else makers[read]()
        by = self.one("first", "second")
        return Operation("together", (Operation(change, makers[change]()), Operation(read, asked, by)))

    def _batch(self) -> list[StoreItem]:
        batch = [self.item() for _ in range(self.rand.choice([1, 1, 2, 3, 4, 10]))]
        return [*batch, *self.some(batch, 2)]

    def _target(self, stored: Sequence[ItemId]) -> ForgetTarget:
        return ForgetTarget(ids=self.ids(stored)) if self.rand.random() < 0.6 else ForgetTarget(filter=self.filter())

    def _erasure(self) -> EraseRequest:
        return EraseRequest(reach=self.reach(), kinds=self.some(ItemKind), whole_tree=self.rand.random() < 0.5)

    def _listing(self) -> ListRequest:
        return ListRequest(filter=self.filter(), limit=self.limit())

    def _exploration(self, filter: MetaFilter | None = None) -> ExploreRequest:
        return ExploreRequest(
            facet=self.rand.choice(list(Facet)),
            filter=filter or self.filter(),
            limit=self.one(1, 2, 5, 50, 500),
            scan_limit=self.one(1, 5_000, 50_000),
        )

    def _explorations(self) -> list[ExploreRequest]:
        filter = self.filter()
        if self.rand.random() < 0.7:
            limit = self.one(1, 3, 50)
            return [ExploreRequest(facet=facet, filter=filter, limit=limit) for facet in Facet]
        return [self._exploration(self.one(filter, self.filter())) for _ in range(self.rand.randint(0, 4))]

    def _over_time(self) -> HistogramRequest:
        return HistogramRequest(
            filter=self.filter(),
            unit=self.one(None, *TimeUnit),
            zone=self.rand.choice(ZONES),
            scan_limit=self.one(1, 5_000, 50_000),
        )

    def _fetching(self) -> tuple[FetchRequest, Question]:
        question = self.question()
        req = FetchRequest(
            query=question.text,
            mode=self.rand.choice([*[FetchMode.KEYWORD] * 4, FetchMode.VECTOR, FetchMode.HYBRID]),
            filter=self.filter(),
            limit=self.limit(),
            beliefs=self.one(0, 3),
            refers_to=self.hint() if self.rand.random() < 0.4 else None,
            max_scopes=self.maybe((1, 5), 0.1),
        )
        return req, question

    def _recalling(self) -> tuple[RecallRequest, Question]:
        question = self.question()
        req = RecallRequest(
            question=question.text,
            filter=self.filter(),
            limit=self.limit(),
            instructions=self.maybe(BLANKS, 0.1),
            refers_to=self.hint() if self.rand.random() < 0.4 else None,
        )
        return req, question

    # --- requests that must be refused

    def _spoiled(self, name: str, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Arguments of the same call that an engine must refuse; as they were where there are none."""
        blank = self.rand.choice(BLANKS)
        if name in ("store", "store_with"):
            return (self.refused(), *args[1:])
        if name in ("store_many", "store_many_with"):
            batch = args[0]
            spoiled = self.one([], [*batch, self.refused(), *batch], [batch[0]] * 101)
            return (spoiled, *args[1:])
        changes: dict[str, list[dict[str, Any]]] = {
            "forget": [{"ids": [], "filter": None}, {"ids": None, "filter": MetaFilter()}],
            "erase": [{"reach": EVERYTHING, "kinds": kinds, "whole_tree": False} for kinds in ([], [*ItemKind])],
            "get": [{"ids": []}, {"ids": [ItemId("a"), ItemId(blank)]}, {"ids": [ItemId("a")] * 201}],
            "explore": [{"limit": 0}, {"limit": 501}, {"scan_limit": 0}, {"scan_limit": 50_001}],
            "histogram": [{"scan_limit": 0}, {"scan_limit": 50_001}, *({"zone": zone} for zone in BAD_ZONES)],
            "list": [{"limit": 0}, {"cursor": "none"}, {"cursor": ""}],
            "fetch": [{"query": blank}, {"limit": 0}, {"max_scopes": 0}, *self._bad_hints(), {"cursor": "none"}],
            "recall": [{"question": blank}, {"limit": 0}, *self._bad_hints()],
            "consolidate": [{"kinds": [ItemKind.DOCUMENT] * 2}],
            "beliefs": [{"limit": 0}, {"query": blank}],
        }
        changes |= {"get_items": changes["get"], "list_preview": changes["list"], "export": changes["list"]}
        changes["fetch_explained"] = changes["fetch"]
        if name in changes:
            return (args[0].model_copy(update=self.rand.choice(changes[name])), *args[1:])
        if name == "explore_many":
            return ([*args[0], self._exploration().model_copy(update={"limit": 0})],)
        if name == "namespaces":
            return (args[0], self.one(0, 50_001))
        if name == "forget_within":
            return (self.one([], [ItemId("a"), ItemId(blank)]), args[1])
        return args

    def _bad_hints(self) -> list[dict[str, Any]]:
        hints = [
            TimeHint(from_=date(2024, 5, 2), to=date(2024, 5, 1)),
            TimeHint(from_=date(2024, 5, 1), to=date(2024, 5, 1), zone=self.rand.choice(BAD_ZONES)),
        ]
        return [{"refers_to": hint} for hint in hints]


def _conditions(item: StoreItem) -> dict[str, Any]:
    """What a filter may ask for so that the item meets it."""
    meta = item.meta
    conditions = {
        **{name: getattr(meta, name) for name in MetaFilter.model_fields if name in MemoryMeta.model_fields},
        "reach": Reach(at=meta.namespace, inherit=False),
        "tool_call": meta.tool_call and meta.tool_call.name,
        "source_id": meta.source.id,
        "kinds": [item.item_kind],
        "sources": [meta.source.kind],
        "tags_any": meta.tags,
        "observed_after": meta.observed_at,
    }
    return {name: condition for name, condition in conditions.items() if condition is not None}


_WEIGHTS = {
    "reopen": 0.5,
    **dict.fromkeys(("export", "list_preview", "histogram", "consolidate", "beliefs", "health"), 1),
    **dict.fromkeys(("store_many", "list", "get", "namespaces", "explore_many"), 3),
    **dict.fromkeys(("get_items", "page"), 5),
    **dict.fromkeys(("explore", "fetch"), 7),
}
"""How often each operation comes, beside 2 for the others."""
