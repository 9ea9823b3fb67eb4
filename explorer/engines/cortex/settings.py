"""What the two wires of CortexDB are opened with: the settings of any engine, checked and in their own terms.

Source: cortex, "Headers", "Layout v3", "Endpoint security" and "Registry and config".
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from explorer.contract import ConfigError, Consolidation
from explorer.contract.model import trimmed
from explorer.engines.config import EngineSettings
from explorer.engines.cortex import DIRECT, HOSTED
from explorer.engines.cortex.scopes import Layout, checked_root
from explorer.engines.json_endpoint import place_of
from explorer.engines.registry import check_encrypted, check_endpoint

# What only the engine itself may say, in lower case.
_OWN_HEADERS = frozenset(
    {
        "authorization",
        "proxy-authorization",
        "cookie",
        "host",
        "content-length",
        "idempotency-key",
        "x-cortex-actor",
    }
)
_HEADER_NAME = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_HEADER_VALUE = re.compile(r"[\t -~]*")


@dataclass(frozen=True, slots=True)
class CortexSettings:
    """Checked settings of one engine. `headers` may hold a proxy's secret, so that no print shows them."""

    endpoint: str
    headers: dict[str, str] = field(repr=False)
    layout: Layout
    retired: Layout | None
    """The layout of an older root, read and forgotten but never written."""
    owner: str | None
    """The actor to register the root for; None where nothing is registered."""
    observes_actor: bool
    consolidation: Consolidation

    @classmethod
    def of(cls, settings: EngineSettings, *, hosted: bool) -> CortexSettings:
        """Raises ConfigError, in the order of the sheet, for what this wire cannot use."""
        descriptor = HOSTED if hosted else DIRECT
        endpoint = settings.endpoint_or(descriptor.default_endpoint)
        assert endpoint is not None  # both have a default
        check_endpoint(descriptor.id, endpoint)
        check_encrypted(descriptor.id, endpoint)
        headers = _headers(settings.headers or {})
        root = None if settings.scope_root is None else checked_root(settings.scope_root)
        owner = _owner(settings.scope_owner) if root is not None else None
        if settings.tenant_root:
            if not hosted:
                raise ConfigError(
                    "only the TinyHumans wire has a tenant root; set a scope root, or connect to TinyHumans"
                )
            if root is not None:
                raise ConfigError(
                    "the scope root and the tenant root name two places for the same items; set one of them"
                )
            root = ""
        return cls(
            endpoint=endpoint,
            headers=headers,
            layout=Layout(root, hosted),
            retired=_retired(settings.retired_scope_root, root, hosted=hosted),
            owner=None if hosted else owner,
            observes_actor=not hosted and settings.observed_actor is True,
            consolidation=_consolidation(settings.consolidation, endpoint, hosted=hosted),
        )


def _headers(headers: dict[str, str]) -> dict[str, str]:
    for name, value in headers.items():
        if not _HEADER_NAME.fullmatch(name):
            raise ConfigError(f"`{name}` is no name of an HTTP header; use letters, digits and hyphens")
        if name.lower() in _OWN_HEADERS:
            raise ConfigError(f"the header `{name}` is the engine's own to send; take it out of the settings")
        if not _HEADER_VALUE.fullmatch(value):
            raise ConfigError(f"the value of the header `{name}` holds characters that no header may hold")
    return dict(headers)


def _owner(owner: str | None) -> str | None:
    if owner is None:
        return None
    if not trimmed(owner):
        raise ConfigError("the scope owner is blank; name an actor like user:42, or leave it out")
    return trimmed(owner)


def _retired(text: str | None, root: str | None, *, hosted: bool) -> Layout | None:
    if text is None:
        return None
    if root is None:
        raise ConfigError("a retired scope root goes with a new one; set the scope root too")
    retired = checked_root(text, "retired scope root")
    if retired == root:
        raise ConfigError(f"the retired scope root `{retired}` is the scope root itself; leave one of them out")
    return Layout(retired, hosted)


def _consolidation(wanted: str | None, endpoint: str, *, hosted: bool) -> Consolidation:
    if hosted:
        served = [Consolidation.SCHEDULED]
    elif place_of(endpoint) == place_of(DIRECT.default_endpoint or ""):
        served = [Consolidation.AUTOMATIC, Consolidation.ON_DEMAND]
    else:
        served = [Consolidation.ON_DEMAND, Consolidation.AUTOMATIC]
    if wanted is None:
        return served[0]
    for one in served:
        if one.value == wanted:
            return one
    known = " or ".join(f"`{one}`" for one in sorted(served))
    raise ConfigError(f"the consolidation `{wanted}` is none that this server does; choose {known}, or leave it out")
