"""`tinymemory ask`: an answer with its sources, and who is asked."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from explorer.asking import WriterSettings, WriterStore
from explorer.contract import Document, DocumentBody, MemoryMeta, Namespace, SourceKind, SourceRef, Timestamp, dump_item
from explorer.engines import ConnectionStore, EngineSettings, SavedConnection
from tests.asking.chat import said

from .made import Ran

Run = Callable[..., Ran]

KILN = "The kiln fires at 1,240 degrees."
QUESTION = "At how many degrees does the kiln fire?"
ITEM = Document(
    body=DocumentBody(text=f"{KILN}\nLunch is at noon."),
    meta=MemoryMeta(
        namespace=Namespace.parse("team:acme"),
        workspace="w",
        source=SourceRef(kind=SourceKind.FILE, id="kiln\x1b.md"),
        observed_at=Timestamp.parse("2024-05-04T12:00:00Z"),
    ),
)
OTHERS = [Document(body=DocumentBody(text=text)) for text in ("Swans came back.", "Trains run hourly.")]


@pytest.fixture
def kiln_db(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "kiln.jsonl"
    file.write_text("".join(dump_item(item) + "\n" for item in (ITEM, *OTHERS)))
    path = tmp_path / "kiln.db"
    assert run("import", file, "--db", path).status == 0
    monkeypatch.setenv("TINYMEMORY_DB", str(path))
    return path


@pytest.fixture
def chat() -> Iterator[tuple[str, list[str]]]:
    """A chat endpoint, and what it was sent."""
    sent: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            sent.append(self.rfile.read(int(self.headers["content-length"])).decode())
            reply = said("It fires at 1,240 degrees [1]. It is made of gold.").body
            self.send_response(200)
            self.send_header("Content-Length", str(len(reply)))
            self.end_headers()
            self.wfile.write(reply)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        thread = threading.Thread(target=http.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{http.server_address[1]}/v1", sent
        finally:
            http.shutdown()
            thread.join()


def test_answer_with_its_source(run: Run, kiln_db: Path) -> None:
    source = f"[1] {ITEM.fingerprint()} · team:acme · file kiln␛.md · 2024-05-04"
    assert run("ask", QUESTION) == Ran(0, f"“{KILN}” (4 May 2024) [1]\n\n{source}\n    “{KILN}”\n", "")


def test_json_is_one_object(run: Run, kiln_db: Path) -> None:
    ran = run("ask", "--json", QUESTION)
    assert ran.status == 0
    value = json.loads(ran.out)
    assert value["sentences"] == [{"text": f"“{KILN}” (4 May 2024)", "cites": [1], "support": 1.0, "mark": None}]
    (cited,) = value["citations"]
    assert (cited["id"], cited["snippet"], cited["place"]) == (
        ITEM.fingerprint(),
        KILN,
        {"start": 0, "stop": len(KILN)},
    )
    assert (value["says_nothing"], value["by"], value["model"], value["writer_error"]) == (
        False,
        "engine",
        "sqlite",
        None,
    )


def test_nothing_stored_is_the_status_1(run: Run, kiln_db: Path) -> None:
    nothing = "Nothing stored answers this question.\n"
    assert run("ask", "zebras?") == Ran(1, nothing, "")
    assert json.loads(run("ask", "--json", "zebras?").out)["says_nothing"]
    near = run("ask", "Which compiler of the seven ferries to Rhodes runs on Mondays?")
    assert (near.status, near.out) == (1, nothing)
    assert "came near; --json names" in near.err
    ran = run("ask", QUESTION, "--workspace", "other")
    assert (ran.status, ran.out) == (1, "Nothing stored answers this question.\n")
    assert run("ask", QUESTION, "--node", "team:acme", "--limit", "1").status == 0


def test_what_the_engine_says_of_its_answer_is_told(run: Run, kiln_db: Path) -> None:
    settings = EngineSettings(path=str(kiln_db), embedding_endpoint="http://127.0.0.1:9/v1", embedding_model="m")
    ConnectionStore().add(SavedConnection(name="far", engine="sqlite", settings=settings))
    ran = run("ask", "--connection", "far", QUESTION)
    assert ran.status == 0
    assert ran.out.startswith(f"“{KILN}”")
    assert ran.err.startswith("Searched by words alone: ")
    told = run("ask", "--connection", "far", "--json", QUESTION)
    assert json.loads(told.out)["note"].startswith("Searched by words alone: ")
    assert told.err == ""


def test_wrong_usage(run: Run, kiln_db: Path) -> None:
    assert run("ask").status == 2
    assert run("ask", " ").status == 2
    assert run("ask", QUESTION, "--limit", "0").status == 2


def test_endpoint_is_asked_only_with_the_flag(run: Run, kiln_db: Path, chat: tuple[str, list[str]]) -> None:
    address, sent = chat
    ran = run("ask", "--write", QUESTION)
    assert (ran.status, ran.out) == (1, "")
    assert "no endpoint writes answers" in ran.err
    WriterStore().save(WriterSettings(is_on=True, endpoint=address, model="m"))
    assert run("ask", QUESTION).status == 0
    assert sent == []
    ran = run("ask", "--write", QUESTION)
    assert ran.status == 0
    assert ran.out.startswith("It fires at 1,240 degrees. [1] It is made of gold. (! no citation)\n\n[1] ")
    assert len(sent) == 1
    assert "Lunch" not in sent[0]


def test_answer_stands_where_the_endpoint_fails(run: Run, kiln_db: Path) -> None:
    WriterStore().save(WriterSettings(is_on=True, endpoint="http://127.0.0.1:9/v1", model="m"))
    ran = run("ask", "--write", QUESTION)
    assert ran.status == 0
    assert ran.out.startswith(f"“{KILN}”")
    assert "cannot be reached" in ran.err
    assert "This is the engine's own answer." in ran.err
