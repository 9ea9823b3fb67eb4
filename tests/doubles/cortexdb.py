"""A strict CortexDB in memory, on loopback: one log behind the Direct (`/v1`) and the hosted (`/memory`) routes.

    async with CortexDouble(listed_after=2) as double:
        ...  # double.endpoint, double.token; double.requests, double.held(scope)

Each knob of `Knobs` may be set before and changed while it runs. What the server was asked is in `asked`.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import unquote

from tests.doubles import checks
from tests.doubles.checks import BackendRefused, Refused, closed, demand
from tests.doubles.knobs import Knobs
from tests.doubles.log import Held, KeyTaken, Log, is_below
from tests.doubles.serving import HttpServer, Reply, Request

SCOPES_MAX = 1000
PAGE_DEFAULT = 50
HOLISTIC_CHARS = 200
"""Where no view is named, an event is only hinted at."""
PARAMS = {"scope", "limit", "labels", "cursor", "prefix", "path", "view", "since", "modality", "wait"}

DIRECT = {
    ("POST", "experience"): "experience",
    ("POST", "experience/bulk"): "bulk",
    ("GET", "events"): "events",
    ("POST", "recall"): "recall",
    ("POST", "answer"): "answer",
    ("POST", "forget"): "forget",
    ("GET", "scopes/list"): "scopes",
    ("POST", "erasures"): "erasures",
    ("GET", "admin/health"): "health",
    ("GET", "admin/version"): "version",
    ("POST", "scopes"): "register",
    ("GET", "scopes"): "record",
    ("PUT", "scopes/members"): "members",
    ("POST", "beliefs/build"): "build_beliefs",
    ("GET", "beliefs"): "beliefs",
}
HOSTED = {
    ("POST", "experience"): "experience",
    ("GET", "events"): "events",
    ("POST", "recall"): "recall",
    ("POST", "answer"): "answer",
    ("POST", "forget"): "forget",
    ("GET", "scopes"): "scopes",
    ("DELETE", ""): "erase_all",
    ("POST", "v1/erasures"): "erasures",
}
ROUTES = sorted({*DIRECT.values(), *HOSTED.values(), "erasure", "event"})
"""Names for `count` and `failures`; `erasure` is the status of one, `event` is one of `events`."""
LIMITS = {"events": "rate_limit_events", "experience": "rate_limit_experience", "bulk": "rate_limit_experience"}
LIMITS["forget"] = "rate_limit_forget"


@dataclass
class Asked:
    """One request that came in."""

    request: Request
    hosted: bool
    route: str
    """A name of `ROUTES`; empty: there is no such route."""
    status: int = 0
    """Of the answer; 0 while there is none."""

    @property
    def target(self) -> str:
        return f"{self.request.method} {self.request.target}"

    @property
    def headers(self) -> dict[str, str]:
        return self.request.headers

    @property
    def params(self) -> dict[str, str]:
        return dict(self.request.params)

    @property
    def body(self) -> Any:
        return json.loads(self.request.body) if self.request.body else None


@dataclass
class Job:
    scope: str
    polls: int
    status: str


@dataclass
class CortexDouble(Knobs):
    log: Log = field(default_factory=Log, init=False)
    asked: list[Asked] = field(default_factory=list, init=False)
    whoami_asked: int = field(default=0, init=False)
    unknown_params: list[str] = field(default_factory=list, init=False)
    """Query parameters that the server ignored, by name, as they came."""
    records: dict[str, dict[str, Any]] = field(default_factory=dict, init=False)
    """Registered scopes."""
    in_flight: int = field(default=0, init=False)
    peak: int = field(default=0, init=False)
    """The most requests that were answered at once."""
    listings_in_flight: int = field(default=0, init=False)
    listings_peak: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.server = HttpServer(self._answer)
        self._packs: dict[str, str] = {}
        self._dropped: set[str] = set()
        self._claims: set[tuple[str, str]] = set()
        self._jobs: dict[str, Job] = {}
        self._beliefs: dict[str, list[dict[str, Any]]] = {}
        self._numbers: Counter[str] = Counter()
        self._broken: list[Exception] = []

    async def __aenter__(self) -> Self:
        await self.server.start()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.server.stop()
        if self._broken and exc[0] is None:
            raise self._broken[0]  # a fault of the double, which its client has seen as a 500

    # what tests ask

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.server.port}/{self.prefix + '/' if self.prefix else ''}"

    @property
    def headers(self) -> dict[str, str]:
        """What a client of its own sends with each request."""
        return {"authorization": f"Bearer {self.token}"} | ({"x-cortex-actor": self.whoami} if self.whoami else {})

    @property
    def requests(self) -> list[str]:
        """`METHOD /path?query` of each, but for whoami."""
        return [each.target for each in self.asked]

    @property
    def open_connections(self) -> int:
        return self.server.open_connections

    def count(self, route: str) -> int:
        """How many requests a route of `ROUTES` got, on either wire."""
        assert route in ROUTES, route
        return sum(each.route == route for each in self.asked)

    def counts(self) -> dict[str, int]:
        """The same of each route that got any."""
        return dict(Counter(each.route for each in self.asked))

    def bodies(self, route: str) -> list[Any]:
        assert route in ROUTES, route
        return [each.body for each in self.asked if each.route == route]

    def forget_requests(self) -> None:
        """Count from here."""
        self.asked.clear()
        self.unknown_params.clear()
        self.whoami_asked = 0
        self.peak = self.listings_peak = 0

    def held(self, scope: str) -> list[Held]:
        """What the log holds at exactly this stored path, oldest first."""
        return self.log.held(scope)

    def rooted(self, scope: str, tenant: str | None = None) -> str:
        """The stored path of a hosted scope."""
        root = f"org:{tenant or self.tenant}" if self.reroots else ""
        return "/".join(each for each in (root, scope) if each)

    def put(self, scope: str, text: str, labels: Sequence[str] = (), **more: Any) -> str:
        """An event of another program, straight into the log. -> its id"""
        context: dict[str, Any] = {"labels": list(labels)}
        if observed_at := more.get("observed_at"):
            context["observed_at"] = observed_at
        content = {"kind": "message", "role": more.get("role", "user"), "text": text}
        body = {"modality": more.get("modality", "conversation"), "content": content, "context": context}
        return self.log.append(body, scope).id

    def lose_last(self, scope: str) -> Held:
        """Take the newest event of a stored path away, as if a store had failed before it."""
        return self.log.lose_last(scope)

    # the gate

    async def _answer(self, request: Request) -> Reply:
        before = f"/{self.prefix}" if self.prefix else ""
        path = request.path.removeprefix(before) if request.path.startswith(before + "/") else ""
        if request.method == "GET" and path == "/v1/auth/whoami":
            return self._who()
        hosted = path == "/memory" or path.startswith("/memory/")
        asked = Asked(request, hosted, self._route(request.method, path, hosted))
        self.asked.append(asked)
        self.unknown_params += [name for name, _ in request.params if name not in PARAMS]
        is_listing = asked.route == "events"
        self.in_flight += 1
        self.peak = max(self.peak, self.in_flight)
        self.listings_in_flight += is_listing
        self.listings_peak = max(self.listings_peak, self.listings_in_flight)
        try:
            if wait_ms := self.latency_ms + (self.listing_delay_ms if is_listing else 0):
                await asyncio.sleep(wait_ms / 1000)
            reply = self._replied(asked, path)
        finally:
            self.in_flight -= 1
            self.listings_in_flight -= is_listing
        asked.status = reply.status
        return reply

    def _route(self, method: str, path: str, hosted: bool) -> str:
        routes, start = (HOSTED, "/memory") if hosted else (DIRECT, "/v1")
        if not path.startswith(start):
            return ""
        rest = path.removeprefix(start).removeprefix("/")
        if method == "GET" and rest.removeprefix("v1/").startswith("erasures/"):
            return "erasure"
        if method == "GET" and not hosted and rest.startswith("events/"):
            return "event"
        return routes.get((method, rest), "")

    def _who(self) -> Reply:
        self.whoami_asked += 1
        if failure := self._next_failure("whoami"):
            return Reply(dumped({"error_code": failure.code}), failure.status)
        if self.whoami is None:
            return Reply(dumped({"error_code": "NOT_FOUND"}), 404)
        return Reply(dumped({"caller": self.whoami}))

    def _replied(self, asked: Asked, path: str) -> Reply:
        """Past the gate by the route; whatever refuses, in the words of its wire."""
        try:
            tenant = self._let_in(asked)
            if asked.hosted:
                return Hosted(self, asked, tenant).reply()
            return Direct(self, asked).reply()
        except Refused as refused:
            return self._refusal(asked, refused)
        except Exception as error:
            self._broken.append(error)
            return Reply(dumped({"error_code": "DOUBLE_BROKE"}), 500)

    def _let_in(self, asked: Asked) -> str:
        scheme, _, token = asked.headers.get("authorization", "").partition(" ")
        keys = {self.token: self.tenant} | (self.tenants if asked.hosted else {})
        if scheme != "Bearer" or not token.strip() or token not in keys:
            raise BackendRefused(401, "UNAUTHORIZED")
        if not asked.hosted and self.whoami is not None:
            actor = asked.headers.get("x-cortex-actor")
            if actor != self.whoami and (actor is not None or self.needs_actor):
                raise Refused(401, "ACTOR_MISMATCH")
        if self.fail_all is not None:
            raise BackendRefused(*self.fail_all)
        return keys[token]

    def _refusal(self, asked: Asked, refused: Refused) -> Reply:
        text = self.error_text or refused.text
        headers = dict(self.rate_limit_headers) if refused.status == 429 else {}
        if not asked.hosted:
            said = {"error_code": refused.code} | ({"message": text} if self.error_text else {})
            return Reply(dumped(said), refused.status, headers)
        if refused.status == 429:
            return Reply(dumped({"error": {"message": text, "type": "rate_limit_error"}}), 429, headers)
        status, code = (refused.status, refused.code) if isinstance(refused, BackendRefused) else self._relayed(refused)
        return Reply(dumped({"success": False, "error": text, "errorCode": code}), status, headers)

    def _relayed(self, refused: Refused) -> tuple[int, str]:
        """What the backend makes of a failure of its engine."""
        status = refused.status
        if status == 409:
            return (400 if self.legacy_conflict else 409), "CONFLICT"
        codes = {402: "USER_INSUFFICIENT_CREDITS", 404: "NOT_FOUND", 413: "PAYLOAD_TOO_LARGE"}
        if status in codes:
            return status, codes[status]
        if status == 503:
            return 503, "UPSTREAM_UNAVAILABLE"
        if status in (401, 403) or not 400 <= status < 500:
            return 502, "UPSTREAM_UNAVAILABLE"
        return 400, "BAD_REQUEST"

    def _next_failure(self, route: str) -> Refused | None:
        queue = self.failures.get(route)
        return Refused(*queue.pop(0)) if queue else None

    def _spend(self, knob: str) -> bool:
        """Whether a counted knob still holds, one less of it from now on."""
        left = getattr(self, knob)
        if left:
            setattr(self, knob, left - 1)
        return bool(left)

    def _number(self, of: str) -> int:
        self._numbers[of] += 1
        return self._numbers[of]

    def _drop_packs(self) -> None:
        if self.drops_packs:
            self._dropped |= set(self._packs)
            self._packs.clear()


class Wire:
    """The server's engine for one request, as both wires come to it. Subclasses word the answers."""

    def __init__(self, double: CortexDouble, asked: Asked, tenant: str | None) -> None:
        self.double = double
        self.asked = asked
        self.tenant = tenant

    def stored(self, path: str) -> str:
        """The path in the log of a path as the caller writes it."""
        return path

    def check_scope(self, value: Any) -> str:
        return checks.scope_path(value)

    def body(self) -> Any:
        try:
            return json.loads(self.asked.request.body)
        except ValueError:
            raise Refused(400, "INVALID_JSON") from None

    def limited(self) -> None:
        """The rate limit, before anything is looked at."""
        knob = LIMITS.get(self.asked.route)
        if self.double._spend("rate_limit_any") or (knob and self.double._spend(knob)):
            raise BackendRefused(429, "RATE_LIMITED")

    def write(self, body: Any) -> dict[str, Any]:
        """One event into the log."""
        double = self.double
        checks.experience(body)
        scope = self.check_scope(body["scope"])
        checks.registered_types(scope, double.scope_types)
        if double.attribution_refusal and ("observed_actor" in body or "subject" in body):
            raise Refused(*double.attribution_refusal)
        if double._number("write") == double.fail_nth_experience:
            raise Refused(400, "INVALID_BODY")
        key = (self.tenant, body["idempotency_key"]) if body.get("idempotency_key") else None
        text = body["content"].get("text", "")
        rest = {name: value for name, value in body.items() if name != "idempotency_key"}
        # When it was observed is no part of what is compared: clients fill it in anew for each attempt.
        rest["context"] = {name: value for name, value in body.get("context", {}).items() if name != "observed_at"}
        fingerprint = json.dumps(rest, sort_keys=True) if double.compares_body else text
        try:
            known = double.log.replay(key, fingerprint)
        except KeyTaken:
            raise Refused(409, "IDEMPOTENCY_CONFLICT") from None
        if known is not None:
            return {"event_id": known, "replayed_from_idempotency": True}
        demand(len(text.encode()) <= checks.MAX_TEXT, 422, "INVALID_ENVELOPE", "content.text over 1 MiB")
        late = {"unlisted": double.listed_after, "unranked": double.ranked_after}
        held = double.log.append(body, self.stored(scope), key=key, fingerprint=fingerprint, **late)
        if double.arm_after_write is not None:
            double.rate_limit_events, double.hide_listing = double.arm_after_write
            double.arm_after_write = None
        return {"event_id": held.id, "status": "captured", "replayed_from_idempotency": False}

    def experience(self) -> tuple[int, Any]:
        answer = self.write(self.body())
        self.gave_up()
        return 202, answer

    def gave_up(self) -> None:
        """A failure after the write was applied. That the server gave up waiting is said by whoever waited."""
        if self.double._spend("apply_then_fail"):
            status, code = self.double.applied_failure
            raise (BackendRefused if status == 408 else Refused)(status, code)

    def events(self) -> bytes:
        """A page of the listing, as JSON."""
        double = self.double
        params = dict(self.asked.request.params)
        scope = self.stored(self.check_scope(params.get("scope")))
        if double._spend("state_change_events"):
            raise Refused(503, "AUTHORIZATION_STATE_CHANGED")
        if double._spend("hide_listing"):
            return dumped({"items": [], "has_more": False, "next_cursor": None})
        labels = [each for each in params.get("labels", "").split(",") if each]
        demand(len(labels) <= double.max_listing_labels, 422, "TOO_MANY_LABELS")
        limit = min(whole(params.get("limit"), PAGE_DEFAULT, "INVALID_LIMIT"), double.max_page)
        start = whole(params.get("cursor"), 0, "INVALID_CURSOR")
        page, total = double.log.page(scope, labels, start, limit)
        end = start + limit if double.endless_listing else start + len(page)
        more = double.endless_listing or double.repeat_cursor or end < total
        following = params["cursor"] if double.repeat_cursor and "cursor" in params else str(end)
        items = ",".join(held.json for held in page)
        rest = json.dumps({"has_more": more, "next_cursor": following})
        return f'{{"items":[{items}],{rest[1:]}'.encode()

    def scopes(self) -> list[str]:
        """Stored paths at or below the prefix, as many as the limit lets through."""
        double = self.double
        params = dict(self.asked.request.params)
        if double.scopes_missing:
            raise Refused(404, "NOT_FOUND")
        prefix = self.stored(self.check_scope(params["prefix"])) if "prefix" in params else self.stored("")
        limit = min(whole(params.get("limit"), PAGE_DEFAULT, "INVALID_LIMIT"), SCOPES_MAX)
        paths = set(double.log.scopes())
        for number in range(double.padding_scopes):
            paths.add(self.stored(f"app:tinymemory/agent:pad-{number:04d}/app:learnings"))
        takes = str.startswith if double.string_prefix_scopes else is_below
        return sorted(path for path in paths if takes(path, prefix))[:limit]

    def recall(self) -> tuple[int, Any]:
        double = self.double
        body = closed(self.body(), checks.RECALL, "recall")
        path = self.check_scope(body.get("scope"))
        if double.recall_down:
            raise Refused(500, "INTERNAL")
        view = body.get("view", "holistic")
        demand(view in checks.VIEWS, 422, "INVALID_BODY", "view")
        budgets = closed(body.get("budgets") or {}, checks.BUDGETS, "budgets")
        include = body.get("include")
        demand(include is None or set(include) <= set(checks.LAYERS), 422, "INVALID_BODY", "include")
        temporal = body.get("temporal") or {}
        if "refers_during" in temporal and (double.refers_refused or double.refers_unlisted):
            raise Refused(422, "UNKNOWN_FIELD")
        metadata = closed((body.get("filters") or {}).get("metadata") or {}, checks.METADATA, "filters.metadata")
        labels = metadata.get("labels") or []
        labels = [labels] if isinstance(labels, str) else labels
        limits = closed(budgets.get("per_layer_limits") or {}, checks.LAYERS, "per_layer_limits")
        scope = self.stored(path)
        found: list[Held] = []
        if include is None or "events" in include:
            reach = {"descends": view == "descend", "ascends": view == "holistic"}
            found = double.log.ranked(scope, str(body.get("query") or ""), labels, **reach)
        found = found[: limits.get("events", budgets.get("max_events", len(found)))]
        tokens = budgets.get("max_tokens", double.default_tokens)
        most = HOLISTIC_CHARS if view == "holistic" else None
        layers: dict[str, Any] = {"events": excerpts(found, tokens * double.chars_per_token, most)}
        for layer in include or checks.LAYERS:
            layers.setdefault(layer, [])
        if count := limits.get("beliefs"):
            layers["beliefs"] = double._beliefs.get(scope, [])[:count]
        pack: dict[str, Any] = {"layers": layers, "warnings": [], "diagnostics": {}, "view": view}
        pack["context_block"] = "\n".join(f"[{each.role}] {each.text[:HOLISTIC_CHARS]}" for each in found)
        if not double._spend("packs_without_id"):
            pack["pack_id"] = f"pack_{double._number('pack')}"
            double._packs[pack["pack_id"]] = scope
        return 200, pack

    def answer(self) -> tuple[int, Any]:
        double = self.double
        body = self.answer_body()
        scope = self.stored(self.check_scope(body.get("scope")))
        demand(isinstance(body.get("question"), str) and body["question"], 422, "INVALID_BODY", "question")
        if double._spend("expire_packs"):
            raise Refused(404, "PACK_NOT_FOUND")
        if (pack := body.get("use_pack_id")) is not None:
            demand(pack not in double._dropped, 404, "PACK_NOT_FOUND")
            demand(double._packs.get(pack) == scope, 400, "MISSING_PACK")
        answer = {"answer": double.answer, "citations": [], "diagnostics": {}}
        if double.answer_model is not None:
            answer["diagnostics"] = {"answer_model": double.answer_model}
        return 200, answer

    def answer_body(self) -> dict[str, Any]:
        return closed(self.body(), checks.DIRECT_ANSWER, "answer")

    def forget(self) -> tuple[int, Any]:
        double = self.double
        body = closed(self.body(), checks.FORGET, "forget")
        scope = self.stored(self.check_scope(body.get("scope")))
        cascade = body.get("cascade", "derived_only")
        demand(cascade in ("derived_only", "redact_events"), 400, "INVALID_CASCADE")
        ids = (body.get("selector") or {}).get("memory_ids") or []
        everything = body.get("confirm_all") is True
        demand(not (ids and everything), 400, "AMBIGUOUS_SELECTOR_CONFIRM_ALL")
        demand(ids or everything, 422, "EMPTY_SELECTOR_WITHOUT_CONFIRMATION")
        demand(len(ids) <= double.max_forget_ids, 422, "TOO_MANY_IDS")
        gone = 0
        if double.forget_refuses_stale and not set(ids) <= {each.id for each in double.log.held(scope)}:
            raise Refused(*double.forget_refuses_stale)
        if cascade == "redact_events":
            gone = double.log.drop(scope, ids) if ids else double.log.drop_all(scope)
            built = double._beliefs.get(scope, [])
            double._beliefs[scope] = [each for each in built if ids and set(ids).isdisjoint(each["sources"])]
        demand(gone or not double.forget_gone_is_missing, 404, "NOT_FOUND")
        double._drop_packs()
        if double._spend("forget_then_fail"):
            raise Refused(503, "UNAVAILABLE")
        return 200, {"deleted": {"events": gone}, "requested": len(ids)}

    def erase(self, scope: str) -> str:
        """-> the id of the erasure"""
        self.double.log.erase(scope)
        for path in [path for path in self.double._beliefs if is_below(path, scope)]:
            del self.double._beliefs[path]
        self.double._drop_packs()
        return f"erasure_{self.double._number('erasure')}"


class Direct(Wire):
    def __init__(self, double: CortexDouble, asked: Asked) -> None:
        super().__init__(double, asked, None)

    def reply(self) -> Reply:
        route = self.asked.route
        self.limited()
        if failure := self.double._next_failure(route):
            raise failure
        demand(route, 404, "NOT_FOUND")
        if route == "events":
            return Reply(self.events())
        answers: dict[str, Callable[[], tuple[int, Any]]] = {
            "scopes": lambda: (200, {"items": [{"path": path} for path in self.scopes()]}),
            "health": lambda: (200, {"status": "healthy"}),
        }
        status, body = (answers.get(route) or getattr(self, route))()
        return Reply(dumped(body), status)

    def experience(self) -> tuple[int, Any]:
        self.check_wait()
        return super().experience()

    def event(self) -> tuple[int, Any]:
        wanted = unquote(self.asked.request.path.rsplit("/", 1)[1])
        found = next((each for each in self.double.log if each.id == wanted), None)
        if found is None:
            raise Refused(404, "NOT_FOUND")
        return 200, found.shown()

    def check_wait(self) -> None:
        demand(dict(self.asked.request.params).get("wait", "accepted") in checks.WAITS, 422, "INVALID_WAIT")

    def bulk(self) -> tuple[int, Any]:
        self.check_wait()
        body = closed(self.body(), checks.BULK, "bulk")
        items = body.get("items")
        demand(isinstance(items, list) and 0 < len(items) <= checks.MAX_BULK, 422, "INVALID_BODY", "items")
        demand(body.get("ordering", "independent") in ("independent", "strict_temporal"), 422, "INVALID_BODY")
        results = []
        for index, item in enumerate(items):
            done = self.write(item)
            replayed = done["replayed_from_idempotency"]
            results.append({"index": index, "event_id": done["event_id"], "replayed_from_idempotency": replayed})
        self.gave_up()
        return 200, self.double.bulk_answer or {"accepted": len(results), "results": results}

    def erasures(self) -> tuple[int, Any]:
        double = self.double
        body = closed(self.body(), checks.ERASURE, "erasure")
        demand(isinstance(body.get("scope"), str), 422, "INVALID_BODY", "scope")
        scope = self.check_scope(body["scope"])
        confirmed = body.get("confirm_all") is True and "selector" not in body
        demand(confirmed, 422, "EMPTY_SELECTOR_WITHOUT_CONFIRMATION")
        if double.erasure_running_for:
            erasure = f"erasure_{double._number('erasure')}"
            double._jobs[erasure] = Job(scope, double.erasure_running_for, double.erasure_running_as)
        else:
            ends = double.erasure_ends_as
            erasure = self.erase(scope) if ends == "completed" else f"erasure_{double._number('erasure')}"
            double._jobs[erasure] = Job(scope, 0, ends)
        answer = {"erasure_id": erasure, "status": double._jobs[erasure].status}
        if double.erasure_post_omits_status:
            del answer["status"]
        url = f"/v1/erasures/{erasure}"
        return 202, answer | {"receipt_url": f"{url}/receipt", "verify_url": f"{url}/verify"}

    def erasure(self) -> tuple[int, Any]:
        double = self.double
        erasure = unquote(self.asked.request.path.rsplit("/", 1)[1])
        job = double._jobs.get(erasure)
        if job is None:
            raise Refused(404, "NOT_FOUND")
        if job.polls:
            job.polls -= 1
            if not job.polls:
                job.status = double.erasure_ends_as
                if job.status == "completed":
                    double.log.erase(job.scope)
                    double._drop_packs()
        status = job.status if double.erasure_poll_status is None else double.erasure_poll_status
        return 200, {"erasure_id": erasure} | ({} if double.erasure_poll_omits_status else {"status": status})

    def version(self) -> tuple[int, Any]:
        demand(not self.double.version_down, 500, "INTERNAL")
        return 200, {"version": "0.10.4", "capabilities": [] if self.double.refers_unlisted else ["refers_to_v1"]}

    def register(self) -> tuple[int, Any]:
        if self.double.registration_failure:
            raise Refused(*self.double.registration_failure)
        body = self.body()
        demand(isinstance(body, dict) and isinstance(body.get("path"), str), 422, "INVALID_BODY", "path")
        path = self.check_scope(body["path"])
        checks.registered_types(path, self.double.scope_types)
        demand(path not in self.double.records, 409, "SCOPE_REGISTRATION_EXISTS")
        self.double.records[path] = body
        return 201, body

    def record(self) -> tuple[int, Any]:
        found = self.double.records.get(dict(self.asked.request.params).get("path", ""))
        if found is None:
            raise Refused(404, "NOT_FOUND")
        return 200, found

    def members(self) -> tuple[int, Any]:
        _, found = self.record()
        body = closed(self.body(), ("members",), "members")
        demand(isinstance(body.get("members"), list), 422, "INVALID_BODY", "members")
        found["members"] = body["members"]
        return 200, found

    def build_beliefs(self) -> tuple[int, Any]:
        scope = self.check_scope(self.body().get("scope"))
        events = self.double.held(scope)
        built = [{"id": f"belief_{each.id}", "statement": each.text, "sources": [each.id]} for each in events]
        self.double._beliefs[scope] = built
        return 200, {"built": len(built)}

    def beliefs(self) -> tuple[int, Any]:
        scope = self.check_scope(dict(self.asked.request.params).get("scope"))
        return 200, {"items": self.double._beliefs.get(scope, [])}


class Hosted(Wire):
    def stored(self, path: str) -> str:
        return self.double.rooted(path, self.tenant)

    def check_scope(self, value: Any) -> str:
        return checks.hosted_path(value)

    def reply(self) -> Reply:
        double, route = self.double, self.asked.route
        missing = {"erase_all": double.erase_all_missing, "erasures": double.scoped_erase_missing}
        self.limited()
        if not route or missing.get(route):
            return Reply(dumped({"message": "Not Found"}), 404)
        if route in ("erasures", "erasure"):
            return self.scoped_erase() if route == "erasures" else self.erasure()
        if failure := double._next_failure(route):
            raise failure
        if route in ("experience", "recall", "answer", "forget"):
            self.checked()
            self.claim()
        if route == "experience" and double._spend("claim_then_fail"):
            raise Refused(502, "UPSTREAM")
        if route == "events":
            if sum(name == "labels" for name, _ in self.asked.request.params) > 1:
                raise BackendRefused(400, "VALIDATION_ERROR", "labels must be one parameter")
            return Reply(b'{"success":true,"data":' + self.events() + b"}")
        answers: dict[str, Callable[[], tuple[int, Any]]] = {"scopes": self.listed_scopes, "erase_all": self.erase_all}
        status, data = (answers.get(route) or getattr(self, route))()
        if route == "erase_all" and double.erase_all_answer is not None:
            return Reply(dumped(data), status)
        return Reply(dumped({"success": True, "data": data}), status)

    def checked(self) -> None:
        """What the backend itself demands, before a claim is taken."""
        body = self.body()
        if not isinstance(body, dict):
            raise BackendRefused(400, "VALIDATION_ERROR", "body is not an object")
        self.check_scope(body.get("scope"))
        if self.asked.route == "answer":
            self.answer_body()

    def claim(self) -> None:
        key = self.asked.headers.get("idempotency-key")
        if key is None:
            return
        if not key or len(key) > checks.MAX_CLAIM:
            raise BackendRefused(400, "VALIDATION_ERROR", "Idempotency-Key")
        claim = (self.tenant or "", key)
        demand(claim not in self.double._claims, 409, "CONFLICT", "this Idempotency-Key was used")
        self.double._claims.add(claim)

    def answer_body(self) -> dict[str, Any]:
        body = self.body()
        unknown = sorted(set(body) - checks.ANSWER)
        if unknown or ("answer_instructions" in body and body["answer_instructions"] is None):
            raise BackendRefused(400, "VALIDATION_ERROR", f"answer: {', '.join(unknown) or 'answer_instructions'}")
        return dict(body)

    def listed_scopes(self) -> tuple[int, Any]:
        paths = self.scopes()
        root = self.stored("")
        if self.double.strips_tenant and root:
            paths = [path.removeprefix(root + "/") for path in paths]
        return 200, {"scopes": paths}

    def erase_all(self) -> tuple[int, Any]:
        if self.double.erase_all_answer is not None:
            return self.double.erase_all_answer
        paths = [path for path in self.double.log.scopes() if is_below(path, self.stored(""))]
        for path in sorted(paths, key=depth, reverse=True):
            self.erase(path)
        return 200, {"erased": True, "scopes": len(paths)}

    def erasure(self) -> Reply:
        erasure = unquote(self.asked.request.path.rsplit("/", 1)[1])
        if erasure not in self.double._jobs:
            return Reply(dumped({"error_code": "NOT_FOUND"}), 404)
        return Reply(dumped({"erasure_id": erasure, "status": self.double._jobs[erasure].status}))

    def scoped_erase(self) -> Reply:
        """In the words of the memory API, which are not wrapped."""
        double = self.double
        if failure := double._next_failure("erasures"):
            return Reply(dumped({"error_code": failure.code}), failure.status)
        if double.scoped_erase_answer is not None:
            status, body = double.scoped_erase_answer
            return Reply(dumped(body), status)
        try:
            body = self.body()
        except Refused:
            body = None
        if not isinstance(body, dict) or set(body) - {"scope", "audit_note"}:
            return Reply(dumped({"error_code": "UNKNOWN_FIELD"}), 400)
        scope = body.get("scope")
        if not isinstance(scope, str):
            return Reply(dumped({"error_code": "INVALID_SCOPE"}), 400)
        if scope in ("", "/"):
            return Reply(dumped({"error_code": "ROOT_ERASURE_REFUSED"}), 422)
        self.check_scope(scope)
        self.claim()
        if double._spend("erasure_incomplete"):
            incomplete = {"erased": False, "error_code": "ERASURE_INCOMPLETE", "retriable": True}
            return Reply(dumped(incomplete), 502)
        path = self.stored(scope)
        ids = [self.erase(path)] if double.log.holds(path) else []
        double._jobs |= {erasure: Job(path, 0, "completed") for erasure in ids}
        return Reply(dumped({"erased": True, "scope": scope, "scopes": len(ids), "erasure_ids": ids}))


def excerpts(found: Collection[Held], chars: int, most: int | None) -> list[dict[str, Any]]:
    """Events in order while the budget lasts; one that is longer than what is left of it is cut there."""
    shown = []
    for held in found:
        room = chars if most is None else min(chars, most)
        if room <= 0:
            break
        event = held.shown()
        if len(held.text) > room:
            cut = {"_partial": True, "_partial_reason": "budget_excerpt", "_original_bytes": len(held.text.encode())}
            event["content"] = {**held.content, "text": held.text[:room], **cut}
        shown.append(event)
        chars -= min(len(held.text), room)
    return shown


def dumped(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def whole(text: str | None, default: int, code: str) -> int:
    if text is None:
        return default
    demand(text.isascii() and text.isdigit(), 422, code)
    return int(text)


def depth(path: str) -> int:
    return path.count("/")
