# SPDX-License-Identifier: Apache-2.0
"""Installer of missing Debian packages; standard library only, because no virtual environment exists yet."""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from devstack.servers.errors import BinaryMissing, ServerError
from devstack.servers.mariadb import mariadb_binary
from devstack.servers.rabbitmq_binary import rabbit_programs
from devstack.servers.redis_binary import Flavour, redis_binary
from devstack.servers.server import SYSTEM_PATH

APT = ["apt-get", "-o", "DPkg::Lock::Timeout=120", "-o", "Dpkg::Use-Pty=0", "-q"]
APT_SECONDS = 900
POLICY = Path("/usr/sbin/policy-rc.d")
DENY_STARTS = (
    "#!/bin/sh\n# Placed while gantt's devstack installs packages: no service may start from that.\nexit 101\n"
)
UNIT_LINKS = Path("/etc/systemd/system")


def _runs(find_program: Callable[[], object]) -> bool:
    try:
        find_program()
    except BinaryMissing:
        return False
    return True


Checks = Mapping[str, Callable[[], bool]]

# {package: check whether its programs are present, from any source}
PRESENCE_CHECKS: Checks = {
    "rabbitmq-server": lambda: _runs(rabbit_programs),
    "redis-server": lambda: _runs(lambda: redis_binary(Flavour.SYSTEM)),
    "mariadb-server-core": lambda: _runs(mariadb_binary),
}
SERVERS = ("rabbitmq-server", "redis-server")


def missing_packages(packages: Iterable[str] = SERVERS, checks: Checks = PRESENCE_CHECKS) -> list[str]:
    return [package for package in packages if not checks[package]()]


def install_missing(packages: Iterable[str] = SERVERS, checks: Checks = PRESENCE_CHECKS) -> list[str]:
    """Install missing packages, without starting services, and return them. Raises ServerError."""
    missing = missing_packages(packages, checks)
    if not missing:
        return []
    command = f"apt-get install {' '.join(missing)}"
    if shutil.which("apt-get", path=SYSTEM_PATH) is None:
        raise ServerError(f"This machine has no apt-get; install the equivalent of {', '.join(missing)} by hand.")
    if os.geteuid() != 0:
        raise ServerError(f"{', '.join(missing)} must be installed by root: run `{command}`, then retry.")
    enabled_before = _enabled_units()
    with _no_service_starts():
        _apt("update")
        _apt("install", "--yes", "--no-install-recommends", *missing)
    _disable(_enabled_units() - enabled_before)
    return missing


def _apt(*arguments: str) -> None:
    environment = {"PATH": SYSTEM_PATH, "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}
    proxies = {name: value for name, value in os.environ.items() if name.lower().endswith("_proxy")}
    try:
        completed = subprocess.run(  # noqa: S603 - package names come from the checks
            [*APT, *arguments],
            env={**environment, **proxies},
            capture_output=True,
            text=True,
            timeout=APT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ServerError(f"apt-get {arguments[0]} did not end within {APT_SECONDS} s; is the network up?") from None
    if completed.returncode:
        output = (completed.stderr.strip() or completed.stdout.strip()).splitlines()
        raise ServerError(
            f"`apt-get {' '.join(arguments)}` failed: {output[-1] if output else 'it printed nothing'}. "
            "Is the network up, and are the package sources right?"
        )


@contextlib.contextmanager
def _no_service_starts() -> Iterator[None]:
    """Prevent package scripts from starting services, then restore the machine's own policy."""
    backup = POLICY.with_name(f"{POLICY.name}.before-gantt")
    if POLICY.exists() and POLICY.read_text() != DENY_STARTS:
        POLICY.replace(backup)
    POLICY.write_text(DENY_STARTS)
    POLICY.chmod(0o755)
    try:
        yield
    finally:
        if backup.exists():
            backup.replace(POLICY)
        else:
            POLICY.unlink(missing_ok=True)


def _enabled_units() -> set[str]:
    links = UNIT_LINKS.glob("*.wants/*")
    return {link.name for link in links if link.suffix in (".service", ".socket")}


def _disable(units: set[str]) -> None:
    if units and shutil.which("systemctl", path=SYSTEM_PATH):
        subprocess.run(  # noqa: S603 - unit names come from the installation
            ["/usr/bin/systemctl", "--no-reload", "disable", *sorted(units)], capture_output=True, check=False
        )
