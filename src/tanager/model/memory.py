"""How much memory this process may have: that of the machine, of its container, or of a limit of its own."""

from __future__ import annotations

import os
from pathlib import Path

# Where the kernel tells the limit of a container; "max" and very large numbers mean none.
_CONTAINER_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))


def allowed_memory() -> int | None:
    """Bytes that this process may have, whichever limit is least; None if the system does not tell."""
    known = [limit for limit in (_physical_memory(), _container_limit(), _own_limit()) if limit is not None]
    return min(known, default=None)


def _physical_memory() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def _container_limit() -> int | None:
    for path in _CONTAINER_LIMITS:
        try:
            return int(path.read_text())
        except (OSError, ValueError):
            continue
    return None


def _own_limit() -> int | None:
    """What is left of the limit on the address space (``ulimit -v``)."""
    try:
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        if limit == resource.RLIM_INFINITY:
            return None
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    except (ImportError, OSError, ValueError):
        return None
    return max(0, limit - used)
