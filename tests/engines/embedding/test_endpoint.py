"""An embeddings server: what it is sent, what its answers become, and where the key goes."""

from __future__ import annotations

import json
import logging
import socket
import threading
import traceback
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import numpy as np
import pytest

from explorer.contract import ConfigError, EngineFailure, TinyMemoryError, Unauthorized, Unavailable
from explorer.engines import DynamicCredential, StaticCredential, json_endpoint
from explorer.engines.embedding import endpoint as module
from explorer.engines.embedding.endpoint import EndpointEmbedder
from tests.engines.embedding.server import Reply, Request, Server, served, vector_of, vectors

KEY = "sk-live-0123456789"
MODEL = "small-embed"

Make = Callable[..., EndpointEmbedder]


@pytest.fixture
def server() -> Iterator[Server]:
    with served() as server:
        yield server


@pytest.fixture
def make(server: Server) -> Iterator[Make]:
    """Makes embedders over the server, and closes them."""
    made: list[EndpointEmbedder] = []

    def embedder(key: str | None = None, address: str | None = None) -> EndpointEmbedder:
        credential = None if key is None else StaticCredential(key)
        made.append(EndpointEmbedder(address or server.endpoint, MODEL, credential))
        return made[-1]

    yield embedder
    for embedder_ in made:
        embedder_.close()


def unit(text: str) -> Any:
    vector = np.array(vector_of(text))
    return vector / np.linalg.norm(vector)


def refused(embedder: EndpointEmbedder, *texts: str) -> TinyMemoryError:
    """What is raised; whatever it is, it shows no key."""
    with pytest.raises(TinyMemoryError) as caught:
        embedder.embed(texts or ["text"])
    assert KEY not in "".join(traceback.format_exception(caught.value))
    return caught.value


class Call:
    """An `embed` on a thread of its own."""

    def __init__(self, embedder: EndpointEmbedder, *texts: str) -> None:
        self.error: TinyMemoryError | None = None

        def embed() -> None:
            try:
                embedder.embed(texts)
            except TinyMemoryError as error:
                self.error = error

        self.thread = threading.Thread(target=embed)
        self.thread.start()

    def end(self) -> TinyMemoryError | None:
        self.thread.join(5)
        assert not self.thread.is_alive()
        return self.error


# What is sent, and what comes of it.


def test_request_is_openais(server: Server, make: Make) -> None:
    make(KEY).embed(["a text", "another"])
    (request,) = server.requests
    assert request.path == "/v1/embeddings"
    assert request.body == {"model": MODEL, "input": ["a text", "another"], "encoding_format": "float"}
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.headers["content-type"] == "application/json"


def test_rows_are_of_unit_length_in_the_order_of_the_texts(server: Server, make: Make) -> None:
    embedder = make()
    texts = ["a", "bb", "ccc ccc", "日本 😀"]
    rows = embedder.embed(texts)
    assert (rows.dtype, embedder.dims) == (np.float32, 3)
    np.testing.assert_allclose(rows, [unit(text) for text in texts], atol=1e-6)
    assert "authorization" not in server.requests[0].headers


def test_many_texts_go_in_batches(server: Server, make: Make) -> None:
    texts = ["x" * n for n in range(1, 131)]
    rows = make().embed(texts)
    assert [len(request.texts) for request in server.requests] == [64, 64, 2]
    np.testing.assert_allclose(rows, [unit(text) for text in texts], atol=1e-6)


def test_blank_texts_are_not_sent(server: Server, make: Make) -> None:
    rows = make().embed(["", "a", " \n", "bb", "\u3000"])
    assert server.requests[0].texts == ["a", "bb"]
    assert [bool(row.any()) for row in rows] == [False, True, False, True, False]


def test_size_is_asked_for_where_all_are_blank(server: Server, make: Make) -> None:
    embedder = make()
    assert embedder.dims == 0
    assert embedder.embed([]).shape == (0, 0)
    assert not server.requests
    assert embedder.embed(["", " "]).shape == (2, 3)
    assert embedder.embed([""]).shape == (1, 3)
    assert len(server.requests) == 1


def test_any_text_is_sent_as_text(server: Server, make: Make) -> None:
    make().embed(["\0", "a\ud800b", "😀", "words " * 1_000_000])
    nul, surrogate, emoji, long = server.requests[0].texts
    assert (nul, surrogate, emoji) == ("\0", "a?b", "😀")
    assert 7_000 < len(long) <= 8_000


@pytest.mark.parametrize("status", [400, 413, 422])
def test_what_is_too_long_is_sent_in_smaller_parts(server: Server, make: Make, status: int) -> None:
    def answer(request: Request) -> Reply:
        is_too_long = len(request.texts) > 2 or max(map(len, request.texts)) > 1_500
        return Reply(status, b'{"error":"too long"}') if is_too_long else vectors(request)

    server.answer = answer
    texts = ["a", "bb", "x" * 6_000, "ccc", "dddd"]
    rows = make().embed(texts)
    np.testing.assert_allclose(rows[[0, 1, 3, 4]], [unit(text) for text in ("a", "bb", "ccc", "dddd")], atol=1e-6)
    assert rows[2].any()
    assert len(server.requests) < 12


def test_zero_vector_stays_zero(server: Server, make: Make) -> None:
    server.answer = lambda _: Reply(body=b'{"data":[{"index":0,"embedding":[0,0.0]}]}')
    assert make().embed(["a"]).tolist() == [[0.0, 0.0]]


def test_answer_without_index_is_in_order(server: Server, make: Make) -> None:
    server.answer = lambda _: Reply(body=b'{"data":[{"embedding":[0,1]},{"embedding":[1,0]}]}')
    assert make().embed(["a", "b"]).tolist() == [[0.0, 1.0], [1.0, 0.0]]


def test_threads_share_one_embedder(server: Server, make: Make) -> None:
    embedder = make()
    calls = [Call(embedder, *(["text"] * 100)) for _ in range(4)]
    assert [call.end() for call in calls] == [None] * 4
    assert len(server.requests) == 8


# Its name.


def test_name_tells_models_and_places_apart_and_holds_no_key() -> None:
    def name(address: str, model: str = MODEL) -> str:
        embedder = EndpointEmbedder(address, model, StaticCredential(KEY))
        assert KEY not in f"{embedder!r} {embedder} {vars(embedder)}"
        assert embedder.name in repr(embedder)
        return embedder.name

    assert name(" https://API.Example.com/v1/ ") == f"endpoint api.example.com/v1 {MODEL}"
    assert name("http://localhost:11434/v1") == f"endpoint localhost:11434/v1 {MODEL}"
    names = {name("https://a.example/v1"), name("https://a.example/v2"), name("https://b.example/v1")}
    assert len(names | {name("https://a.example/v1", "other")}) == 4


# Waiting and closing.


def test_busy_server_is_asked_again(server: Server, make: Make) -> None:
    server.script = [Reply(429, headers={"Retry-After": "0"}), Reply(503, headers={"Retry-After": "0"})]
    assert make().embed(["a"]).any()
    assert len(server.requests) == 3


def test_pause_may_be_a_date(server: Server, make: Make) -> None:
    past = format_datetime(datetime.now(UTC) - timedelta(hours=1), usegmt=True)
    server.script = [Reply(429, headers={"Retry-After": past})]
    assert make().embed(["a"]).any()


def test_pause_is_one_second_where_none_is_asked_for() -> None:
    assert [json_endpoint._delay(value, 1) for value in ("", "soon", "nan", "-5", " 7 ")] == [1, 1, 1, 0, 7]
    assert json_endpoint._delay("", 2) == 2
    future = format_datetime(datetime.now(UTC) + timedelta(seconds=90), usegmt=True)
    assert 80 < json_endpoint._delay(future, 1) <= 90


def test_server_that_stays_busy_is_unavailable(server: Server, make: Make) -> None:
    server.answer = lambda _: Reply(503, b'{"error":{"message":"loading the model"}}', {"Retry-After": "0"})
    error = refused(make())
    assert isinstance(error, Unavailable)
    assert "cannot answer now (503: loading the model); try again later" in error.text
    assert len(server.requests) == 3


def test_long_pause_is_not_waited_for(server: Server, make: Make) -> None:
    server.answer = lambda _: Reply(429, headers={"Retry-After": "3600"})
    error = refused(make())
    assert isinstance(error, Unavailable)
    assert "is busy and asks to wait 3,600 s" in error.text
    assert len(server.requests) == 1


def test_closing_ends_a_pause(server: Server, make: Make) -> None:
    server.answer = lambda _: Reply(429, headers={"Retry-After": "19"})
    embedder = make()
    call = Call(embedder, "text")
    assert server.arrived.acquire(timeout=5)
    embedder.close()
    error = call.end()
    assert isinstance(error, Unavailable)
    assert "the memory was closed" in error.text


def test_closing_ends_requests_under_way(server: Server, make: Make) -> None:
    server.answer = server.silent
    embedder = make()
    calls = [Call(embedder, "text"), Call(embedder, "other text")]
    assert all(server.arrived.acquire(timeout=5) for _ in calls)
    embedder.close()
    for call in calls:
        error = call.end()
        assert isinstance(error, Unavailable)
        assert "the memory was closed" in error.text


def test_closed_embedder_asks_nothing(server: Server, make: Make) -> None:
    embedder = make()
    embedder.embed(["a"])
    embedder.close()
    embedder.close()
    assert isinstance(refused(embedder), Unavailable)
    assert len(server.requests) == 1


def test_silent_server_is_unavailable(server: Server, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_LIMITS", replace(module._LIMITS, silent_s=0.1))
    server.answer = server.silent
    assert "did not answer within" in refused(make()).text


def test_endless_answer_is_cut_off(server: Server, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_LIMITS", replace(module._LIMITS, answer_bytes=1_000))
    server.answer = lambda _: Reply(body=b" " * 100_000)
    assert "an answer without end" in refused(make()).text


def test_slow_answer_is_cut_off(server: Server, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_LIMITS", replace(module._LIMITS, answer_s=-1.0))
    assert "did not finish its answer" in refused(make()).text


def test_server_that_is_not_there_is_unavailable(make: Make) -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    error = refused(make(KEY, f"http://127.0.0.1:{port}/v1"))
    assert isinstance(error, Unavailable)
    assert f"127.0.0.1:{port}/v1 cannot be reached" in error.text


def test_connection_that_breaks_is_unavailable(make: Make) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def hang_up() -> None:
            connection, _ = listener.accept()
            connection.recv(1)
            connection.close()

        thread = threading.Thread(target=hang_up)
        thread.start()
        error = refused(make(KEY, f"http://127.0.0.1:{listener.getsockname()[1]}"))
        thread.join()
    assert isinstance(error, Unavailable)
    assert "the connection to" in error.text


# Answers that are not vectors.


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("", "is not JSON"),
        ("<html><body>Welcome</body></html>", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ("[]", "holds no list of vectors"),
        ('{"data":{}}', "holds no list of vectors"),
        ('{"data":[1,2]}', "holds no list of vectors"),
        ('{"data":[]}', "holds 0 vectors for 2 texts"),
        ('{"data":[{"embedding":[1]},{"embedding":[1]},{"embedding":[1]}]}', "holds 3 vectors for 2 texts"),
        ('{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}', "which vector is of which text"),
        ('{"data":[{"index":"0","embedding":[1]},{"index":1,"embedding":[1]}]}', "which vector is of which text"),
        ('{"data":[{"index":true,"embedding":[1]},{"index":0,"embedding":[1]}]}', "which vector is of which text"),
        ('{"data":[{"embedding":[1]},{"embedding":[1,2]}]}', "of different sizes"),
        ('{"data":[{"embedding":[]},{"embedding":[]}]}', "what is no vector"),
        ('{"data":[{"embedding":"AACAPw=="},{"embedding":"AACAPw=="}]}', "what is no vector"),
        ('{"data":[{},{}]}', "what is no vector"),
        ('{"data":[{"embedding":["a"]},{"embedding":["b"]}]}', "something else than numbers"),
        ('{"data":[{"embedding":[[1]]},{"embedding":[[2]]}]}', "something else than finite numbers"),
        ('{"data":[{"embedding":[NaN]},{"embedding":[1]}]}', "something else than finite numbers"),
        ('{"data":[{"embedding":[null]},{"embedding":[1]}]}', "something else than finite numbers"),
        ('{"data":[{"embedding":[1e39]},{"embedding":[1]}]}', "something else than finite numbers"),
        (f'{{"data":[{{"embedding":[{"9" * 400}]}},{{"embedding":[1]}}]}}', "something else than numbers"),
    ],
)
def test_strange_answer_is_a_sentence(server: Server, make: Make, body: str, says: str) -> None:
    server.answer = lambda _: Reply(body=body.encode())
    error = refused(make(KEY), "a", "b")
    assert isinstance(error, EngineFailure)
    assert says in error.text
    assert "check that it is the address of an OpenAI-compatible API" in error.text


def test_vectors_of_another_size_are_refused(server: Server, make: Make) -> None:
    embedder = make()
    embedder.embed(["a"])
    server.answer = lambda _: Reply(body=b'{"data":[{"embedding":[1,2]}]}')
    error = refused(embedder)
    assert isinstance(error, EngineFailure)
    assert "vectors of 2 numbers after vectors of 3" in error.text
    assert embedder.dims == 3


@pytest.mark.parametrize(
    ("status", "kind", "says"),
    [
        (401, Unauthorized, "refused the key; check the key"),
        (403, Unauthorized, "refused the key; check the key"),
        (404, ConfigError, "(404: no such model); check embedding_endpoint"),
        (405, ConfigError, "(405: no such model); check embedding_endpoint"),
        (418, EngineFailure, "refused the request (418: no such model); check embedding_model"),
        (400, EngineFailure, "refused the request (400: no such model); check embedding_model"),
        (500, Unavailable, "cannot answer now (500: no such model)"),
        (408, Unavailable, "cannot answer now (408: no such model)"),
    ],
)
def test_refusal_is_a_sentence(server: Server, make: Make, status: int, kind: type, says: str) -> None:
    server.answer = lambda _: Reply(status, b'{"error":{"message":"no such\\nmodel","type":"x"}}')
    error = refused(make(KEY))
    assert type(error) is kind
    assert says in error.text


def test_server_may_ask_for_a_key(server: Server, make: Make) -> None:
    server.answer = lambda _: Reply(401)
    assert "asks for a key; give it when you connect" in refused(make()).text


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"error": "plain"}, "418: plain)"),
        ({"detail": "plain"}, "418: plain)"),
        ({"message": "x" * 5_000}, f"418: {'x' * 200})"),
        ({"error": {"message": f"the key {KEY} is old"}}, "418: the key (key) is old)"),
        ({"error": {"message": "x" * 190 + KEY}}, f"418: {'x' * 190}(key))"),
        ({"error": [KEY]}, "(418)"),
        (KEY.join("<>"), "418: <(key)>)"),
    ],
)
def test_words_of_the_server_are_short_and_without_the_key(server: Server, make: Make, body: Any, says: str) -> None:
    server.answer = lambda _: Reply(418, json.dumps(body).encode())
    assert says in refused(make(KEY)).text


# Where the key goes.


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_redirect_is_not_followed(server: Server, make: Make, status: int) -> None:
    with served() as other:
        server.answer = lambda _: Reply(status, headers={"Location": f"{other.endpoint}/embeddings"})
        error = refused(make(KEY))
        assert not other.requests
    assert isinstance(error, ConfigError)
    assert "has moved, which is not followed; set its new address" in error.text


def test_key_does_not_go_through_a_proxy_to_this_computer(
    server: Server, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    with served() as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.address)
        assert make(KEY).embed(["a"]).any()
        assert not proxy.requests
    assert len(server.requests) == 1


def test_proxy_that_cannot_be_used_is_a_sentence(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", f"ftp://me:{KEY}@proxy.example")
    error = refused(make(KEY, "https://a.invalid/v1"))
    assert isinstance(error, ConfigError)
    assert "check HTTPS_PROXY" in error.text


def test_key_is_not_logged(server: Server, make: Make, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    make(KEY).embed(["a"])
    server.answer = lambda _: Reply(401)
    refused(make(KEY))
    assert caplog.text
    assert KEY not in caplog.text


@pytest.mark.parametrize("key", [f"{KEY} 1", f"{KEY}\n1", f"{KEY}é", f"{KEY}\0"])
def test_key_that_no_header_holds_is_refused(server: Server, make: Make, key: str) -> None:
    error = refused(make(key))
    assert isinstance(error, Unauthorized)
    assert "holds characters that no key has" in error.text
    assert not server.requests


def test_blank_key_is_none(server: Server, make: Make) -> None:
    make(" ").embed(["a"])
    assert "authorization" not in server.requests[0].headers


def test_changing_key_is_asked_for_before_every_attempt(server: Server) -> None:
    class Session:
        keys: list[Any] = ["k1", "k2", RuntimeError(KEY)]  # noqa: RUF012

        async def bearer(self) -> str:
            key = self.keys.pop(0)
            if isinstance(key, Exception):
                raise key
            return str(key)

    server.script = [Reply(429, headers={"Retry-After": "0"})]
    embedder = EndpointEmbedder(server.endpoint, MODEL, DynamicCredential(Session()))
    embedder.embed(["a"])
    assert [request.headers["authorization"] for request in server.requests] == ["Bearer k1", "Bearer k2"]
    assert isinstance(refused(embedder), Unauthorized)
    embedder.close()


@pytest.mark.parametrize("address", ["http://a.example/v1", "http://192.168.0.2:11434", "http://localhost.example"])
def test_key_is_never_sent_unencrypted_to_another_computer(address: str) -> None:
    with pytest.raises(ConfigError, match="would get its key unencrypted; use an https://") as caught:
        EndpointEmbedder(address, MODEL, StaticCredential(KEY))
    assert KEY not in str(caught.value)
    assert EndpointEmbedder(address, MODEL).dims == 0


@pytest.mark.parametrize(
    "address",
    [f"https://me:{KEY}@a.example/v1", f"https://a.example/v1?key={KEY}", KEY, "ftp://a.example", "http://", ""],
)
def test_bad_address_is_refused_unquoted(address: str) -> None:
    with pytest.raises(ConfigError, match="the embedding endpoint must be") as caught:
        EndpointEmbedder(address, MODEL)
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("model", ["", " \t"])
def test_model_is_needed(model: str) -> None:
    with pytest.raises(ConfigError, match="has no model; set embedding_model"):
        EndpointEmbedder("https://a.example/v1", model)
