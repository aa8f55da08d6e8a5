# SPDX-License-Identifier: Apache-2.0
"""Selection of eventlet or native threads for a worker, before it imports its service."""

import sys
import warnings

# Modules that fix their behaviour on import (patched standard library, metrics folder): import them after the fork.
WORKER_ONLY_MODULES = ("eventlet", "prometheus_client", "oslo_messaging")


def require_no_worker_modules() -> None:
    """Raise RuntimeError if the master imported one of WORKER_ONLY_MODULES, which would break workers silently."""
    imported = [name for name in WORKER_ONLY_MODULES if name in sys.modules]
    if imported:
        raise RuntimeError(
            f"{', '.join(imported)} was imported before the workers were forked: "
            "import it in the service's module, not in its cmd or conf"
        )


def configure_executor(executor: str) -> None:
    """Patch the process for ``executor``. The imports are local, because the master imports this module."""
    # Known (docs/adr); operators cannot act on it.
    warnings.filterwarnings("ignore", message=r"\s*Eventlet is deprecated")
    from rpcapi.messaging import green  # noqa: PLC0415

    green.patch_for(executor)
    # oslo.messaging imports oslo.service, which assumes eventlet unless initialized first.
    from oslo_service import backend  # noqa: PLC0415

    backend.init_backend(backend.BackendType(executor))
