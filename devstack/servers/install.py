# SPDX-License-Identifier: Apache-2.0
"""Install missing Debian packages, and keep the system instances that they bring from running.

Run as a program it installs the packages named: `python3 -m devstack.servers.install rabbitmq-server`. It needs
nothing but the standard library, so it works before any virtual environment exists.
"""

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from devstack.servers.errors import BinaryMissing, ServerError
from devstack.servers.memcached import memcached_binary
from devstack.servers.postgresql import postgresql_programs
from devstack.servers.rabbitmq_binary import SYSTEM_PATH, rabbit_programs
from devstack.servers.redis_binary import Flavour, redis_binary
from devstack.servers.zookeeper import zookeeper_classes

APT = ["apt-get", "-o", "DPkg::Lock::Timeout=120", "-o", "Dpkg::Use-Pty=0", "-q"]
APT_SECONDS = 900
POLICY = Path("/usr/sbin/policy-rc.d")
DENY_STARTS = (
    "#!/bin/sh\n# Placed while gantt's devstack installs packages: no service may start from that.\nexit 101\n"
)
UNIT_LINKS = Path("/etc/systemd/system")


def _on_path(program: str) -> Callable[[], bool]:
    return lambda: shutil.which(program, path=SYSTEM_PATH) is not None


def _found(look: Callable[[], object]) -> bool:
    try:
        look()
    except BinaryMissing:
        return False
    return True


# Each package with the check that its programs are there, wherever they came from.
PRESENT: Mapping[str, Callable[[], bool]] = {
    "rabbitmq-server": lambda: _found(rabbit_programs),
    "redis-server": lambda: _found(lambda: redis_binary(Flavour.SYSTEM)),
    "postgresql": lambda: _found(postgresql_programs),
    "memcached": lambda: _found(memcached_binary),
    "zookeeper": lambda: _found(zookeeper_classes),
    "systemd-container": _on_path("systemd-nspawn"),
    "debootstrap": _on_path("debootstrap"),
}
SERVERS = ("rabbitmq-server", "redis-server")


def missing_packages(packages: Sequence[str] = SERVERS) -> list[str]:
    """Those of the packages whose programs are not on this machine. Raises ServerError on an unknown one."""
    unknown = [package for package in packages if package not in PRESENT]
    if unknown:
        raise ServerError(f"Nothing is known of {', '.join(unknown)}; known are {', '.join(PRESENT)}.")
    return [package for package in packages if not PRESENT[package]()]


def install_missing(packages: Sequence[str] = SERVERS) -> list[str]:
    """Install those of the packages that are missing, and return them.

    Services that come with them are neither started nor enabled; what was on the machine before is not touched.
    Raises ServerError when the caller is not root, apt-get is absent, or it fails (no network, for example).
    """
    missing = missing_packages(packages)
    if not missing:
        return []
    command = f"apt-get install {' '.join(missing)}"
    if shutil.which("apt-get", path=SYSTEM_PATH) is None:
        raise ServerError(f"This machine has no apt-get; install what gives {', '.join(missing)} by hand.")
    if os.geteuid() != 0:
        raise ServerError(f"{', '.join(missing)} must be installed by root: run `{command}`, then call again.")
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
        done = subprocess.run(  # noqa: S603 - package names come from PRESENT
            [*APT, *arguments],
            env={**environment, **proxies},
            capture_output=True,
            text=True,
            timeout=APT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ServerError(f"apt-get {arguments[0]} did not end within {APT_SECONDS} s; is the network up?") from None
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip()).splitlines()
        raise ServerError(
            f"`apt-get {' '.join(arguments)}` failed: {said[-1] if said else 'it said nothing'}. "
            "Is the network up, and are the package sources right?"
        )


@contextlib.contextmanager
def _no_service_starts() -> Iterator[None]:
    """Have Debian's maintainer scripts start nothing, and put the machine's own policy back afterwards."""
    aside = POLICY.with_name(f"{POLICY.name}.before-gantt")
    if POLICY.exists() and POLICY.read_text() != DENY_STARTS:
        POLICY.replace(aside)
    POLICY.write_text(DENY_STARTS)
    POLICY.chmod(0o755)
    try:
        yield
    finally:
        if aside.exists():
            aside.replace(POLICY)
        else:
            POLICY.unlink(missing_ok=True)


def _enabled_units() -> set[str]:
    """Services and sockets that a boot would start."""
    links = UNIT_LINKS.glob("*.wants/*")
    return {link.name for link in links if link.suffix in (".service", ".socket")}


def _disable(units: set[str]) -> None:
    if units and shutil.which("systemctl", path=SYSTEM_PATH):
        subprocess.run(  # noqa: S603 - unit names are those that the installation added
            ["/usr/bin/systemctl", "--no-reload", "disable", *sorted(units)], capture_output=True, check=False
        )


def main(arguments: Sequence[str]) -> int:
    """Install the named packages (by default the servers) where missing; 1 and a sentence when that fails."""
    try:
        done = install_missing(arguments or SERVERS)
    except ServerError as why:
        print(why, file=sys.stderr)
        return 1
    if done:
        print(f"Installed {', '.join(done)}; no service of theirs was started.")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
