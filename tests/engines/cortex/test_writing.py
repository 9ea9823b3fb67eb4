from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from explorer.contract import (
    Conflict,
    Conversation,
    Document,
    DocumentBody,
    InvalidRequest,
    Learning,
    StoreItem,
    StoreOptions,
    StoreReceipt,
    TinyMemoryError,
    Unavailable,
    Wait,
)
from explorer.engines.config import EngineSettings, StaticCredential
from explorer.engines.cortex.direct import DirectWire
from explorer.engines.cortex.envelope import decode, lay_out, newer_id, rebuild
from explorer.engines.cortex.hosted import HostedWire
from explorer.engines.cortex.pacing import Timing
from explorer.engines.cortex.scopes import Scope
from explorer.engines.cortex.settings import CortexSettings
from explorer.engines.cortex.walking import Walk
from explorer.engines.cortex.wires import Wire
from explorer.engines.cortex.writing import Writing
from tests.conftest import Until
from tests.doubles.cortexdb import CortexDouble
from tests.engines.cortex.flows import put_at

QUICK = Timing(retry_s=0.001, poll_s=0.001, most_poll_s=0.01, pause_s=0.01, listed_s=5.0, ranked_s=5.0)
ACCEPTED = StoreOptions(wait=Wait.ACCEPTED)

both_wires = pytest.mark.parametrize("hosted", [False, True], ids=["direct", "hosted"])


class Store:
    """A store flow on the double."""

    def __init__(self, double: CortexDouble, *, hosted: bool, timing: Timing = QUICK, **settings: Any) -> None:
        self.double = double
        self.settings = CortexSettings.of(EngineSettings(endpoint=double.endpoint, **settings), hosted=hosted)
        kind = HostedWire if hosted else DirectWire
        self.wire: Wire = kind(self.settings, StaticCredential(double.token), timing)
        self.told: list[str] = []
        self.writing = Writing(Walk(self.wire, self.settings), self.settings, self._on_written)

    def _on_written(self, scope: Scope) -> None:
        self.told.append(scope.path)

    async def put(self, *items: StoreItem, options: StoreOptions | None = None) -> list[StoreReceipt]:
        return await self.writing.store_many(list(items), options or StoreOptions())

    def path(self, item: StoreItem) -> str:
        """Where the log keeps the item."""
        path = self.settings.layout.path(item.meta.namespace, item.item_kind)
        return self.double.rooted(path) if self.wire.hosted else path

    def texts(self, item: StoreItem) -> list[str]:
        return [held.text for held in self.double.held(self.path(item))]

    def back(self, item: StoreItem) -> StoreItem | None:
        """What the log holds where the item belongs, as one item."""
        found = [decode(held.text, held.labels) for held in self.double.held(self.path(item))]
        return rebuild([envelope for envelope in found if envelope is not None])


@asynccontextmanager
async def opened(
    *, hosted: bool, timing: Timing = QUICK, knobs: dict[str, Any] | None = None, **settings: Any
) -> AsyncIterator[Store]:
    async with CortexDouble(**(knobs or {})) as double:
        store = Store(double, hosted=hosted, timing=timing, **settings)
        try:
            yield store
        finally:
            await store.wire.aclose()


def fact(text: str, **meta: Any) -> Learning:
    return Learning.model_validate({"text": text, "kind": "fact", "confidence": 0.5, "meta": meta})


def talk(*texts: str, **meta: Any) -> Conversation:
    return Conversation.model_validate({"turns": [{"role": "user", "text": text} for text in texts], "meta": meta})


def book(**meta: Any) -> Document:
    """A document of three pieces."""
    text = "".join(f"# {at}\nwords {'x' * 150_000}\n" for at in range(3))
    return Document.model_validate({"title": "Book", "body": {"text": text}, "meta": meta})


def called(text: str = "it was called", call: str = "call-1") -> Learning:
    """An item that has two ids."""
    return fact(text, tool_call={"name": "save", "id": call})


# How often the server is asked


@both_wires
async def test_requests_for_one_learning(hosted: bool) -> None:
    async with opened(hosted=hosted) as store:
        (receipt,) = await store.put(fact("the tide turns"))
        assert receipt == StoreReceipt(id=fact("the tide turns").fingerprint(), replayed=False)
        assert [asked.route for asked in store.double.asked] == ["events", "experience", "events", "recall"]
        assert store.back(fact("the tide turns")) == fact("the tide turns")
        lookup, written, listed, ranked = store.double.asked
        label = written.body["context"]["labels"][0]
        assert lookup.params["labels"] == listed.params["labels"] == label
        assert written.params == ({} if hosted else {"wait": "indexed"})
        assert (lookup.params["limit"], listed.params["limit"], "cursor" in listed.params) == ("200", "200", False)
        assert ranked.body["query"] == "the tide turns"
        assert "budgets" not in ranked.body
        assert not store.double.unknown_params


@both_wires
async def test_requests_for_a_conversation(hosted: bool) -> None:
    async with opened(hosted=hosted) as store:
        item = talk("one", "two", "three")
        (receipt,) = await store.put(item)
        assert not receipt.replayed
        writes = {"experience": 3} if hosted else {"bulk": 1}
        assert store.double.counts() == {"events": 2, **writes, "recall": 1}
        assert store.texts(item) == ["one", "two", "three"]
        assert store.double.bodies("recall")[0]["query"] == "three"


@both_wires
async def test_requests_for_a_batch(hosted: bool) -> None:
    async with opened(hosted=hosted) as store:
        items: list[StoreItem] = [fact(f"fact {at}", namespace="team:a") for at in range(60)]
        items += [talk("hello there")]
        receipts = await store.put(*items)
        assert [receipt.id for receipt in receipts] == [item.fingerprint() for item in items]
        # Two lookups of 50 labels at most for the facts and one for the talk; then one look at each scope.
        assert store.double.counts() == {"events": 3 + 2, "experience": 61, "recall": 1}
        assert store.texts(items[0]) == [f"fact {at}" for at in range(60)]
        looked_up = [asked.params["labels"].split(",") for asked in store.double.asked[:3]]
        assert sorted(map(len, looked_up)) == [1, 10, 50]
        assert set(store.told) == {store.settings.layout.path(item.meta.namespace, item.item_kind) for item in items}


@both_wires
async def test_only_what_was_accepted_is_not_waited_for(hosted: bool) -> None:
    async with opened(hosted=hosted) as store:
        await store.put(talk("one turn"), options=ACCEPTED)
        assert store.double.counts() == ({"events": 1, "experience": 1} if hosted else {"experience": 1})
        assert all("wait" not in asked.params for asked in store.double.asked)
        store.double.forget_requests()
        (receipt,) = await store.put(talk("one turn"), options=ACCEPTED)
        assert receipt.replayed
        assert store.texts(talk("one turn")) == ["one turn"]
        for items in (
            [talk("a", "b")],
            [fact("x")],
            [talk("c"), talk("d")],
            [talk("e", tool_call={"name": "n", "id": "i"})],
        ):
            store.double.forget_requests()
            await store.put(*items, options=ACCEPTED)
            assert store.double.count("events") == 1
            assert store.double.count("recall") == 0


# What is held already


@both_wires
@pytest.mark.parametrize("item", [fact("a"), talk("b"), talk("b", "c"), book()], ids=["fact", "turn", "talk", "book"])
async def test_what_is_stored_again_is_a_replay(item: StoreItem, hosted: bool) -> None:
    async with opened(hosted=hosted) as store:
        first = await store.put(item)
        before = store.texts(item)
        store.double.log.expire_keys()
        store.double.forget_requests()
        store.told.clear()
        assert await store.put(item) == [StoreReceipt(id=first[0].id, replayed=True)]
        assert store.double.counts() == {"events": 1}
        assert store.texts(item) == before
        assert store.told == []


@both_wires
async def test_an_item_twice_in_a_batch(hosted: bool) -> None:
    async with opened(hosted=hosted) as store:
        receipts = await store.put(fact("a"), fact("b"), fact("a"), talk("a", "b"), talk("a", "b"))
        assert [receipt.replayed for receipt in receipts] == [False, False, True, False, True]
        assert receipts[0].id == receipts[2].id
        assert store.texts(fact("a")) == ["a", "b"]
        assert store.texts(talk("a")) == ["a", "b"]


@both_wires
@pytest.mark.parametrize("held", [[1], [1, 2]])
async def test_a_document_without_its_first_piece_is_completed(held: list[int], hosted: bool) -> None:
    async with opened(hosted=hosted) as store:
        item = book()
        put_at(store.double, store.path(item), item, item.fingerprint(), held)
        assert await store.put(item) == [StoreReceipt(id=item.fingerprint(), replayed=False)]
        assert len(store.texts(item)) == 3
        assert store.back(item) == item
        assert (await store.put(item))[0].replayed


@both_wires
async def test_a_document_that_another_program_cut_elsewhere_is_whole(hosted: bool) -> None:
    async with opened(hosted=hosted) as store:
        item = Document(body=DocumentBody(text="short enough for one event"))
        id = item.fingerprint()
        envelope = decode(*next((event.text, event.labels) for event in lay_out(item, id)))
        assert envelope is not None
        form = {**envelope.model_dump(mode="json"), "v": 2}
        for index, text in enumerate(("short enough ", "for one event")):
            piece = {**form, "text": text, "chunk": {"index": index, "count": 2}}
            store.double.put(store.path(item), json.dumps(piece), lay_out(item, id)[0].labels[:1])
        assert (await store.put(item))[0].replayed
        # And one that was stored whole where this program would cut it.
        cut = book()
        whole = {**form, "id": cut.fingerprint(), "text": cut.body.text}
        store.double.put(store.path(cut), json.dumps(whole), lay_out(cut, cut.fingerprint())[0].labels[:1])
        assert (await store.put(cut))[0].replayed


@both_wires
async def test_another_item_with_the_same_label_is_not_the_item(hosted: bool) -> None:
    async with opened(hosted=hosted) as store:
        item, other = fact("mine"), fact("other")
        (event,) = lay_out(other, other.fingerprint())
        (own,) = lay_out(item, item.fingerprint())
        store.double.put(store.path(item), event.text, [own.labels[0], *event.labels[1:]])
        store.double.put(store.path(item), "of another program", own.labels[:1])
        assert not (await store.put(item))[0].replayed
        assert store.texts(item)[-1] == "mine"


@both_wires
async def test_all_pages_of_a_lookup_are_read(hosted: bool) -> None:
    async with opened(hosted=hosted, knobs={"max_page": 6}) as store:
        item = talk(*(f"turn {at}" for at in range(10)))
        await store.put(item)
        store.double.log.expire_keys()
        store.double.forget_requests()
        assert (await store.put(item))[0].replayed
        assert store.double.counts() == {"events": 4}  # 20 copies, 6 at a time


# Two ids


@both_wires
async def test_a_new_item_is_stored_under_this_programs_id(hosted: bool) -> None:
    async with opened(hosted=hosted) as store:
        receipts = await store.put(called(call="1"), called(call="2"))
        assert [receipt.id for receipt in receipts] == [called(call="1").fingerprint(), called(call="2").fingerprint()]
        assert not any(receipt.replayed for receipt in receipts)
        assert all(receipt.replayed for receipt in await store.put(called(call="1"), called(call="2")))
        # An item without a call has the newer id of one with: stored before it, it stands for both.
        plain = called("other").model_copy(update={"meta": fact("x", tool_call={"name": "save"}).meta})
        assert plain.fingerprint() == newer_id(called("other"))
        together = await store.put(plain, called("other"))
        assert [receipt.replayed for receipt in together] == [False, True]
        assert [receipt.replayed for receipt in await store.put(plain, called("other"))] == [True, True]


# What fails


@both_wires
async def test_a_batch_that_failed_is_completed(hosted: bool) -> None:
    async with opened(hosted=hosted, knobs={"fail_nth_experience": 3}) as store:
        items = [fact(f"fact {at}") for at in range(5)]
        with pytest.raises(InvalidRequest):
            await store.put(*items)
        assert store.texts(items[0]) == ["fact 0", "fact 1"]
        assert store.told  # what is known of the scope is not all of it
        receipts = await store.put(*items)
        assert [receipt.replayed for receipt in receipts] == [True, True, False, False, False]
        assert store.texts(items[0]) == [f"fact {at}" for at in range(5)]
        assert all(receipt.replayed for receipt in await store.put(*items))


@both_wires
async def test_a_conversation_that_failed_part_way_is_completed(hosted: bool) -> None:
    async with opened(hosted=hosted, knobs={"fail_nth_experience": 3}) as store:
        item = talk("one", "two", "three", "four")
        with pytest.raises(InvalidRequest):
            await store.put(item)
        assert store.texts(item) == ["one", "two"]
        assert await store.put(item) == [StoreReceipt(id=item.fingerprint(), replayed=False)]
        assert store.back(item) == item


@both_wires
async def test_a_lost_last_event_is_written_again(hosted: bool) -> None:
    async with opened(hosted=hosted) as store:
        item = talk("one", "two")
        await store.put(item)
        store.double.lose_last(store.path(item))
        store.double.forget_requests()
        assert not (await store.put(item))[0].replayed
        assert store.double.count("experience") == 1
        assert store.back(item) == item


@both_wires
async def test_a_write_whose_answer_was_lost(hosted: bool) -> None:
    async with opened(hosted=hosted, knobs={"apply_then_fail": 1}) as store:
        item = fact("applied")
        if hosted:  # where the claim tells a second attempt from the first
            assert await store.put(item) == [StoreReceipt(id=item.fingerprint(), replayed=False)]
        else:
            with pytest.raises(Unavailable):
                await store.put(item)
            assert store.told
        assert (await store.put(item))[0].replayed
        assert store.texts(item) == ["applied"]


async def test_a_batch_whose_every_answer_is_lost_comes_further_each_time() -> None:
    async with opened(hosted=False, knobs={"apply_then_fail": 10**6}) as store:
        items = [fact("a"), talk("b", "c"), fact("d"), called()]
        for _ in items:
            with pytest.raises(Unavailable):
                await store.put(*items)
        assert all(receipt.replayed for receipt in await store.put(*items))
        assert store.texts(fact("a")) == ["a", "d", "it was called"]
        assert store.back(talk("b", "c")) == talk("b", "c")


async def test_the_hosted_wire_finds_what_it_wrote_where_each_answer_is_lost() -> None:
    async with opened(hosted=True, knobs={"apply_then_fail": 10**6, "listed_after": 1}) as store:
        items = [fact("a"), talk("b", "c"), fact("d"), called()]
        receipts = await store.put(*items)
        assert [receipt.id for receipt in receipts] == [item.fingerprint() for item in items]
        assert store.texts(fact("a")) == ["a", "d", "it was called"]
        assert all(receipt.replayed for receipt in await store.put(*items))


@both_wires
async def test_two_programs_that_store_the_same_at_once(hosted: bool) -> None:
    async with opened(hosted=hosted, knobs={"latency_ms": 5}) as store:
        other = Store(store.double, hosted=hosted)
        items = [fact("a"), talk("b", "c"), fact("d"), called()]
        ours, theirs = await asyncio.gather(store.put(*items), other.put(*items))
        await other.wire.aclose()
        assert [receipt.id for receipt in ours] == [receipt.id for receipt in theirs]
        assert store.texts(fact("a")) == ["a", "d", "it was called"]
        assert sorted(store.texts(talk("b"))) == ["b", "c"]


@both_wires
@pytest.mark.parametrize("seed", range(3))
async def test_a_batch_that_fails_again_and_again_is_stored_once(seed: int, hosted: bool) -> None:
    chance = random.Random(seed)
    async with opened(hosted=hosted) as store:
        makers = [fact, talk, called, lambda text: talk(*text.split(), "again", "and again")]
        items: list[StoreItem] = [chance.choice(makers)(f"words {at}") for at in range(12)]
        events = [event for item in items for event in lay_out(item, item.fingerprint())]
        failed = 0
        while True:
            done = sum(len(store.double.held(path)) for path in {store.path(item) for item in items})
            store.double.fail_nth_experience = done + failed + chance.randint(1, 5)
            try:
                await store.put(*items)
            except InvalidRequest:
                failed += 1
            else:
                break
        assert all(receipt.replayed for receipt in await store.put(*items))
        held = [held for path in {store.path(item) for item in items} for held in store.double.held(path)]
        assert sorted((each.text, tuple(each.labels)) for each in held) == sorted((e.text, e.labels) for e in events)
        assert failed > 1


async def test_the_same_words_twice_in_a_conversation_that_was_interrupted() -> None:
    async with opened(hosted=True, knobs={"apply_then_fail": 2}) as store:
        item = talk("yes", "yes", "yes")
        assert not (await store.put(item))[0].replayed
        assert store.back(item) == item


@both_wires
async def test_a_key_that_stands_for_another_body_is_a_conflict(hosted: bool) -> None:
    async with opened(hosted=hosted, knobs={"failures": {"experience": [(409, "IDEMPOTENCY_CONFLICT")]}}) as store:
        with pytest.raises(Conflict):
            await store.put(fact("x"))


@both_wires
async def test_events_that_the_server_knows_but_does_not_list_yet(hosted: bool) -> None:
    async with opened(hosted=hosted) as store:
        await store.put(fact("a"), talk("b", "c"))
        store.double.hide_listing = 2  # one of each lookup
        receipts = await store.put(fact("a"), talk("b", "c"))
        assert [receipt.replayed for receipt in receipts] == [True, True]
        assert store.texts(talk("b")) == ["b", "c"]


# Nothing is sent for what cannot be stored


@both_wires
@pytest.mark.parametrize(
    ("items", "words"),
    [
        ([], "between 1 and 100"),
        ([fact("x")] * 101, "between 1 and 100"),
        ([fact("good"), fact(" ")], "must not be empty"),
        ([fact("good"), Document(body=DocumentBody(uri="https://a.test"))], "unresolved uri"),
        ([fact("good"), talk("\n" * 400_000 + "x")], "at most 1 MiB"),
        ([fact("good", namespace="team:a/agent:b/user:c")], "repeats the scope root"),
        ([fact("good", namespace="team:old")], "repeats the scope root"),
    ],
    ids=["none", "too many", "blank", "uri", "too long", "root", "retired root"],
)
async def test_what_cannot_be_stored(items: list[StoreItem], words: str, hosted: bool) -> None:
    async with opened(hosted=hosted, scope_root="team:a/agent:b", retired_scope_root="team:old") as store:
        with pytest.raises(InvalidRequest, match=words):
            await store.put(*items)
        assert store.double.requests == []
        assert store.told == []


# The root


async def test_the_root_is_registered_before_the_first_write() -> None:
    async with opened(hosted=False, scope_root="org:42", scope_owner="user:42") as store:
        await store.put(fact("a"))
        await store.put(fact("b"))
        assert [asked.route for asked in store.double.asked[:3]] == ["register", "events", "experience"]
        assert store.double.count("register") == 1
        assert list(store.double.records) == ["org:42"]
        assert store.texts(fact("a")) == ["a", "b"]


async def test_a_root_that_cannot_be_registered_keeps_nothing_from_being_stored() -> None:
    knobs = {"registration_failure": (403, "FORBIDDEN")}
    async with opened(hosted=False, knobs=knobs, scope_root="org:42", scope_owner="user:42") as store:
        await store.put(fact("a"))
        await store.put(fact("b"))
        assert store.double.count("register") == 2


@pytest.mark.parametrize(
    ("hosted", "settings"),
    [(False, {"scope_root": "org:42"}), (True, {"scope_root": "org:42", "scope_owner": "user:42"}), (False, {})],
)
async def test_a_root_that_nobody_owns_is_not_registered(hosted: bool, settings: dict[str, Any]) -> None:
    async with opened(hosted=hosted, **settings) as store:
        await store.put(fact("a"))
        assert store.double.count("register") == 0


@pytest.mark.parametrize("settings", [{}, {"scope_root": "org:42"}, {"tenant_root": True}], ids=str)
@pytest.mark.parametrize("namespace", ["root", "source:gmail", "ws:main/service:job/source:rss"])
async def test_each_layout_of_the_hosted_wire_takes_what_is_written(settings: dict[str, Any], namespace: str) -> None:
    async with opened(hosted=True, **settings) as store:
        items: list[StoreItem] = [
            fact("a", namespace=namespace),
            talk("b", "c", namespace=namespace),
            Document.model_validate({"body": {"text": "d"}, "meta": {"namespace": namespace}}),
        ]
        await store.put(*items)
        assert [store.back(item) for item in items] == items
        assert all(receipt.replayed for receipt in await store.put(*items))


# Waiting


@both_wires
async def test_a_hidden_listing_is_asked_until_it_shows_the_event(hosted: bool) -> None:
    async with opened(hosted=hosted, knobs={"arm_after_write": (0, 3)}) as store:
        await store.put(fact("late"))
        assert store.double.counts() == {"events": 5, "experience": 1, "recall": 1}


@both_wires
async def test_each_scope_is_waited_for_and_the_last_is_ranked(hosted: bool) -> None:
    async with opened(hosted=hosted, knobs={"listed_after": 2, "ranked_after": 2}) as store:
        await store.put(fact("one"), talk("two"), fact("three"))
        asked = [(each.route, each.params.get("scope")) for each in store.double.asked]
        last_write = max(at for at, (route, _) in enumerate(asked) if route == "experience")
        # The learnings were written to last, so that theirs is the last wait.
        talks, facts = "app:tinymemory/app:conversations", "app:tinymemory/app:learnings"
        assert asked[last_write + 1 :] == [("events", talks)] * 3 + [("events", facts)] * 3 + [("recall", None)] * 3
        assert {body["query"] for body in store.double.bodies("recall")} == {"three"}


@both_wires
async def test_what_is_never_listed_is_an_error_that_says_so(hosted: bool) -> None:
    async with opened(hosted=hosted, timing=replace(QUICK, listed_s=0.1), knobs={"listed_after": 10**6}) as store:
        with pytest.raises(
            Unavailable, match=r"app:learnings` was not listed within 0.1 s: \d+ listings .* and 0 failed"
        ):
            await store.put(fact("lost"))
        assert len(store.told) == 2  # when it was written, and when the wait was over
        assert store.texts(fact("lost")) == ["lost"]
        assert store.double.count("recall") == 0


async def test_faults_are_ridden_out_by_the_hosted_wait(until: Until) -> None:
    async with opened(hosted=True, knobs={"arm_after_write": (7, 1)}) as store:
        await store.put(fact("limited"))
        assert store.double.count("events") >= 1 + 7 + 1 + 1
    faults = {"events": [(503, "UNAVAILABLE")] * 10_000}
    async with opened(hosted=True, timing=replace(QUICK, listed_s=0.2)) as store:
        await store.put(fact("before"))
        put = asyncio.create_task(store.put(fact("after")))
        await until(lambda: store.double.count("experience") == 2)
        store.double.failures = faults
        with pytest.raises(Unavailable, match=r"and [1-9]\d* failed, the last with: \[UPSTREAM_UNAVAILABLE\]"):
            await put


async def test_a_fault_ends_the_direct_wait() -> None:
    async with opened(hosted=False, knobs={"arm_after_write": (3, 0)}) as store:
        with pytest.raises(Unavailable, match="429"):
            await store.put(fact("limited"))
        assert (await store.put(fact("limited")))[0].replayed


@both_wires
async def test_what_is_never_ranked_is_stored_all_the_same(hosted: bool) -> None:
    async with opened(hosted=hosted, timing=replace(QUICK, ranked_s=0.05), knobs={"ranked_after": 10**6}) as store:
        await store.put(fact("unranked"))
        assert store.double.count("recall") > 1
    async with opened(hosted=hosted, knobs={"recall_down": True}) as store:
        await store.put(fact("unranked"))
        assert store.double.count("recall") == 3  # the attempts of one read


@both_wires
async def test_it_is_found_by_the_start_of_what_was_sent(hosted: bool) -> None:
    async with opened(hosted=hosted) as store:
        item = fact("many words " * 50, tags=[f"a long tag with number {at} in it" * 3 for at in range(200)])
        await store.put(item)
        (query,) = [body["query"] for body in store.double.bodies("recall")]
        assert query == store.texts(item)[0][:256]
        assert query.startswith('{"v":2,')


@both_wires
async def test_a_store_ends_when_the_memory_is_closed(hosted: bool, until: Until) -> None:
    async with opened(hosted=hosted, knobs={"listed_after": 10**6}) as store:
        put = asyncio.create_task(store.put(fact("x")))
        await until(lambda: store.double.count("events") > 2)
        await store.wire.aclose()
        with pytest.raises(TinyMemoryError):
            await asyncio.wait_for(put, 2)


@both_wires
async def test_attributes_of_events_reach_the_server(hosted: bool) -> None:
    async with opened(hosted=hosted) as store:
        item = Conversation.model_validate(
            {
                "turns": [
                    {"role": "user", "text": "a", "at": "2026-01-02T03:04:05Z"},
                    {"role": "tool", "text": "b"},
                ],
                "meta": {"observed_at": "2026-01-01T00:00:00.5Z", "thread_id": "+1 555 123 4567"},
            }
        )
        await store.put(item)
        first, second = store.double.held(store.path(item))
        assert (first.role, first.observed_at) == ("user", "2026-01-02T03:04:05+00:00")
        assert (second.role, second.observed_at) == ("tool", "2026-01-01T00:00:00.500+00:00")
        assert not any("555" in label for label in first.labels)
        bodies = store.double.bodies("experience") or store.double.bodies("bulk")[0]["items"]
        assert [body.get("directives") for body in bodies] == [None, {"extract": []}]
        assert all(len(body["idempotency_key"]) == 60 for body in bodies)
