# SPDX-License-Identifier: Apache-2.0
"""A Debian root folder with systemd, Redis and gantt's dependencies: built once, cached, booted read-only.

Environment: GANTT_SYSTEMD_CACHE, the cache folder (default: gantt/systemd in the user's cache folder);
GANTT_DEBIAN_MIRROR, where debootstrap fetches packages.
"""

import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

REPOSITORY = Path(__file__).parents[3]
PACKAGE_FOLDERS = ("rpcapi", "scheduler_svc", "conductor", "compute_agent", "devstack")
SOURCES = (*PACKAGE_FOLDERS, "tests", "setup.py", "pyproject.toml", "README.md", "LICENSE")

RELEASE = "bookworm"
MIRROR = os.environ.get("GANTT_DEBIAN_MIRROR", "http://deb.debian.org/debian")
PACKAGES = ("systemd", "systemd-sysv", "procps", "python3", "python3-venv", "redis-server")
# In apt's cache, not installed: machines have no network, and those of the installation guides install them.
ARCHIVES = ("man-db", "openssh-server", "openssl", "rabbitmq-server", "redis-sentinel")
EXTRAS = "scheduler,conductor,compute,placement,dashboard"
SETUPTOOLS = "setuptools>=68"

# Settings of the host for pip inside the root: access to the package registry.
PIP_FILES = ("/etc/ssl/certs", "/etc/pip.conf")
PIP_VARIABLES = ("PIP_", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy")


def cache_folder() -> Path:
    """Return the cache folder of roots."""
    configured = os.environ.get("GANTT_SYSTEMD_CACHE")
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(configured) if configured else base / "gantt" / "systemd"


def ready_root() -> Path:
    """Return a root for this tree; build it if needed, and remove older roots from the cache.

    Raises RuntimeError with the output of the failed program, and removes an incomplete root.
    """
    cache = cache_folder()
    cache.mkdir(mode=0o755, parents=True, exist_ok=True)
    root = cache / f"root-{_fingerprint()}"
    with _locked(cache / "lock"):
        if not root.is_dir():
            for old in cache.glob("root-*"):
                shutil.rmtree(old)
            _make(root.with_name(f"half-{root.name}"), cache)
            root.with_name(f"half-{root.name}").rename(root)
    return root


def copy_sources(folder: Path) -> None:
    """Copy the installed parts of this tree into ``folder``, readable by every user."""
    folder.mkdir(parents=True)
    for name in SOURCES:
        source = REPOSITORY / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, folder)
    subprocess.run(["chmod", "-R", "a+rX", folder], check=True)


def _fingerprint() -> str:
    # Entry points change often and require no package: each boot reinstalls them.
    requirements = (REPOSITORY / "setup.py").read_text().partition("entry_points=")[0]
    fingerprint_parts = (RELEASE, *PACKAGES, *ARCHIVES, EXTRAS, SETUPTOOLS, requirements)
    return hashlib.sha256("\0".join(fingerprint_parts).encode()).hexdigest()[:12]


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _make(root: Path, cache: Path) -> None:
    shutil.rmtree(root, ignore_errors=True)
    debs = cache / "debs"
    debs.mkdir(exist_ok=True)
    try:
        _run(
            *("debootstrap", "--variant=minbase", f"--cache-dir={debs.absolute()}"),
            *(f"--include={','.join(PACKAGES)}", RELEASE, root, MIRROR),
        )
        copy_sources(root / "usr/src/gantt")
        _run_inside(root, "python3", "-m", "venv", "/opt/gantt")
        _run_inside(root, "/opt/gantt/bin/pip", "install", "-q", SETUPTOOLS, "wheel")
        _run_inside(root, "/opt/gantt/bin/pip", "install", "-q", f"/usr/src/gantt[{EXTRAS}]")
        shutil.rmtree(root / "var/cache/apt/archives", ignore_errors=True)
        _run_inside(root, "apt-get", "update")
        _run_inside(root, "apt-get", "install", "--yes", "--no-install-recommends", "--download-only", *ARCHIVES)
    except BaseException:
        shutil.rmtree(root, ignore_errors=True)
        raise
    shutil.rmtree(root / "usr/src/gantt")
    # Do not start the unused console and Debian's default Redis at boot.
    for wants in ("getty.target.wants", "multi-user.target.wants/redis-server.service"):
        path = root / "etc/systemd/system" / wants
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def _run_inside(root: Path, *command: str) -> None:
    variables = [f"-E{name}={value}" for name, value in os.environ.items() if name.startswith(PIP_VARIABLES)]
    files = [f"--bind-ro={path}" for path in PIP_FILES if Path(path).exists()]
    _run("systemd-nspawn", "-q", f"-D{root}", "--register=no", "--keep-unit", "--pipe", *variables, *files, *command)


def _run(*command: str | Path) -> None:
    done = subprocess.run(
        [str(part) for part in command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{command[0]} ended with {done.returncode}: {done.stdout[-2000:]}")
