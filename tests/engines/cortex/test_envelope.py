from __future__ import annotations

import hashlib
import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.contract import (
    Conversation,
    Document,
    DocumentBody,
    InvalidRequest,
    ItemId,
    ItemKind,
    Learning,
    MemoryMeta,
    MetaFilter,
    Namespace,
    StoreItem,
    dump_item,
    holds_phone_number,
    parse_item,
    redacted_id,
)
from explorer.engines.cortex.envelope import Envelope, Event, decode, lay_out, newer_id, rebuild
from explorer.engines.cortex.labels import MAX_LABELS, id_label, narrowing
from explorer.engines.cortex.scopes import Layout
from explorer.engines.cortex.wires import experience
from tests.contract import strategies
from tests.engines.cortex.vectors import VECTORS, written_out

LEGACY = Layout()
ID = ItemId("521fc741e9b4b85bcbdede0575f70a51ac3a6ce9")


def made(item: dict[str, Any]) -> StoreItem:
    return parse_item(json.dumps(item))


def document(text: str, **meta: Any) -> Document:
    return Document(body=DocumentBody(text=text), meta=MemoryMeta.model_validate(meta))


def decoded(event: Event) -> Envelope:
    envelope = decode(event.text, event.labels)
    assert envelope is not None
    return envelope


def whole(item: StoreItem) -> Envelope:
    """The envelope of an item of one event, as it is read back."""
    (event,) = lay_out(item, item.fingerprint())
    return decoded(event)


@pytest.mark.parametrize("vector", VECTORS["envelopes"], ids=lambda vector: vector["name"])
def test_what_is_sent(vector: dict[str, Any]) -> None:
    item = made(written_out(vector["item"]))
    id = item.fingerprint()
    assert (id, newer_id(item)) == (vector["id"], vector.get("newer_id"))
    if "error" in vector:
        with pytest.raises(InvalidRequest, match=r"conversation is 78.* bytes long.* 1 MiB"):
            lay_out(item, id)
        return
    events = lay_out(item, id)
    for event, wanted in zip(events, vector["events"], strict=True):
        envelope = decoded(event)
        assert (envelope.v, envelope.id) == (wanted["v"], id)
        body = experience(LEGACY.path(item.meta.namespace, item.item_kind), event)
        if "body" in wanted:
            assert body == wanted["body"]
            continue
        data = event.text.encode("utf-8")
        assert (len(data), hashlib.sha256(data).hexdigest()) == (wanted["text_bytes"], wanted["text_sha256"])
        assert (body["scope"], list(event.labels)) == (wanted["scope"], wanted["labels"])
        assert body["idempotency_key"] == wanted["idempotency_key"]


@pytest.mark.parametrize("vector", VECTORS["decode"], ids=lambda vector: vector["name"])
def test_what_an_event_reads_as(vector: dict[str, Any]) -> None:
    envelope = decode(vector["text"], vector["labels"])
    assert (envelope is None) == (vector["result"] is None)
    if envelope is not None:
        assert vector["result"].items() <= envelope.model_dump(mode="json").items()


@pytest.mark.parametrize("vector", VECTORS["path_digests"], ids=lambda vector: vector["file_path"])
def test_paths_that_are_not_sent(vector: dict[str, Any]) -> None:
    envelope = whole(document("x", file_path=vector["file_path"], folder=vector["file_path"]))
    assert (envelope.meta.file_path, envelope.meta.folder) == (vector["sent"], None)
    assert envelope.fp == envelope.fd == vector["fp"]
    for wanted in vector["filters"]:
        path = wanted["file_path_filter"]
        assert envelope.matches(MetaFilter(file_path=path)) == wanted["matches"], path
        # The folder itself is not sent, so that its bare name does not find it.
        assert envelope.matches(MetaFilter(folder=path)) == (wanted["matches"] and path != vector["sent"]), path


@pytest.mark.parametrize("vector", VECTORS["absolute_workspace"], ids=lambda vector: vector["workspace"])
def test_an_absolute_workspace_is_not_sent(vector: dict[str, Any]) -> None:
    workspace = vector["workspace"]
    envelope = whole(document("x", workspace=workspace))
    assert (envelope.meta.workspace is None, envelope.ws is not None) == (vector["absolute"], vector["absolute"])
    assert envelope.matches(MetaFilter(workspace=workspace))
    assert not envelope.matches(MetaFilter(workspace=f"{workspace}/"))


@pytest.mark.parametrize("vector", VECTORS["narrowing"], ids=lambda vector: json.dumps(vector["filter"]))
def test_which_labels_narrow(vector: dict[str, Any]) -> None:
    assert narrowing(MetaFilter.model_validate(vector["filter"])) == vector["labels"]


def test_shorter_digests_of_an_older_writer() -> None:
    envelope = whole(document("x", workspace="/ws", file_path="/a/b", folder="/a"))
    older = envelope.model_copy(
        update={
            "ws": (envelope.ws or "")[:16],
            "fp": [digest[:16] for digest in envelope.fp],
            "fd": [digest[:16] for digest in envelope.fd],
        }
    )
    assert older.matches(MetaFilter(workspace="/ws", file_path="/a", folder="/a/"))
    assert not older.matches(MetaFilter(file_path="/b"))
    assert not older.model_copy(update={"fp": ["", "e3b0"]}).matches(MetaFilter(file_path="/"))


def test_full_paths_of_before_digests() -> None:
    meta = {"source": {"kind": "file"}, "workspace": "/ws", "folder": "/a", "file_path": "/a/b.md"}
    envelope = Envelope.model_validate({"v": 2, "id": "i", "kind": "document", "text": "x", "meta": meta})
    assert envelope.matches(MetaFilter(workspace="/ws", folder="/a", file_path="/a"))
    assert not envelope.matches(MetaFilter(workspace="/w"))
    assert not envelope.matches(MetaFilter(folder="/b"))


def test_every_other_clause_of_the_filter_holds_beside_a_path() -> None:
    envelope = whole(document("x", file_path="/a/b", tags=["t"]))
    assert envelope.matches(MetaFilter(file_path="/a", tags_any=["t"], kinds=[ItemKind.DOCUMENT]))
    assert not envelope.matches(MetaFilter(file_path="/a", tags_any=["u"]))
    assert not envelope.matches(MetaFilter(file_path="/a", kinds=[ItemKind.LEARNING]))


def test_a_phone_number_is_found_by_its_own_form() -> None:
    raw = "channel:whatsapp_+15551234567_x"
    item = document("x", thread_id=raw, source={"kind": "conversation", "id": raw}, agent_id=raw)
    envelope = whole(item)
    assert envelope.meta.thread_id == envelope.meta.source.id == "tm-redacted:75d43c4a0d9750df765e7195269448d9"
    assert envelope.meta.agent_id == raw  # no id of a person's line
    assert envelope.matches(MetaFilter(thread_id=raw, source_id=raw))
    (event,) = lay_out(item, ID)
    assert set(narrowing(MetaFilter(thread_id=raw))) & set(event.labels)
    assert set(narrowing(MetaFilter(source_id=raw))) & set(event.labels)
    assert narrowing(MetaFilter(source_id="+1 555 123 4567"))[0].startswith("tm:s:")


@pytest.mark.parametrize(
    ("pages", "section", "tags"),
    [((3, 3), "A", ["t", "page:3", "section:A"]), ((1, 2), None, ["t", "page:1-2"]), (None, None, ["t"])],
)
def test_where_a_piece_is_in_its_document(pages: tuple[int, int] | None, section: str | None, tags: list[str]) -> None:
    base = whole(document("x", tags=["t"])).model_dump(mode="json")
    chunk = {"index": 0, "count": 2, "pages": pages, "section": section}
    envelope = Envelope.model_validate({**base, "chunk": chunk})
    assert (envelope.part, envelope.parts) == (0, 2)
    assert envelope.located_meta().tags == tags
    assert envelope.meta.tags == ["t"]


def test_a_uri_cannot_be_laid_out() -> None:
    with pytest.raises(InvalidRequest, match="unresolved uri"):
        lay_out(Document(body=DocumentBody(uri="https://a.test")), ID)


def test_an_actor_is_kept() -> None:
    item = document("x", observed_actor={"id": "user:priya", "name": "Priya"})
    assert rebuild([whole(item)]) == item


# What is laid out reads back


def sent_form(item: StoreItem) -> StoreItem:
    """The item as another machine reads it: without local paths and phone numbers."""
    meta = item.meta
    path = None if meta.file_path is None else meta.file_path.replace("\\", "/").rpartition("/")[2] or None
    is_local = meta.workspace is not None and re.match(r"[/~\\]|[A-Za-z]:", meta.workspace)
    redacted = {
        name: redacted_id(raw) if raw is not None and holds_phone_number(raw) else raw
        for name, raw in (("thread", meta.thread_id), ("source", meta.source.id))
    }
    update = {
        "file_path": path,
        "folder": None,
        "workspace": None if is_local else meta.workspace,
        "thread_id": redacted["thread"],
        "source": meta.source.model_copy(update={"id": redacted["source"]}),
    }
    return item.model_copy(update={"meta": meta.model_copy(update=update)})


def checked_events(item: StoreItem) -> list[Event]:
    """The item's events, of which each is one that the server takes."""
    id = item.fingerprint()
    events = lay_out(item, id)
    for event in events:
        assert event.text
        assert event.labels[0] == id_label(id)
        assert len(event.labels) <= MAX_LABELS
        assert all(len(label.encode("utf-8")) <= 256 for label in event.labels)
        assert not any(label.startswith("lang:") for label in event.labels)
    return events


@strategies.many_examples
@given(strategies.items)
def test_an_item_reads_back(wanted: dict[str, Any]) -> None:
    item = made(wanted)
    if (isinstance(item, Document) and item.body.text is None) or (isinstance(item, Conversation) and not item.turns):
        return
    envelopes = [decoded(event) for event in checked_events(item)]
    back = rebuild(envelopes)
    assert back is not None
    assert dump_item(back) == dump_item(sent_form(item))
    assert [envelope.part for envelope in envelopes] == [event.part for event in lay_out(item, item.fingerprint())]
    # A label that narrows a read by any one field is one that the event has.
    for name in ("thread_id", "repo", "workspace", "agent_id", "language"):
        value = getattr(item.meta, name)
        if value is not None:
            one = MetaFilter.model_validate({name: value, "reach": {"at": str(item.meta.namespace)}})
            assert envelopes[0].matches(one)
            assert set(narrowing(one)) & set(checked_events(item)[0].labels)


@strategies.some_examples
@given(st.text('é日😀a"\\\n', min_size=230, max_size=500), st.lists(st.text("日a,:", max_size=30), max_size=40))
def test_slices_end_between_characters(evidence: str, tags: list[str]) -> None:
    item = Learning.model_validate(
        {"text": "x", "kind": "fact", "confidence": 0.5, "evidence": evidence, "meta": {"tags": tags}}
    )
    (event,) = checked_events(item)
    assert rebuild([decoded(event)]) == item


def test_labels_too_many_or_no_text_go_into_the_text() -> None:
    many = Learning.model_validate(
        {"text": "x", "kind": "fact", "confidence": 1, "meta": {"tags": ["t" * 100] * 150, "thread_id": "t"}}
    )
    (event,) = checked_events(many)
    assert event.text.startswith('{"v":2,')
    assert len(event.labels) == 3
    assert rebuild([decoded(event)]) == many
    silent = Conversation.model_validate({"turns": [{"role": "user", "text": ""}, {"role": "tool", "text": " \n"}]})
    first, second = checked_events(silent)
    assert first.text.startswith('{"v":2,')
    assert second.text == " \n"
    assert (first.derives, second.derives) == (True, False)
    assert rebuild([decoded(first), decoded(second)]) == silent


# What other events make up


def turns(*texts: str) -> list[Envelope]:
    item = Conversation.model_validate({"turns": [{"role": "user", "text": text} for text in texts]})
    return [decoded(event) for event in lay_out(item, ID)]


def test_a_conversation_is_what_turns_there_are() -> None:
    one, two, three = turns("1", "2", "3")
    again = two.model_copy(update={"text": "other"})
    back = rebuild([three, two, again, one])
    assert isinstance(back, Conversation)
    assert [turn.text for turn in back.turns] == ["1", "2", "3"]
    back = rebuild([three, one])
    assert isinstance(back, Conversation)
    assert [turn.text for turn in back.turns] == ["1", "3"]
    assert rebuild([one.model_copy(update={"turn": None})]) is None


def pieces(count: int) -> list[Envelope]:
    item = document("".join(f"# {at}\n{'x' * 150_000}\n" for at in range(count)), file_path="/a/b.md", tags=["t"])
    return [decoded(event) for event in lay_out(item, ID)]


def test_a_document_needs_each_of_its_pieces() -> None:
    first, second, third = made_of = pieces(3)
    back = rebuild(made_of)
    assert isinstance(back, Document)
    assert back.body.text == first.text + second.text + third.text
    assert rebuild([third, first, first, second]) == back
    assert rebuild([first, third]) is None
    assert rebuild([first, second]) is None
    assert second.chunk is not None
    other = second.model_copy(update={"chunk": second.chunk.model_copy(update={"count": 4})})
    assert rebuild([first, other, third]) is None
    beyond = third.model_copy(update={"chunk": second.chunk.model_copy(update={"index": 3})})
    assert rebuild([first, second, third, beyond]) is None
    uncut = second.model_copy(update={"chunk": None, "text": "all of it"})
    back = rebuild([first, uncut])
    assert isinstance(back, Document)
    assert back.body.text == "all of it"


def test_pieces_say_where_they_are() -> None:
    item = document("".join(f"# {at}\n{'x' * 150_000}\n" for at in range(3)), file_path="/a/b.md")
    for at, event in enumerate(lay_out(item, ID)):
        assert event.labels[2:5] == ("kind:document", "file:b.md", f"section:{at}")


def test_a_learning_without_its_own_fields() -> None:
    text = '{"v":2,"id":"i","kind":"learning","text":"x","meta":{}}'
    back = rebuild([whole_read(text)])
    assert isinstance(back, Learning)
    assert (back.kind, back.confidence, back.evidence) == ("other", 0.0, None)
    assert back.meta == MemoryMeta()
    assert rebuild([]) is None


def whole_read(text: str) -> Envelope:
    envelope = decode(text, [])
    assert envelope is not None
    return envelope


# What is not ours

GOOD: dict[str, Any] = {
    "v": 2,
    "id": "i",
    "kind": "conversation",
    "text": "x",
    "meta": {"namespace": "team:a", "source": {"kind": "agent"}, "tags": ["t"]},
    "turn": {"index": 0, "count": 1, "role": "user", "at": "2026-01-02T03:04:05Z", "tool_calls": [{"name": "n"}]},
    "chunk": {"index": 0, "count": 1, "pages": [1, 2], "section": "s"},
    "learning_kind": "fact",
    "confidence": 1,
    "ws": "w",
    "fp": ["f"],
    "title": "t",
}


def changed(path: str, value: Any) -> str:
    """GOOD as JSON with one value replaced, or left out where `value` is `...`."""
    copy = json.loads(json.dumps(GOOD))
    *above, last = path.split(".")
    place = copy
    for step in above:
        place = place[step]
    if value is ...:
        del place[last]
    else:
        place[last] = value
    return json.dumps(copy)


@pytest.mark.parametrize("path", ["v", "id", "kind", "text", "meta", "meta.source.kind", "turn.index", "turn.count"])
def test_a_key_that_must_be_there(path: str) -> None:
    assert decode(json.dumps(GOOD), []) is not None
    assert decode(changed(path, ...), []) is None


@pytest.mark.parametrize("path", ["turn.role", "turn.tool_calls", "chunk.index", "chunk.count", "chunk.pages"])
def test_keys_of_a_part(path: str) -> None:
    optional = path in ("turn.tool_calls", "chunk.pages")
    assert (decode(changed(path, ...), []) is not None) == optional


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("v", True),
        ("v", "2"),
        ("v", 2.0),
        ("id", 7),
        ("kind", "note"),
        ("kind", None),
        ("text", None),
        ("text", ["x"]),
        ("meta", []),
        ("meta.namespace", "robot:x"),
        ("meta.namespace", None),
        ("meta.namespace", "/".join(["agent:a"] * 9)),
        ("meta.source", None),
        ("meta.source.kind", "composio"),
        ("meta.tags", None),
        ("meta.tags", [1]),
        ("meta.observed_at", "yesterday"),
        ("meta.turns", {"first": 1}),
        ("meta.derive", "no"),
        ("turn.index", -1),
        ("turn.index", 2**32),
        ("turn.index", "0"),
        ("turn.role", "robot"),
        ("turn.tool_calls", [{}]),
        ("chunk.pages", [1]),
        ("chunk.pages", [1, 2, 3]),
        ("chunk.section", 1),
        ("learning_kind", "rumour"),
        ("confidence", "1"),
        ("confidence", 1e39),
        ("ws", 1),
        ("fp", None),
        ("fp", "f"),
        ("title", {}),
    ],
)
def test_a_value_that_is_not_of_its_type(path: str, value: Any) -> None:
    assert decode(changed(path, value), []) is None


@pytest.mark.parametrize("path", ["meta.workspace", "meta.observed_at", "turn", "chunk", "ws", "title", "confidence"])
def test_a_null_stands_for_what_may_be_left_out(path: str) -> None:
    assert decode(changed(path, None), []) is not None


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*GOOD, "x"]), inner, max_size=4),
    max_leaves=8,
)
any_text = st.text(st.characters(exclude_categories=()), max_size=30)  # halves of surrogate pairs too
hostile_texts = (
    any_text
    | json_values.map(json.dumps)
    | st.builds(lambda key, value: json.dumps({**GOOD, key: value}), st.sampled_from(list(GOOD)), json_values)
    | st.sampled_from(["[" * 100_000, '{"v":2,"a":' * 50_000, "{" * 5, "[user] ", "[] {", "1" * 5000, '{"v":2}', "NaN"])
)
hostile_labels = any_text | st.builds(
    "tm:e:{}:{}".format,
    st.sampled_from(["0", "00", "1", "01", "-1", "+0", "²", "٣", "9" * 200, ""]),
    hostile_texts.map(lambda text: text.replace('"v": 2', '"v": 3')),
)


@strategies.many_examples
@given(hostile_texts, st.lists(hostile_labels, max_size=3))
def test_what_is_hostile_is_never_an_error(text: str, labels: list[str]) -> None:
    envelope = decode(text, labels)
    if envelope is not None:
        envelope.model_dump_json()
        envelope.located_meta()
        envelope.matches(MetaFilter(file_path="/", workspace="/", folder=""))
        rebuild([envelope])
        rebuild([envelope, envelope])


def test_the_namespace_is_read_as_it_is_written() -> None:
    item = document("x", namespace="team:acme/agent:writer")
    assert whole(item).meta.namespace == Namespace.parse("team:acme/agent:writer")
    assert whole(document("x")).meta.namespace is Namespace.ROOT
