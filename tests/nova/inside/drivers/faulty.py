# SPDX-License-Identifier: Apache-2.0
"""Simulated hypervisor whose builds fail or take long if the server's metadata says so."""

import time
from pathlib import Path
from typing import Any

import nova.conf
from nova import exception
from nova.virt.simulated import SimulatedDriver

ATTEMPTS = "attempts"  # next to the states of all hosts


class FaultyDriver(SimulatedDriver):
    """Driver that reads a server's metadata: ``failed_builds`` and ``failed_checks`` (numbers), ``build_seconds``.

    As many first builds, and first checks for live migration, of the server fail on any host. The file
    ATTEMPTS/SERVER.KEY lists these hosts, one per line.
    """

    def spawn(self, context: Any, instance: Any, *args: Any, **options: Any) -> None:
        """Build a guest. Raises ComputeResourcesUnavailable, which makes Nova try the next host."""
        if self._is_to_fail(instance, "failed_builds"):
            raise exception.ComputeResourcesUnavailable(reason="the metadata of the server")
        time.sleep(float(instance.metadata.get("build_seconds", 0)))
        super().spawn(context, instance, *args, **options)

    def check_can_live_migrate_destination(self, context: Any, instance: Any, *args: Any, **options: Any) -> Any:
        """Accept a guest. Raises MigrationPreCheckError, which makes Nova try the next host."""
        if self._is_to_fail(instance, "failed_checks"):
            raise exception.MigrationPreCheckError(reason="the metadata of the server")
        return super().check_can_live_migrate_destination(context, instance, *args, **options)

    def _is_to_fail(self, instance: Any, key: str) -> bool:
        failures = int(instance.metadata.get(key, 0))
        if not failures:
            return False
        path = Path(nova.conf.CONF.state_path).parent / ATTEMPTS / f"{instance.uuid}.{key}"
        path.parent.mkdir(exist_ok=True)
        with path.open("a+") as attempts:
            attempts.write(f"{self._host}\n")
            attempts.seek(0)
            return len(attempts.readlines()) <= failures
