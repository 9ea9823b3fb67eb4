"""Building beliefs from what is stored: asked for on the Direct wire, left to the backend's schedule on the hosted one.

Source: cortex, "Routes", "Descriptors".
"""

from __future__ import annotations

from functools import partial

from explorer.contract import ConsolidateReceipt, ConsolidateRequest
from explorer.engines.cortex.walking import Site, Walk, in_order


async def consolidate(walk: Walk, req: ConsolidateRequest) -> ConsolidateReceipt:
    req.check()
    if walk.wire.hosted:
        return ConsolidateReceipt(status="scheduled", scopes=0)
    sites = [site for site in await walk.sites(req.reach, req.kinds) if not site.is_retired]
    built = await in_order([partial(_build, walk, site) for site in sites])
    return ConsolidateReceipt(status="completed", scopes=len(sites), built=sum(built))


async def _build(walk: Walk, site: Site) -> int:
    said = await walk.wire.transport.ask("POST", "v1/beliefs/build", body={"scope": site.path})
    built = said.get("built") if isinstance(said, dict) else None
    return max(0, built) if isinstance(built, int) else 0
