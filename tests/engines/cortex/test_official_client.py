"""CortexDB's own SDK and CLI beside the engine in one memory: each sees what the other wrote, none loses its own."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any, TypeVar

import pytest
from cortexdb import Cortex

from explorer.contract import (
    Conversation,
    ForgetTarget,
    GetRequest,
    ItemKind,
    ListRequest,
    MemoryEngine,
    MemoryMeta,
    MetaFilter,
    Namespace,
    Reach,
    Role,
    Turn,
)
from explorer.engines import EngineSettings, StaticCredential, build_engine
from explorer.engines.cortex.labels import id_label
from tests.doubles.cortexdb import CortexDouble
from tests.fakes import learning

ACTOR = "user:local"
NODE = "team:acme"
LEARNINGS = f"app:tinymemory/{NODE}/app:learnings"
CONVERSATIONS = f"app:tinymemory/{NODE}/app:conversations"

T = TypeVar("T")


class Clients:
    """The SDK in a thread and the CLI in a process, both as the same user of the double."""

    def __init__(self, double: CortexDouble, folder: Path) -> None:
        self._double = double
        self._folder = folder

    async def sdk(self, ask: Callable[[Cortex], T]) -> T:
        def run() -> T:
            with Cortex(self._double.endpoint, actor=ACTOR, bearer=self._double.token) as client:
                return ask(client)

        return await asyncio.to_thread(run)

    async def cli(self, *args: str) -> Any:
        """The JSON that a command prints."""
        env = {name: value for name, value in os.environ.items() if not name.startswith("CORTEXDB_")}
        env |= {
            "CORTEXDB_HOME": str(self._folder),
            "CORTEXDB_ENDPOINT": self._double.endpoint,
            "CORTEXDB_API_KEY": self._double.token,
            "CORTEXDB_ACTOR": ACTOR,
        }
        command = [sys.executable, "-m", "cortexdb_cli.main", *args]
        done = await asyncio.to_thread(
            subprocess.run, command, env=env, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8"
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    async def listed(self, scope: str) -> dict[str, dict[str, Any]]:
        """Every event of a scope by its id, as the SDK pages through it."""

        def walk(client: Cortex) -> dict[str, dict[str, Any]]:
            events: dict[str, dict[str, Any]] = {}
            cursor = None
            while True:
                page = client.events(scope, limit=3, cursor=cursor)
                events |= {event["id"]: event for event in page["items"]}
                if not page["has_more"]:
                    return events
                cursor = page["next_cursor"]

        return await self.sdk(walk)


@pytest.fixture
def proxies_off(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)


def opened(double: CortexDouble) -> MemoryEngine:
    return build_engine("cortexdb", EngineSettings(endpoint=double.endpoint), StaticCredential(double.token))


def texts(events: dict[str, dict[str, Any]]) -> list[str]:
    return sorted(event["content"].get("text", "") for event in events.values())


def foreign(engine: MemoryEngine) -> str:
    (value,) = (detail.value for detail in engine.details() if detail.name == "Events of other programs")
    return value


@pytest.mark.limit_s(30)  # the CLI is a process of its own each time
@pytest.mark.usefixtures("proxies_off")
async def test_the_official_sdk_and_cli_share_a_memory_with_the_engine(tmp_path: Path) -> None:
    ours = learning("the harbour light is green", at=NODE)
    talk = Conversation(
        turns=[
            Turn(role=Role.USER, text="where does the ferry land?"),
            Turn(role=Role.ASSISTANT, text="at the northern quay"),
            Turn(role=Role.USER, text="thank you"),
        ],
        meta=MemoryMeta(namespace=Namespace.parse(NODE)),
    )
    everything = ListRequest(filter=MetaFilter(), limit=50)
    async with CortexDouble(whoami=ACTOR) as double, aclosing(opened(double)) as engine:
        clients = Clients(double, tmp_path / "cortexdb")

        # What the SDK and the CLI write into the engine's scopes: plain words, what is no text, and an event that
        # bears the very label by which the engine looks for its learning.
        await clients.sdk(
            lambda client: client.experience(LEARNINGS, text="the SDK saw a harbour seal", wait="indexed")
        )
        await clients.sdk(lambda client: client.experience(LEARNINGS, json_data={"seals": 3}))
        await clients.sdk(
            lambda client: client.experience_bulk(
                CONVERSATIONS, [{"text": "is the kiosk open?"}, {"text": "until six", "role": "assistant"}]
            )
        )
        labelled = await clients.sdk(
            lambda client: client.experience(LEARNINGS, text="a guest", labels=[id_label(ours.fingerprint())])
        )
        remembered = await clients.cli("remember", "the CLI saw a harbour crane", "--scope", LEARNINGS)
        theirs = await clients.listed(LEARNINGS) | await clients.listed(CONVERSATIONS)
        assert len(theirs) == 6
        assert {labelled["event_id"], remembered["event_id"]} <= theirs.keys()

        # The engine reads past them, and says how many there are.
        assert (await engine.list(everything)).items == []
        assert foreign(engine) == "6"
        stored = await engine.store_many([ours, talk])
        assert [receipt.replayed for receipt in stored] == [False, False]
        page = await engine.list(everything)
        assert {hit.id for hit in page.items} == {ours.fingerprint(), talk.fingerprint()}
        assert foreign(engine) == "6"

        # The SDK lists and recalls what the engine wrote.
        both = await clients.listed(LEARNINGS) | await clients.listed(CONVERSATIONS)
        written = {id: event for id, event in both.items() if id not in theirs}
        assert texts(written) == sorted([ours.text, *(turn.text for turn in talk.turns)])
        assert all(f"kind:{kind}" in event["context"]["labels"] for kind, event in kinds_of(written))
        found = await clients.sdk(lambda client: client.events(LEARNINGS, labels=[id_label(ours.fingerprint())]))
        assert {event["id"] for event in found["items"]} == {labelled["event_id"], event_of(written, ours.text)}
        pack = await clients.sdk(
            lambda client: client.recall(LEARNINGS, query="harbour light", view="granular", include=["events"])
        )
        assert pack["layers"]["events"][0]["content"]["text"] == ours.text

        # So does the CLI.
        scopes = await clients.cli("scopes", "list", "--prefix", "app:tinymemory")
        assert [scope["path"] for scope in scopes["items"]] == [CONVERSATIONS, LEARNINGS]
        ferry = await clients.cli("search", "where does the ferry land", "--scope", CONVERSATIONS)
        assert ferry["layers"]["events"][0]["content"]["text"] == "where does the ferry land?"
        light = await clients.cli("episodes", "get", event_of(written, ours.text))
        assert light["content"]["text"] == ours.text
        recalled = await clients.cli(
            "recall", "harbour", "--scope", LEARNINGS, "--include", "events",
            "--filter", f"labels={id_label(ours.fingerprint())}",
        )  # fmt: skip
        assert ours.text in {event["content"]["text"] for event in recalled["layers"]["events"]}

        # What the SDK takes out of a conversation, storing it again puts back, and nothing twice.
        answer = event_of(written, "at the northern quay")
        await clients.sdk(lambda client: client.forget(CONVERSATIONS, memory_ids=[answer], cascade="redact_events"))
        assert answer not in await clients.listed(CONVERSATIONS)
        assert not (await engine.store(talk)).replayed
        completed = await clients.listed(CONVERSATIONS)
        assert texts(completed) == texts({id: event for id, event in both.items() if event["scope"] == CONVERSATIONS})
        (hit,) = await engine.get(GetRequest(ids=[talk.fingerprint()]))
        assert hit.text == talk.render_text()

        # What the engine forgets is its own, by filter and by id.
        by_filter = MetaFilter(reach=Reach.subtree(Namespace.parse(NODE)), kinds=[ItemKind.LEARNING])
        assert (await engine.forget(ForgetTarget(filter=by_filter))).forgotten == 1
        assert (await engine.forget(ForgetTarget(ids=[talk.fingerprint(), ours.fingerprint()]))).forgotten == 1
        assert await clients.listed(LEARNINGS) | await clients.listed(CONVERSATIONS) == theirs
        assert not (await engine.store(ours)).replayed
        assert (await engine.forget(ForgetTarget(ids=[ours.fingerprint()]))).forgotten == 1
        assert await clients.listed(LEARNINGS) | await clients.listed(CONVERSATIONS) == theirs
        assert (await engine.list(everything)).items == []
        assert foreign(engine) == "6"


def event_of(events: dict[str, dict[str, Any]], text: str) -> str:
    (id,) = (id for id, event in events.items() if event["content"]["text"] == text)
    return id


def kinds_of(events: dict[str, dict[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    return [("learning" if event["scope"] == LEARNINGS else "conversation", event) for event in events.values()]
