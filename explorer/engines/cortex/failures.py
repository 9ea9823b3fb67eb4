"""What an answer that is not good means, or one that never came, and what may be said of it.

A message has a head of this program's own words, then after a dash the server's, cut short and without any secret.

Source: cortex, "Status and error mapping" and "Messages and secrets".
"""

from __future__ import annotations

import json
import re
import socket
import ssl
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import unquote

from explorer.contract import (
    Conflict,
    EngineFailure,
    InvalidRequest,
    NotFound,
    Refusal,
    TinyMemoryError,
    Unauthorized,
    Unavailable,
)
from explorer.contract.errors import Fault

_MAX_SAID = 300  # characters of the server's own words
_MAX_CODE = 64
_DASH = " — "
_CODE = re.compile(rf"\[([A-Z0-9_]{{1,{_MAX_CODE}}})\] ")
_NO_CODE = re.compile(r"[^A-Za-z0-9_]+")

STATE_CHANGED = "AUTHORIZATION_STATE_CHANGED"
_INSUFFICIENT_CREDITS = "USER_INSUFFICIENT_CREDITS"
_CODES = {401: "UNAUTHORIZED", 403: "UNAUTHORIZED", 402: _INSUFFICIENT_CREDITS, 429: "RATE_LIMITED"}

_ERRORS: dict[int, type[TinyMemoryError]] = {
    **dict.fromkeys((401, 403), Unauthorized),
    404: NotFound,
    **dict.fromkeys((400, 413, 422), InvalidRequest),
    409: Conflict,
    **dict.fromkeys((408, 429, 500, 502, 503, 504), Unavailable),
}

_SAID_IN = ("error", "message", "detail")
_CAPABILITIES = ("capability", "required_capability", "missing_capability", "capabilities", "missing_capabilities")
_CAPABILITY = re.compile(r"[\w.:*/-]{1,64}", re.ASCII)  # its name is told in this program's own words: no text fits

_FAULTS: Mapping[str, tuple[Fault, str]] = {
    "timeout": ("timeout", "was not answered in time (timeout); try again"),
    "DNS": ("dns", "was not sent: the name of the server was not found (DNS); check the endpoint and the network"),
    "TLS": ("tls", "was not sent: no secure connection was agreed on (TLS); check the server's certificate"),
    "connect": (
        "connect",
        "was not sent: the server cannot be reached (connect); check that it runs, and the endpoint",
    ),
    "other": ("cut", "was not answered: the connection broke (other); try again"),
}
_TLS = ("tls", "handshake", "certificate", "fatal alert", "invalid peer", "unknown issuer")
_DNS = ("dns", "name or service", "failed to lookup", "name resolution", "getaddrinfo")


def error_code(error: TinyMemoryError) -> str | None:
    """The code that the server gave a failure; None for what was refused here, and on the Direct wire for all but one
    that is tried again.
    """
    match = _CODE.match(error.text)
    return match[1] if match else None


def is_insufficient_credits(error: TinyMemoryError) -> bool:
    """Whether the account behind the hosted wire has no credits left."""
    return isinstance(error, EngineFailure) and error_code(error) == _INSUFFICIENT_CREDITS


def without_words(error: TinyMemoryError) -> str:
    """The error's text with the server's own words withheld."""
    head, dash, _ = error.text.partition(_DASH)
    return f"{head}{dash}(the server's words are withheld)" if dash else head


def refusal(
    head: str, status: int, body: bytes, *, hosted: bool, secrets: Sequence[str], retry_after_s: float | None = None
) -> TinyMemoryError:
    """The error for an answer of that status; `head` names what was asked and where, and ends in the status.

    `secrets` are kept out of what the server said.
    """
    value = _json(body)
    said = _clean(_words(value, body, hosted=hosted), secrets)
    code = _code(value, status, hosted=hosted, secrets=secrets)
    kind = _ERRORS.get(status, EngineFailure)
    if hosted and status == 400 and code == "CONFLICT":  # as an older backend says it
        kind = Conflict
    text = f"{f'[{code}] ' * bool(code)}{head}{_hint(status, code, value, secrets)}{f'{_DASH}{said}' * bool(said)}"
    error = Unavailable(text, retry_after_s=retry_after_s) if kind is Unavailable else kind(text)
    capability = _clean(_capability(value), secrets) if status == 403 else ""
    has_words = isinstance(value, dict) and any(_text(value.get(name)) for name in (*_SAID_IN, "error_code"))
    error.refusal = Refusal(status, said=said if has_words else "", capability=capability)
    return error


def alien(text: str) -> EngineFailure:
    """The error for an answer that is none of CortexDB's; `text` quotes nothing of it."""
    error = EngineFailure(text)
    error.refusal = Refusal(fault="alien")
    return error


def _code(value: Any, status: int, *, hosted: bool, secrets: Sequence[str]) -> str:
    if not hosted:  # its codes are part of its words; only this one decides anything here
        found = value.get("error_code") if isinstance(value, dict) else None
        return STATE_CHANGED if found == STATE_CHANGED else ""
    for name in ("errorCode", "error_code"):
        found = value.get(name) if isinstance(value, dict) else None
        if isinstance(found, str) and (code := _as_code(found)) and not any(_as_code(one) in code for one in secrets):
            return code[:_MAX_CODE]
    return _CODES.get(status, f"HTTP_{status}")


def _as_code(text: str) -> str:
    return _NO_CODE.sub("", text).upper()


def _hint(status: int, code: str, value: Any, secrets: Sequence[str]) -> str:
    """What the person may do about it."""
    if 300 <= status < 400:
        return ": it has moved, which is not followed; set its new address"
    if status == 401:
        return ": the key was refused; check it, or sign in again"
    if status == 403:
        if capability := _clean(_capability(value), secrets):
            return f": the key lacks the capability `{capability}`; ask for a key that has it"
        return ": the key may not do this; check what it may do"
    if code == _INSUFFICIENT_CREDITS:
        return ": the account has no credits left; add some"
    if status == 429:
        return ": too many requests; try again later"
    return ""


def _capability(value: Any) -> str:
    """The capability that the server says is missing, wherever in its answer it says so."""
    left = [value]  # not by recursion: an answer may be nested deeper than Python's own stack allows
    while left:
        part = left.pop(0)
        if not isinstance(part, dict):
            continue
        for name in _CAPABILITIES:
            found = part.get(name)
            all_found = found if isinstance(found, list) else [found]
            names = [one for one in all_found if isinstance(one, str) and _CAPABILITY.fullmatch(one)]
            if names:
                return ", ".join(names)
        left += [part.get(name) for name in ("details", "detail", "error", "data")]
    return ""


def _json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _words(value: Any, body: bytes, *, hosted: bool) -> str:
    """The server's own words, of any form."""
    if not isinstance(value, dict):
        return _raw(value, body)
    said = next(filter(None, (_text(value.get(name)) for name in _SAID_IN)), "")
    code = value.get("error_code")
    if not hosted and isinstance(code, str) and code:
        return f"{code}: {said}" if said else code
    return said or _raw(value, body)


def _raw(value: Any, body: bytes) -> str:
    """All of an answer. JSON is written anew: as it came, any character of a secret may be escaped."""
    return body.decode("utf-8", "replace") if value is None else _written(value)


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return _written(value)
    return value if isinstance(value, str) else ""


def _written(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except RecursionError:
        return ""


def _clean(text: str, secrets: Sequence[str]) -> str:
    """`text` on one line, without secrets, cut short."""
    for secret in secrets:
        for form in (secret, json.dumps(secret)[1:-1]):
            text = text.replace(form, "(key)")
    text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    joined = "".join(unquote(text).split())
    if any("".join(secret.split()) in joined for secret in secrets if secret.strip()):
        return "(key)"  # spelled in some other way
    return f"{text[:_MAX_SAID]}…" if len(text) > _MAX_SAID else text


def fault_class(error: BaseException) -> str:
    """Which part of a connection failed, by name: timeout, DNS, TLS, connect or other."""
    import httpx

    chain = list(_chain(error))
    text = "\n".join(str(one) for one in chain).lower()
    if any(isinstance(one, (TimeoutError, httpx.TimeoutException)) for one in chain):
        return "timeout"
    if any(isinstance(one, socket.gaierror) for one in chain) or any(sign in text for sign in _DNS):
        return "DNS"
    if any(isinstance(one, ssl.SSLError) for one in chain) or any(sign in text for sign in _TLS):
        return "TLS"
    if any(isinstance(one, (httpx.ConnectError, httpx.ProxyError)) for one in chain):
        return "connect"
    return "other"


def broken(head: str, error: BaseException) -> Unavailable:
    """The error for a request that no answer came to; `head` names what was asked and where."""
    name = fault_class(error)
    fault, words = _FAULTS[name]
    if name == "TLS" and any(_is_untrusted(one) for one in _chain(error)):
        fault = "certificate"
    made = Unavailable(f"{head} {words}")
    made.refusal = Refusal(fault=fault)
    return made


def _is_untrusted(error: BaseException) -> bool:
    return isinstance(error, ssl.SSLCertVerificationError) or "certificate verify failed" in str(error).lower()


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__
