"""Random values of the contract, as JSON that another program might send: any text, offset, fraction and number."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

from explorer.contract import ItemKind, LearningKind, Role, SegmentKind, SourceKind

JsonObject = dict[str, Any]

# Without a deadline: how long one example takes is the machine's business, not the contract's.
some_examples = settings(deadline=None, max_examples=60)
many_examples = settings(deadline=None, max_examples=150)

# Characters that are written in some way of their own come up more often than by chance.
texts = st.text(max_size=12) | st.text('\0\x01\x1f\b\t\n\f\r"\\/\x7f\u2028\u2029\ufffdé日😀 a', max_size=8)
u32s = st.integers(0, 2**32 - 1)
f32s = st.floats(0.0, 1.0, width=32) | st.floats(0.0, 1.0)


def _listed(values: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    return st.lists(values, max_size=3)


@st.composite
def times(draw: st.DrawFn) -> str:
    """RFC 3339 with up to 12 digits of fraction and any offset that stays in the calendar."""
    at = draw(st.datetimes(datetime(1, 1, 3), datetime(9999, 12, 29)))
    fraction = draw(st.text("0123456789", min_size=1, max_size=12).map(".{}".format) | st.just(""))
    hours, minutes = draw(st.integers(0, 23)), draw(st.integers(0, 59))
    offset = draw(st.sampled_from(["Z", "z", f"+{hours:02}:{minutes:02}", f"-{hours:02}:{minutes:02}"]))
    return f"{at.isoformat(timespec='seconds')}{fraction}{offset}"


segments = st.builds(
    "{}:{}".format,
    st.sampled_from([kind.prefix for kind in SegmentKind]),
    st.text("ABCXYZabcxyz0189_-", min_size=1, max_size=6),
)
namespaces = st.lists(segments, max_size=4).map(lambda parts: "/".join(parts) or "root")
turn_ranges = st.fixed_dictionaries({"first": u32s, "last": u32s})
tool_calls = st.fixed_dictionaries({"name": texts}, optional={"id": texts | st.none()})
sources = st.fixed_dictionaries({"kind": st.sampled_from(list(SourceKind))}, optional={"id": texts | st.none()})
_plain_fields = ("workspace", "folder", "file_path", "language", "repo", "commit", "url", "thread_id", "agent_id")

metas = st.fixed_dictionaries(
    {},
    optional={
        "namespace": namespaces,
        **{name: texts | st.none() for name in _plain_fields},
        "turns": turn_ranges | st.none(),
        "tool_call": tool_calls | st.none(),
        "source": sources,
        "tags": _listed(texts),
        "observed_at": times() | st.none(),
        "derive": st.booleans() | st.none(),
        "observed_actor": st.fixed_dictionaries({"id": texts}, optional={"name": texts}) | st.none(),
    },
)
documents = st.fixed_dictionaries(
    {
        "type": st.just("document"),
        "body": st.fixed_dictionaries({"text": texts}) | st.fixed_dictionaries({"uri": texts}),
    },
    optional={"title": texts | st.none(), "mime": texts | st.none(), "meta": metas},
)
turns = st.fixed_dictionaries(
    {"role": st.sampled_from(list(Role)), "text": texts},
    optional={"at": times() | st.none(), "tool_calls": _listed(tool_calls)},
)
conversations = st.fixed_dictionaries(
    {"type": st.just("conversation"), "turns": _listed(turns)}, optional={"meta": metas}
)
learnings = st.fixed_dictionaries(
    {
        "type": st.just("learning"),
        "text": texts,
        "kind": st.sampled_from(list(LearningKind)),
        "confidence": f32s,
    },
    optional={"evidence": texts | st.none(), "meta": metas},
)
items: st.SearchStrategy[JsonObject] = documents | conversations | learnings

reaches = st.fixed_dictionaries({}, optional={"at": namespaces, "inherit": st.booleans(), "descendants": st.booleans()})
filters: st.SearchStrategy[JsonObject] = st.fixed_dictionaries(
    {},
    optional={
        "reach": reaches | st.none(),
        **{name: texts | st.none() for name in (*_plain_fields, "tool_call", "source_id")},
        "turns": turn_ranges | st.none(),
        "kinds": _listed(st.sampled_from(list(ItemKind))),
        "sources": _listed(st.sampled_from(list(SourceKind))),
        "tags_any": _listed(texts),
        "observed_after": times() | st.none(),
        "observed_before": times() | st.none(),
    },
)
