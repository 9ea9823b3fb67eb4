"""Realistic items to any size: the same seed gives the same stream of items, of which a corpus is the beginning.

Pools of values (files, folders, threads, urls) grow along the stream, so that the first 10,000 items are as a memory of
that size is. At a million: about 333k file paths, 167k urls, 62k threads, 20k folders, 5k tags, 200 nodes.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from explorer.contract import (
    Conversation,
    Document,
    DocumentBody,
    Facet,
    Learning,
    MemoryMeta,
    Namespace,
    SourceKind,
    SourceRef,
    StoreItem,
    Timestamp,
    ToolCallRef,
    Turn,
    TurnRange,
)

BLOCK = 1_000
"""Items that are made at a time; each block is seeded by its number, so that a stream can begin at any of them."""

COLUMNS = [facet.value for facet in Facet if facet is not Facet.TAG]
"""The facets with one value an item, in the order of a row's columns."""

SINGLE_NODES = 10
HUNDRED_NODES = 6
"""Nodes that hold one item, and 100 items, spread over the first items of each size given to a corpus."""

Numbers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
T = TypeVar("T")


class Row(NamedTuple):
    """An item as plain values: what a table of it would hold. `number` is its place in the stream."""

    number: int
    kind: str
    source: str
    source_id: str | None
    workspace: str | None
    folder: str | None
    file_path: str | None
    language: str | None
    repo: str | None
    url: str | None
    thread: str | None
    agent: str | None
    tool_call: str | None
    namespace: str
    tags: tuple[str, ...]
    observed: int | None
    """Nanoseconds since 1970."""
    commit: str | None
    turns: tuple[int, int] | None
    text: str
    """As the item renders it."""
    parts: Any
    """Title and body; role and text of each turn; or kind and confidence."""

    @property
    def values(self) -> tuple[str | None, ...]:
        """The values of `COLUMNS`."""
        return self[1:14]


def _split(words: str) -> list[str]:
    return words.split()


assert Row._fields[1:14] == tuple(COLUMNS)

_PEOPLE = ["main", "writer", "coder", "reviewer", "planner", "tester", "scout", "clerk"]
_PROJECTS = _split(
    "atlas beacon cobalt delta ember falcon garnet harbor indigo juniper krypton lumen meridian nimbus onyx pylon "
    "quartz raven saffron tundra umbra vertex willow xenon yarrow zephyr acorn birch cedar dune"
)
_TOPS = ["src", "docs", "tests", "packages", "tools", "infra"]
_TOP_SHARES = [0.42, 0.2, 0.16, 0.12, 0.06, 0.04]
_LANGUAGES = ["python", "typescript", "rust", "go", "markdown", "yaml", "sql", "java", "css", "shell", "c", "toml"]
_ENDINGS = [".py", ".ts", ".rs", ".go", ".md", ".yaml", ".sql", ".java", ".css", ".sh", ".c", ".toml"]
_SPOKEN = ["en", "de", "zh", "ja", "fr", "es", "ko", "pt"]
_SPOKEN_SHARES = [0.62, 0.1, 0.07, 0.06, 0.05, 0.05, 0.03, 0.02]
_TOOLS = _split(
    "grep edit shell read write list fetch search test build lint format commit push review plan deploy query migrate "
    "profile trace browse open close move copy remove rename run stop start watch diff merge apply undo"
)
_SOURCE_SHARES = {
    SourceKind.FILE: 0.30,
    SourceKind.GITHUB: 0.19,
    SourceKind.CONVERSATION: 0.14,
    SourceKind.LINK: 0.12,
    SourceKind.AGENT: 0.12,
    SourceKind.FOLDER: 0.05,
    SourceKind.RSS: 0.05,
    SourceKind.IMPORT: 0.03,
}
_SOURCES = list(_SOURCE_SHARES)
_LEARNINGS = ["preference", "fact", "procedure", "correction", "other"]
_COMMON = _split(
    "the of to and a in is it that for on with as be this are by from at or an not can will if we use set has when "
    "file code test value error call run add type key data user list time name read write change line return path "
    "node item page state build new get open close first last one two"
)
_UNSPACED = [
    _split("数据库 备份 服务器 配置 文件 错误 用户 检索 内存 更新 测试 系统 接口 缓存 日志 部署"),
    _split("日本語 設定 検索 ファイル サーバー 記憶 更新 テスト 接続 画面 データ 会議 要件 認証"),
    _split("메모리 검색 설정 파일 서버 요일 업데이트 테스트 오류 사용자 연결 화면"),
]
_ACCENTED = _split("größe café naïve übersicht façade résumé schlüssel año señal garçon löschen prüfung été")
_EMOJI = _split("🚀 🐛 ✅ 🔥 📌 ⚠️ 🎉 💡 🧪 📝")

_VOCABULARY = 60_000
_DRAWS = 1 << 18
_RARE_SHARE = 0.015
_RARE_WORDS = 8_000_000
_TOPICS = 512
_TOPIC_WORDS = 256
_MEAN_WORDS = 252
_FIRST_SECOND = 1_577_836_800  # 2020-01-01
_PACE_S = 150
_ODD = 0x9E3779B97F4A7C15
"""Multiplied by it, numbers look like ids."""


class Corpus:
    """The stream of a seed. Items of the marked nodes are the same only for the same `sizes`."""

    def __init__(self, seed: int = 1, sizes: Sequence[int] = ()) -> None:
        self._seed = seed
        rand = random.Random(seed)
        rng = np.random.default_rng(seed)
        self.words = _words(rand)
        """Plain words, most frequent first: no identifiers, no other scripts."""
        self._draws, plain = _draws(rand, rng, self.words)
        self._topics = plain[rng.integers(200, _VOCABULARY, (_TOPICS, _TOPIC_WORDS))]
        self._workspaces = [f"/home/dev/{name}" for name in [*_PROJECTS, *self.words[3_000:3_030]]]
        self._agents = [f"{person}-{number}" for number in range(15) for person in _PEOPLE]
        self._tags = [f"{a}-{b}" for a, b in itertools.product(self.words[300:370], self.words[400:472])][:5_000]
        rand.shuffle(self._tags)
        self._nodes, self._node_ends = _nodes()
        self._namespaces: dict[str, Namespace] = {}
        self._marked = _marked(sizes)

    def rows(self, start: int, stop: int) -> Iterator[list[Row]]:
        """The rows numbered `start` to `stop` (not included), in lists of at most BLOCK."""
        for block in range(start // BLOCK, -(-stop // BLOCK)):
            first = block * BLOCK
            yield self._block(block)[max(0, start - first) : stop - first]

    def places(self) -> list[str]:
        """The workspaces, and the folders right below them that hold all others."""
        return self._workspaces + [f"{place}/{top}" for place in self._workspaces for top in _TOPS]

    def item(self, row: Row) -> StoreItem:
        """The row as the contract's item."""
        namespace = self._namespaces.get(row.namespace)
        if namespace is None:
            namespace = self._namespaces[row.namespace] = Namespace.parse(row.namespace)
        meta = MemoryMeta(
            namespace=namespace,
            workspace=row.workspace,
            folder=row.folder,
            file_path=row.file_path,
            language=row.language,
            repo=row.repo,
            commit=row.commit,
            url=row.url,
            thread_id=row.thread,
            turns=row.turns and TurnRange(first=row.turns[0], last=row.turns[1]),
            agent_id=row.agent,
            tool_call=row.tool_call and ToolCallRef(name=row.tool_call),
            source=SourceRef(kind=row.source, id=row.source_id),
            tags=list(row.tags),
            observed_at=None if row.observed is None else Timestamp.from_unix_ns(row.observed),
        )
        if row.kind == "document":
            title, body = row.parts
            return Document(title=title, body=DocumentBody(text=body), meta=meta)
        if row.kind == "conversation":
            return Conversation(turns=[Turn(role=role, text=text) for role, text in row.parts], meta=meta)
        kind, confidence = row.parts
        return Learning(text=row.text, kind=kind, confidence=confidence, meta=meta)

    def short_texts(self, count: int) -> Iterator[str]:
        """Texts of 4 to 30 words about one topic each, as titles and summaries are."""
        rng = np.random.default_rng([self._seed, 7])
        for start in range(0, count, BLOCK):
            sizes = rng.integers(4, 31, BLOCK)
            tokens = self._tokens(rng, sizes, rng.integers(0, _TOPICS, BLOCK), 0.5)
            spans = itertools.pairwise([0, *np.cumsum(sizes).tolist()])
            yield from ("".join(tokens[a:b]).strip() for a, b in itertools.islice(spans, count - start))

    def _block(self, block: int) -> list[Row]:
        rng = np.random.default_rng([self._seed, 0, block])
        numbers = np.arange(block * BLOCK, (block + 1) * BLOCK)

        def by_chance(share: float) -> Flags:
            return rng.random(BLOCK) < share

        def ranks(count: int, exponent: float) -> Numbers:
            return _zipf(rng.random(BLOCK), count, exponent)

        def earlier(newest: Numbers, exponent: float) -> Numbers:
            """Numbers up to `newest`; the larger the exponent, the more go far back."""
            return ((newest + 1) * rng.random(BLOCK) ** exponent).astype(np.int64)

        sources = rng.choice(len(_SOURCES), BLOCK, p=list(_SOURCE_SHARES.values()))
        has_folder = _is_of(sources, "file", "github", "folder", "agent", "import")
        has_file = has_folder & ~_is_of(sources, "folder")
        is_github, is_talk = _is_of(sources, "github"), _is_of(sources, "conversation", "agent")

        # Two of five items may bring a new file, and every 20th file a new folder; the rest go back to earlier ones.
        newest = numbers // 5 * 2 + np.minimum(numbers % 5, 1)
        files = np.where(numbers % 5 < 2, newest, earlier(newest, 1.5))
        back = ((files // 20 + 1) * _uniform(files, 1) ** 1.2).astype(np.int64)
        folders = np.where(files % 20 == 0, files // 20, back)
        places = len(self._workspaces)
        workspaces = np.where(has_folder, _zipf(_uniform(folders, 2), places, 0.95), ranks(places, 0.95))
        has_workspace = has_folder | by_chance(0.8)
        tops = np.searchsorted(np.cumsum(_TOP_SHARES[:-1]), _uniform(folders, 3))
        endings = _zipf(_uniform(files, 4), len(_ENDINGS), 0.9)
        spoken = np.searchsorted(np.cumsum(_SPOKEN_SHARES[:-1]), rng.random(BLOCK))
        urls = earlier(numbers * 3 // 10, 1.2)
        threads = np.maximum(0, numbers // 16 - rng.geometric(0.3, BLOCK) + 1)
        words = self.words

        workspace = [self._workspaces[at] for at in workspaces.tolist()]
        folder = [
            f"{place}/{_TOPS[top]}/{words[3_100 + at % 9_000]}-{at}"
            for place, top, at in zip(workspace, tops.tolist(), folders.tolist(), strict=True)
        ]
        file_path = [
            f"{path}/{words[200 + at % 2_800]}_{at}{_ENDINGS[ending]}"
            for path, at, ending in zip(folder, files.tolist(), endings.tolist(), strict=True)
        ]
        language = [
            _LANGUAGES[ending] if filed else _SPOKEN[at]
            for filed, ending, at in zip(has_file.tolist(), endings.tolist(), spoken.tolist(), strict=True)
        ]
        repo = [
            f"acme/{place[10:]}-{at}"
            for place, at in zip(workspace, (64 * rng.random(BLOCK) ** 2).astype(np.int64).tolist(), strict=True)
        ]
        url = [f"https://{words[500 + at % 400]}.example/{words[1_000 + at % 977]}/{at}" for at in urls.tolist()]
        thread = [f"{(at + 1) * _ODD % (1 << 64):016x}" for at in threads.tolist()]
        commit = [f"{(at + 1) * _ODD**3 % (1 << 160):040x}" for at in (numbers // 24).tolist()]
        source = [_SOURCES[at].value for at in sources.tolist()]
        source_id = _some(
            [f"{kind}-{at}" for kind, at in zip(source, ranks(3_000, 1.0).tolist(), strict=True)], by_chance(0.6)
        )
        for at in np.flatnonzero(numbers % 653 == 17).tolist():
            source_id[at] = f"rare-{(block * BLOCK + at) // 653 % 7}"
        namespace = [self._nodes[at] for at in np.searchsorted(self._node_ends, rng.random(BLOCK)).tolist()]
        for at in range(BLOCK):
            namespace[at] = self._marked.get(block * BLOCK + at, namespace[at])
        bodies = self._bodies(rng, source, np.where(has_folder, folders, urls))
        columns = (
            numbers.tolist(),
            [kind for kind, _, _ in bodies],
            source,
            source_id,
            _some(workspace, has_workspace),
            _some(folder, has_folder),
            _some(file_path, has_file),
            _some(language, by_chance(0.97)),
            _some(repo, has_workspace & (is_github | by_chance(0.45))),
            _some(url, _is_of(sources, "link", "rss") | (is_github & by_chance(0.8))),
            _some(thread, is_talk | by_chance(0.4)),
            _some([self._agents[at] for at in ranks(len(self._agents), 1.05).tolist()], by_chance(0.95)),
            _some([_TOOLS[at] for at in ranks(len(_TOOLS), 0.9).tolist()], by_chance(0.3)),
            namespace,
            self._tags_of(rng),
            _some(_times(rng, numbers), by_chance(0.97)),
            _some(commit, is_github),
            [
                (at % 5, at % 5 + len(parts) - 1) if kind == "conversation" else None
                for at, (kind, _, parts) in zip(threads.tolist(), bodies, strict=True)
            ],
            [text for _, text, _ in bodies],
            [parts for _, _, parts in bodies],
        )
        return list(map(Row, *columns))

    def _tags_of(self, rng: np.random.Generator) -> list[tuple[str, ...]]:
        """One to five for each item, 2.9 in the mean."""
        ends = np.cumsum(1 + np.searchsorted([0.14, 0.4, 0.66, 0.86], rng.random(BLOCK))).tolist()
        drawn = [self._tags[at] for at in _zipf(rng.random(ends[-1]), len(self._tags), 1.0).tolist()]
        return [tuple(dict.fromkeys(drawn[start:stop])) for start, stop in itertools.pairwise([0, *ends])]

    def _bodies(self, rng: np.random.Generator, sources: list[str], subjects: Numbers) -> list[tuple[str, str, Any]]:
        """For each item its kind, its rendered text, and the parts that the text is made of."""
        chance = rng.random((5, BLOCK))
        is_learning = np.array([source == "agent" for source in sources]) & (chance[0] < 0.6)
        sizes = np.clip(rng.lognormal(np.log(_MEAN_WORDS) - 0.32, 0.8, BLOCK), 12, 4_000).astype(np.int64)
        sizes = np.where(is_learning, 8 + sizes // 10, sizes)
        tokens = self._tokens(rng, sizes, (_uniform(subjects, 5) * _TOPICS).astype(np.int64), 0.2)
        ends = np.cumsum(sizes).tolist()
        extra = rng.integers(0, 1 << 32, BLOCK).tolist()
        found: list[tuple[str, str, Any]] = []
        columns = zip([0, *ends[:-1]], ends, sources, is_learning.tolist(), extra, *chance[1:].tolist(), strict=True)
        for start, stop, source, learned, more, c1, c2, c3, c4 in columns:
            if learned:
                text = "".join(tokens[start:stop]).strip()
                found.append(("learning", text, (_LEARNINGS[more % 5], round(0.3 + 0.7 * c1, 2))))
                continue
            tail = _tail(more, c2, c3, c4)
            if source == "conversation":
                count = 3 + more % 10
                bounds = [start + (stop - start) * turn // count for turn in range(count + 1)]
                turns = [
                    ("user" if turn % 2 == 0 else "assistant", "".join(tokens[a:b]).strip() or "yes")
                    for turn, (a, b) in enumerate(itertools.pairwise(bounds))
                ]
                turns[-1] = (turns[-1][0], turns[-1][1] + tail)
                found.append(("conversation", "\n".join(f"{role}: {text}" for role, text in turns), turns))
            else:
                title = "".join(tokens[start : start + 3 + more % 5]).replace("\n\n", " ").strip()
                body = "".join(tokens[start + 2 : stop]).strip() + tail
                found.append(("document", f"# {title}\n\n{body}", (title, body)))
        return found

    def _tokens(self, rng: np.random.Generator, sizes: Numbers, topics: Numbers, share: float) -> list[str]:
        """Words with what follows them, for texts of `sizes` words; `share` of them from the text's topic."""
        total = int(sizes.sum())
        drawn = self._draws[rng.integers(0, _DRAWS, total, np.uint32)]
        chance = rng.random(total, np.float32)
        at = np.flatnonzero(chance < share)
        drawn[at] = self._topics[np.repeat(topics, sizes)[at], rng.integers(0, _TOPIC_WORDS, len(at), np.uint32)]
        tokens: list[str] = drawn.tolist()
        rare = np.flatnonzero(chance > 1.0 - _RARE_SHARE)
        picks = (_RARE_WORDS * rng.random(len(rare)) ** 2).astype(np.int64)
        for place, pick in zip(rare.tolist(), picks.tolist(), strict=True):
            # No other word begins with a y, so that none of these is a longer form of one.
            tokens[place] = f"y{self.words[200 + pick % 50_000]}{self.words[200 + pick // 50_000]} "
        return tokens


def _times(rng: np.random.Generator, numbers: Numbers) -> list[int]:
    """Nanoseconds since 1970: a steady pace, some of it late by days, and old things among the new."""
    late = rng.exponential(3 * 86_400, BLOCK) + (rng.random(BLOCK) < 0.12) * rng.random(BLOCK) * 3 * 365 * 86_400
    seconds = (_FIRST_SECOND + numbers * _PACE_S - late).astype(np.int64)
    found: list[int] = (seconds * 1_000_000_000 + rng.integers(0, 1_000, BLOCK) * 1_000_000).tolist()
    return found


def _is_of(sources: Numbers, *kinds: str) -> Flags:
    return np.isin(sources, [_SOURCES.index(SourceKind(kind)) for kind in kinds])


def _some(values: Sequence[T], is_held: Flags) -> list[T | None]:
    """The values where they are held, else None."""
    return [value if held else None for value, held in zip(values, is_held.tolist(), strict=True)]


def _tail(more: int, c2: float, c3: float, c4: float) -> str:
    """What stands at the end of some texts: a reference of their own, a sentence in another script, an emoji."""
    tail = f" ERR-{more % 9000 + 1000} at {more:08x}." if c2 < 0.3 else ""
    if c3 < 0.09:
        words = _UNSPACED[more % 3]
        picks = [words[(more >> shift) % len(words)] for shift in range(0, 28, 3)]
        tail += "\n\n" + ("".join(picks) if more % 3 < 2 else " ".join(picks)) + ("。" if more % 3 < 2 else ".")
    if c4 < 0.06:
        tail += f" {_EMOJI[more % len(_EMOJI)]}"
    return tail


def _uniform(numbers: Numbers, salt: int) -> Floats:
    """A number in [0, 1) that depends on each of `numbers` alone."""
    mixed = (numbers.astype(np.uint64) + np.uint64(salt << 40)) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return ((mixed ^ (mixed >> np.uint64(31))) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _zipf(uniform: Floats, count: int, exponent: float) -> Numbers:
    """Ranks 0 to `count` - 1, of which rank r has a weight of (r + 1) ** -exponent."""
    key = (count, exponent)
    ends = _ENDS.get(key)
    if ends is None:
        weights = np.arange(1.0, count + 1) ** -exponent
        ends = _ENDS[key] = np.cumsum(weights / weights.sum())[:-1]
    return np.searchsorted(ends, uniform)


_ENDS: dict[tuple[int, float], Floats] = {}


def _words(rand: random.Random) -> list[str]:
    """A vocabulary in which no word is another with an English ending."""
    firsts = _split("b br c ch d dr f fl g gr h j k kl l m n p pl pr qu r s sh sk st t tr v w z")
    vowels = _split("a e i o u ai ea io ou")
    middles = _split("b d g k l m n p r t v z nd lt rk mp")
    lasts = _split("k m p x ft b")
    words = dict.fromkeys(_COMMON)
    while len(words) < _VOCABULARY:
        word = rand.choice(firsts) + rand.choice(vowels)
        for _ in range(rand.choice((0, 1, 1, 1, 2, 2))):
            word += rand.choice(middles) + rand.choice(vowels)
        words[word + rand.choice(lasts)] = None
    return list(words)


def _draws(
    rand: random.Random, rng: np.random.Generator, words: Sequence[str]
) -> tuple[npt.NDArray[np.object_], npt.NDArray[np.object_]]:
    """Words with what follows them, as often as a text has them (drawing is picking a place of this), and each once.

    Equal ones are one object: of what is drawn most, the processor's caches then hold most.
    """
    follows = [" ", ", ", ". ", ".\n\n"]
    forms = np.array([[word + follow for word in words] for follow in follows], object)
    weights = 1.0 / (np.arange(_VOCABULARY) + 12.0) ** 1.02
    picks = rng.choice(_VOCABULARY, _DRAWS, p=weights / weights.sum())
    drawn = forms[rng.choice(len(follows), _DRAWS, p=[0.86, 0.05, 0.075, 0.015]), picks]
    kinds = rng.random(_DRAWS)
    parts = _split("user profile order index token cache cursor writer reader config batch filter vector segment")
    for at in np.flatnonzero(kinds < 0.05).tolist():
        a, b, c = rand.choice(parts), rand.choice(parts), rand.choice(words[150:2_000])
        drawn[at] = rand.choice(
            [f"{a}{b.title()} ", f"{a}_{c} ", f"{c}{a.title()}{b.title()} ", f"{c}.{b}() ", f"{a}/{c}.py ", f"{a}_{b} "]
        )
    for at in np.flatnonzero(kinds > 0.985).tolist():
        drawn[at] = f"{rand.randint(1, 9_999)} "
    for at in np.flatnonzero((kinds > 0.982) & (kinds <= 0.985)).tolist():
        drawn[at] = f"{rand.choice(_ACCENTED)} "
    return drawn, forms[0]


def _nodes() -> tuple[list[str], Floats]:
    """200 nodes to depth 4, and where each ends on a line from 0 to 1 by how much it holds."""
    weights = {"root": 0.04}
    for team, share in enumerate((0.34, 0.26, 0.18, 0.12, 0.06)):
        below = [f"team:t{team}"]
        for project in range(6):
            below.append(f"{below[0]}/project:p{project}")
            for agent in range(4):
                below.append(f"{below[0]}/project:p{project}/agent:a{agent}")
                if agent == 0 or (agent == 1 and project < 3):
                    below.append(f"{below[-1]}/user:u{project}")
        ranked = np.arange(1.0, len(below) + 1) ** -0.7
        weights.update(zip(below, (share * ranked / ranked.sum()).tolist(), strict=True))
    ends = np.cumsum(list(weights.values()))
    return list(weights), (ends / ends[-1])[:-1]


def single_node(size: int, number: int) -> str:
    """A node with one item among the first `size`."""
    return f"project:single-{size}-{number}"


def hundred_node(size: int, number: int) -> str:
    """A node with 100 items, spread over the first `size`."""
    return f"project:hundred-{size}-{number}"


def _marked(sizes: Sequence[int]) -> dict[int, str]:
    """The items, by their number, that are placed at the nodes of `single_node` and `hundred_node`."""
    places: dict[int, str] = {}
    for size in sorted(set(sizes)):
        nodes = [hundred_node(size, number) for number in range(HUNDRED_NODES)] * 100
        nodes += [single_node(size, number) for number in range(SINGLE_NODES)]
        random.Random(size).shuffle(nodes)
        for at, node in enumerate(nodes):
            place = at * size // len(nodes)
            while place in places:
                place += 1
            places[place] = node
    return places
