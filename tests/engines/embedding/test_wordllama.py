"""The model on this computer: its vectors, any text, and what it does not do (download, load early, take over)."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from explorer.contract import EngineFailure
from explorer.engines.embedding import default_embedder, wordllama
from explorer.engines.embedding.rows import excerpt, unit_rows
from explorer.engines.embedding.wordllama import WordLlama

ROOT = Path(__file__).parents[3]
FILES = ("weights/l2_supercat_256.safetensors", "tokenizers/l2_supercat_tokenizer_config.json")

TEXTS = [
    "the cat sat on the mat",
    "  two  spaces,\ttabs\r\nand\n\n\nlines   ",
    "snake_case camelCase HTTPServer2 v1.2.3 a@b.example https://example.com/x?y=1#z",
    "Ein Fluß in Österreich, una señora, naïve café, Ελληνικά, Русский, עברית, العربية",
    "日本語の文章です。中文也在这里。한국어도 있습니다.",
    "😀😀 👩‍👩‍👧‍👦 🇩🇪 e\u0301 x² (x²).",
    "<s>not a start</s> <unk> [PAD] <0x41>",
    "\0\x01\x7f\ufeff\u200b\u2028",
    "def f(x):\n    return {'a': [1, 2, x]}\n" * 40,
    "word",
]

PACKAGE = """
import json, sys
from pathlib import Path
import numpy as np
from wordllama import WordLlama
folder = Path(sys.modules["wordllama"].__file__).parent
model = WordLlama.load(cache_dir=folder, disable_download=True)
np.save(sys.argv[1], model.embed(json.loads(Path(sys.argv[2]).read_text("utf-8")), norm=True))
"""

OFFLINE = """
import os, socket, sys
tried = []
sys.addaudithook(lambda event, args: tried.append(event) if event in ("socket.connect", "socket.getaddrinfo") else None)
from explorer.engines.embedding import default_embedder
print(default_embedder().embed(["a text"]).shape, tried)
"""

LAZY = """
import sys
from explorer.engines.embedding import default_embedder
embedder = default_embedder()
heavy = {"wordllama", "tokenizers", "safetensors", "httpx", "requests", "huggingface_hub"}
print(embedder.name, embedder.dims, sorted(heavy & set(sys.modules)))
embedder.embed(["a text"])
print(sorted(heavy & set(sys.modules)))
"""

FORKED = """
import os
import numpy
from explorer.engines.embedding import default_embedder
threads = len(os.listdir("/proc/self/task"))
embedder = default_embedder()
embedder.embed(["one", "two", "three"] * 100)
print(len(os.listdir("/proc/self/task")) - threads, flush=True)
child = os.fork()
if not child:
    print(embedder.embed(["four"]).shape, flush=True)
    os._exit(0)
os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def package() -> Path:
    spec = find_spec("wordllama")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


def run(code: str, *args: str, **env: str) -> tuple[str, str]:
    """Output and errors of a new interpreter, in which nothing is loaded yet."""
    whole = {name: value for name, value in os.environ.items() if name != "TOKENIZERS_PARALLELISM"} | env
    command = [sys.executable, "-c", code, *args]
    done = subprocess.run(command, cwd=ROOT, env=whole, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip(), done.stderr


@pytest.fixture(scope="module")
def model() -> WordLlama:
    embedder = default_embedder()
    assert isinstance(embedder, WordLlama)
    return embedder


# Its vectors.


def test_vectors_are_those_of_the_package(model: WordLlama, tmp_path: Path) -> None:
    (tmp_path / "texts.json").write_text(json.dumps(TEXTS), "utf-8")
    run(PACKAGE, str(tmp_path / "rows.npy"), str(tmp_path / "texts.json"))
    wanted = np.load(tmp_path / "rows.npy")
    rows = model.embed(TEXTS)
    assert (rows.dtype, rows.shape) == (np.float32, (len(TEXTS), model.dims))
    np.testing.assert_allclose(rows, wanted, atol=2e-6)


def test_near_in_meaning_is_near(model: WordLlama) -> None:
    rows = model.embed(["my car needs a new tyre", "the wheel of the vehicle is flat", "she sings in a choir"])
    assert rows[0] @ rows[1] > rows[0] @ rows[2] + 0.1


def test_a_text_has_the_same_vector_in_any_company(model: WordLlama) -> None:
    alone = np.concatenate([model.embed([text]) for text in TEXTS])
    assert np.array_equal(model.embed(TEXTS), alone)


@pytest.mark.parametrize("text", ["", " ", "\n\t \u3000\u2028", " " * 200_000])
def test_blank_text_is_all_zero(model: WordLlama, text: str) -> None:
    rows = model.embed([text, "not blank"])
    assert not rows[0].any()
    assert np.linalg.norm(rows[1]) == pytest.approx(1, abs=1e-6)


def test_no_texts_are_no_rows(model: WordLlama) -> None:
    assert model.embed([]).shape == (0, 256)


@pytest.mark.parametrize(
    "text",
    [
        "\0",
        "\ud800",
        "a\udfff\ud800b",
        "😀🚀",
        "<s>",
        "\u200b",
        "x" * 100_000,
        "words and more words " * 400_000,
        "😀" * 2_000_000,
        " " * 8_000_000 + "end",
    ],
    ids=["NUL", "surrogate", "surrogates", "emoji", "token", "zero width", "no spaces", "8 MB", "8 MB emoji", "spaces"],
)
def test_any_text_has_a_vector(model: WordLlama, text: str) -> None:
    assert np.linalg.norm(model.embed([text])[0]) == pytest.approx(1, abs=1e-6)


def test_all_of_a_long_text_counts(model: WordLlama) -> None:
    river, tax = "the river flows to the sea. " * 20_000, "income tax law and its forms. " * 20_000
    rows = model.embed([river + tax, tax + river, river, tax])
    assert min(rows[0] @ rows[2], rows[0] @ rows[3]) > max(0.6, rows[2] @ rows[3] + 0.1)
    assert rows[0] @ rows[1] > 0.99


def test_a_long_text_is_its_excerpt(model: WordLlama) -> None:
    text = "".join(f"{n} bottles of {n % 97} kinds; " for n in range(20_000))
    rows = model.embed([text, excerpt(text, wordllama._MAX_BYTES)])
    assert np.array_equal(rows[0], rows[1])


# Parts of long texts, and rows.


def test_short_text_is_its_own_excerpt() -> None:
    assert excerpt("é" * 1_000, 2_000) == "é" * 1_000
    assert excerpt("a\ud800", 2_000) == "a?"


@pytest.mark.parametrize("most", [500, 2_000, 8_000, 64_000])
@pytest.mark.parametrize("letter", ["a", "é", "日", "😀"])
def test_excerpt_is_small_whole_characters_from_start_to_end(letter: str, most: int) -> None:
    text = f"START{letter * 100_000}END"
    part = excerpt(text, most)
    assert most * 0.9 < len(part.encode()) <= most
    assert set(part) <= set(text) | {" "}
    assert part.startswith("START")
    assert part.endswith("END") == (most >= 4_000)  # a single part is the first


def test_unit_rows_keep_zero_and_direction() -> None:
    rows = unit_rows(np.array([[3, 4], [0, 0], [1e-30, 0], [3e38, 3e38]], np.float32))
    np.testing.assert_allclose(rows, [[0.6, 0.8], [0, 0], [1, 0], [0.5**0.5, 0.5**0.5]], rtol=1e-6)
    assert rows.dtype == np.float32


# What is loaded, and when.


def test_it_never_asks_the_network(tmp_path: Path) -> None:
    home = tmp_path / "empty"
    home.mkdir()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        proxy = f"http://127.0.0.1:{listener.getsockname()[1]}"
        names = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"]
        env = dict.fromkeys(names, proxy) | {"HOME": str(home), "HF_HOME": str(home), "NO_PROXY": ""}
        out, _ = run(OFFLINE, **env)
        listener.setblocking(False)
        with pytest.raises(BlockingIOError):
            listener.accept()
    assert out == "(1, 256) []"
    assert not list(home.iterdir())


def test_nothing_is_loaded_before_the_first_text() -> None:
    out, _ = run(LAZY)
    assert out.splitlines() == ["wordllama-256 256 []", "['safetensors', 'tokenizers']"]


def test_it_starts_no_threads_and_a_forked_process_may_go_on_with_it() -> None:
    assert run(FORKED) == ("0\n(1, 256)", "")


def test_model_is_shared() -> None:
    assert default_embedder() is default_embedder()


@pytest.mark.parametrize("package", ["wordllama", "tokenizers", "safetensors"])
def test_there_is_none_without_the_packages(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    assert default_embedder() is None


@pytest.mark.parametrize("missing", FILES)
def test_there_is_none_without_the_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, missing: str) -> None:
    for file in FILES:
        (tmp_path / "wordllama" / file).parent.mkdir(parents=True)
        (tmp_path / "wordllama" / file).touch()
    (tmp_path / "wordllama" / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    assert isinstance(default_embedder(), WordLlama)
    (tmp_path / "wordllama" / missing).unlink()
    assert default_embedder() is None


def copied(folder: Path, weights: np.ndarray[Any, Any] | None = None) -> Path:
    for file in FILES:
        (folder / file).parent.mkdir(parents=True)
        shutil.copy(package() / file, folder / file)
    if weights is not None:
        save_file({"embedding.weight": weights}, folder / FILES[0])
    return folder


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("content", [b"", b"{}", b"\xff" * 100, None], ids=["empty", "braces", "bytes", "gone"])
def test_damaged_files_are_a_sentence_each_time(tmp_path: Path, file: str, content: bytes | None) -> None:
    folder = copied(tmp_path)
    if content is None:
        (folder / file).unlink()
    else:
        (folder / file).write_bytes(content)
    embedder = WordLlama(folder)
    for _ in range(2):
        with pytest.raises(EngineFailure, match=r"cannot be loaded \(.+\); install the package wordllama again"):
            embedder.embed(["a text"])


def test_table_of_another_size_is_refused(tmp_path: Path) -> None:
    embedder = WordLlama(copied(tmp_path, np.zeros((31_999, 256), np.float16)))
    with pytest.raises(EngineFailure, match=r"32000 word parts do not go with a table of \(31999, 256\)"):
        embedder.embed(["a text"])


def test_threads_share_it(model: WordLlama) -> None:
    fresh, wanted = WordLlama(package()), model.embed(TEXTS)
    start = threading.Barrier(4)

    def embed(_: int) -> bool:
        start.wait(5)
        return all(np.array_equal(fresh.embed(TEXTS), wanted) for _ in range(5))

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(embed, range(4)))
