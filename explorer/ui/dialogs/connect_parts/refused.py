"""Why a server could not be used, in one sentence, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

from explorer import text
from explorer.contract import EngineDescriptor, EngineFailure, MemoryEngine, TinyMemoryError, Unauthorized, Unavailable
from explorer.engines.json_endpoint import place_of
from explorer.i18n import tr
from explorer.ui.engine_words import engine_label

_MAX_SAID = 300  # characters of a server's own words
_REDIRECTS = range(300, 400)


@dataclass(frozen=True, slots=True)
class Server:
    """What was asked."""

    engine: EngineDescriptor
    endpoint: str
    zone: tzinfo

    @property
    def place(self) -> str:
        """Its address for a sentence: host, port and path."""
        return text.inline(place_of(self.endpoint), 120)

    @property
    def host(self) -> str:
        return text.inline(place_of(self.endpoint).partition("/")[0], 120)


def pause_end(error: TinyMemoryError, engine: MemoryEngine | None = None) -> datetime | None:
    """Until when a server wants not to be asked; None where it does not say."""
    waiting = engine.waiting() if engine is not None else None
    if waiting is not None:
        return waiting.until
    if isinstance(error, Unavailable) and error.retry_after_s is not None:
        return datetime.now(UTC) + timedelta(seconds=error.retry_after_s)
    return None


def explained(error: TinyMemoryError, server: Server, until: datetime | None = None) -> tuple[str, str]:
    """A sentence for a person, and the error's own text where that says more; empty where it is the sentence."""
    words = _words(error, server, until)
    own = text.sentence(error.text)
    return (words, own) if words else (own, "")


def _words(error: TinyMemoryError, server: Server, until: datetime | None) -> str:
    refusal = error.refusal
    if refusal is None:
        return ""
    place, host, name = server.place, server.host, engine_label(server.engine)
    match refusal.fault:
        case "dns":
            return tr("No server is known by the name of {host}. Check the address, and the network.", host=host)
        case "connect":
            return tr("Nothing answers at {host}. Check the address, and that the server runs.", host=host)
        case "certificate":
            return tr(
                "The certificate of {host} is not trusted, so the key was not sent. Check the address; "
                "where the certificate is your own, name its file in SSL_CERT_FILE.",
                host=host,
            )
        case "tls":
            return tr("{host} takes no encrypted connection, so the key was not sent. Check the address.", host=host)
        case "timeout":
            return tr("{host} did not answer in time. Check the address, or test again later.", host=host)
        case "cut":
            return tr("The connection to {host} broke off. Test again.", host=host)
        case "alien":
            return _no_such_server(place, name)
    said = text.inline(refusal.capability) or text.in_quotes(text.inline(refusal.said, _MAX_SAID))
    match refusal.status:
        case 401:
            return tr("The key was refused. Enter a new key, and test again.")
        case 402:
            return tr("The account has no credits left. Add some, and test again.")
        case 403 if refusal.said or refusal.capability:
            return tr(
                "The key is known, but it may not do this: {said}. Ask whoever runs the server to allow it, "
                "or enter another key.",
                said=said,
            )
        case 403:
            return tr(
                "The key is known, but it may not read here. Ask whoever runs the server to allow it, "
                "or enter another key."
            )
        case 404 | 405:
            return _no_such_server(place, name)
        case 429 if until is not None:
            time = f"{until.astimezone(server.zone):%H:%M:%S}"
            return tr(
                "{host} was asked too often and wants a pause until {time}. Test again then.", host=host, time=time
            )
        case 429:
            return tr("{host} was asked too often. Test again in a minute.", host=host)
        case status if status in _REDIRECTS:
            return tr("{place} has moved elsewhere, which is not followed. Enter its new address.", place=place)
    if isinstance(error, Unavailable):
        return tr("{host} cannot answer now ({status}). Test again later.", host=host, status=refusal.status)
    if isinstance(error, Unauthorized):
        return tr("The key was refused. Enter a new key, and test again.")
    if isinstance(error, EngineFailure) and refusal.status is not None:
        return tr("{host} fails ({status}). Tell whoever runs it.", host=host, status=refusal.status)
    return ""


def _no_such_server(place: str, name: str) -> str:
    return tr(
        "What answers at {place} is not {name}. Check the address; it may need a path after the name of the server.",
        place=place,
        name=name,
    )
