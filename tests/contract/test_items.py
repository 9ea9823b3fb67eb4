"""Items: what may be stored, how they read, and what makes two of them one."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from explorer.contract import (
    ActorRef,
    Conversation,
    Document,
    DocumentBody,
    Hit,
    InvalidRequest,
    ItemId,
    ItemKind,
    Learning,
    LearningKind,
    MemoryMeta,
    Role,
    StoreItem,
    Timestamp,
    ToolCallRef,
    Turn,
    check_batch,
    dump_item,
)

BLANKS = ["", " ", "\n\t", "\u3000\u2028"]
SEPARATORS = ["\x1c", "\x1d", "\x1e", "\x1f"]


def document(text: str = "body", **fields: Any) -> Document:
    return Document(body=DocumentBody(text=text), **fields)


def conversation(*texts: str) -> Conversation:
    return Conversation(turns=[Turn(role=Role.USER, text=text) for text in texts])


def learning(text: str = "tea", confidence: float = 0.5, **fields: Any) -> Learning:
    return Learning(text=text, kind=LearningKind.FACT, confidence=confidence, **fields)


def refusal(item: StoreItem) -> str:
    with pytest.raises(InvalidRequest) as caught:
        item.check()
    return caught.value.text


@pytest.mark.parametrize("blank", BLANKS)
def test_blank_text_is_refused(blank: str) -> None:
    assert refusal(document(blank)) == "document body must not be empty"
    assert refusal(learning(blank)) == "learning text must not be empty"
    assert refusal(conversation("a", blank)) == "conversation turns must not be empty"


@pytest.mark.parametrize("separator", SEPARATORS)
def test_a_separator_character_is_not_white_space(separator: str) -> None:
    assert not separator.strip()  # Python takes it for white space; the contract's other readers do not
    document(separator).check()
    learning(separator).check()
    conversation(separator).check()
    assert document("b", title=separator).render_text() == f"# {separator}\n\nb"


def test_an_unresolved_uri_is_refused() -> None:
    for uri in ("https://a.test", ""):
        said = refusal(Document(body=DocumentBody(uri=uri)))
        assert said == "document body is an unresolved uri; resolve it through a source first"


def test_a_conversation_needs_a_turn() -> None:
    assert refusal(Conversation(turns=[])) == "conversation must have at least one turn"


@pytest.mark.parametrize(
    ("confidence", "shown"),
    [
        (-0.1, "-0.1"),
        (-1e-7, "-0.0000001"),
        (1.0000001, "1.0000001"),
        (2.0, "2"),
        (1e20, "100000000000000000000"),
        (float("nan"), "NaN"),
        (float("inf"), "inf"),
        (float("-inf"), "-inf"),
    ],
)
def test_confidence_lies_between_0_and_1(confidence: float, shown: str) -> None:
    assert refusal(learning(confidence=confidence)) == f"learning confidence {shown} is outside 0.0..=1.0"


@pytest.mark.parametrize("confidence", [0.0, -0.0, 1e-45, 0.5, 1.0, 1.00000001])
def test_both_ends_of_confidence_are_allowed(confidence: float) -> None:
    learning(confidence=confidence).check()  # the last is 1.0 as a 32-bit float


def test_what_else_an_item_says_is_not_looked_at() -> None:
    document(title="", mime="not a type", meta=MemoryMeta(workspace="", tags=["", ""])).check()
    learning(evidence="").check()
    Conversation(turns=[Turn(role=Role.TOOL, text="a", tool_calls=[ToolCallRef(name="")])]).check()


def test_a_batch_holds_1_to_100_items_that_may_all_be_stored() -> None:
    check_batch([document()] * 100)
    for batch in ([], [document()] * 101):
        with pytest.raises(InvalidRequest) as caught:
            check_batch(list(batch))
        assert caught.value.text == "store_many takes between 1 and 100 items"
    with pytest.raises(InvalidRequest) as caught:
        check_batch([document(), learning(""), conversation()])
    assert caught.value.text == "learning text must not be empty"


def test_rendered_documents() -> None:
    assert document("b", title=" T ").render_text() == "#  T \n\nb"
    assert document("b", title="\u3000").render_text() == "b"
    assert document("# b\n").render_text() == "# b\n"
    assert Document(title="T", body=DocumentBody(uri="u")).render_text() == "# T\n\nu"


def test_rendered_conversations() -> None:
    turns = [Turn(role=role, text=f"{role} says") for role in Role]
    assert Conversation(turns=turns).render_text() == (
        "user: user says\nassistant: assistant says\nsystem: system says\ntool: tool says"
    )
    calls = [ToolCallRef(name="a"), ToolCallRef(name="b", id=""), ToolCallRef(name="", id="2")]
    assert Turn(role=Role.USER, text="x", tool_calls=calls).render_text() == "user: x [tools: a, b (),  (2)]"
    timed = Turn(role=Role.USER, text="x\ny", at=Timestamp.parse("2026-10-04T09:30:00Z"))
    assert timed.render_text() == "user: x\ny"


def test_a_hit_shows_an_item() -> None:
    item = learning("tea", 0.8, evidence="seen twice", meta=MemoryMeta(tags=["t"]))
    hit = Hit.of_item(ItemId("1"), item, 0.25)
    assert hit == Hit(id=ItemId("1"), kind=ItemKind.LEARNING, text="tea", meta=item.meta, score=0.25, confidence=0.8)
    assert Hit.of_item(ItemId("1"), document()).confidence is None
    assert Hit.of_item(ItemId("1"), document()).score == 0.0


def test_what_makes_another_item() -> None:
    base = document("a")
    others = [
        document("a "),
        document("a\n"),
        document("A"),
        document("a", title=""),
        document("a", mime="text/plain"),
        document("a", meta=MemoryMeta(tags=["x", "y"])),
        document("a", meta=MemoryMeta(tags=["y", "x"])),
        document("a", meta=MemoryMeta(tags=["x", "x"])),
        document("a", meta=MemoryMeta(derive=True)),
        document("a", meta=MemoryMeta(derive=False)),
        document("a", meta=MemoryMeta(workspace="")),
        document("a", meta=MemoryMeta(tool_call=ToolCallRef(name="n"))),
        document("a", meta=MemoryMeta(tool_call=ToolCallRef(name="n", id="1"))),
        document("e\u0301"),
        document("é"),
        learning("a"),
        conversation("a"),
    ]
    ids = {item.fingerprint() for item in (base, *others)}
    assert len(ids) == len(others) + 1
    assert all(len(id) == 40 and set(id) <= set("0123456789abcdef") for id in ids)


def test_what_makes_no_other_item() -> None:
    base = document("a")
    seen = MemoryMeta(observed_at=Timestamp.parse("2026-10-04T09:30:00Z"), observed_actor=ActorRef(id="user:p"))
    assert document("a", meta=seen).fingerprint() == base.fingerprint()
    assert document("a", title=None, meta=MemoryMeta(tags=[], derive=None)).fingerprint() == base.fingerprint()


def test_the_fingerprint_leaves_the_item_as_it_is() -> None:
    item = document("a", meta=MemoryMeta(observed_at=Timestamp.parse("2026-10-04T09:30:00Z")))
    before = dump_item(item)
    item.fingerprint()
    assert dump_item(item) == before
    assert "observed_at" in before


def test_items_do_not_change() -> None:
    item = document()
    with pytest.raises(ValidationError):
        item.title = "T"
    with pytest.raises(ValidationError):
        DocumentBody(text="a", uri="b")
    with pytest.raises(ValidationError):
        DocumentBody()


def test_each_kind_knows_what_it_is() -> None:
    assert [item.item_kind for item in (document(), conversation("a"), learning())] == list(ItemKind)
    assert [item.confidence_or_none for item in (document(), conversation("a"), learning())] == [None, None, 0.5]
