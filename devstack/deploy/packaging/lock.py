# SPDX-License-Identifier: Apache-2.0
"""Lock file: pinned, hashed versions of the requirements of extra ``all``, written by `tox -e lock`."""

import re
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from packaging.markers import Marker
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from devstack.deploy.packaging.programs import PackagingError, run

PATH = Path("devstack/deploy/packaging/lock.txt")
EXTRA = "all"
SHA256 = re.compile(r"--hash=sha256:[0-9a-f]{64}\b")


class Pin(NamedTuple):
    """Pinned version with its environment marker; ``hashes`` counts the hashes of its files."""

    name: str
    version: Version
    marker: Marker | None
    hashes: int


def read(text: str) -> list[Pin]:
    return [_pin(line) for line in _logical_lines(text)]


def required(requirements: Iterable[str]) -> list[Requirement]:
    return [
        requirement
        for requirement in map(Requirement, requirements)
        if requirement.marker is None or requirement.marker.evaluate({"extra": EXTRA})
    ]


def problems(requirements: Iterable[str], pins: Iterable[Pin]) -> list[str]:
    """Return one line per requirement without a matching pin and per pin without a hash."""
    pins = list(pins)
    lines = [f"{pin.name} {pin.version} has no hash in the lock" for pin in pins if not pin.hashes]
    by_name: dict[str, list[Pin]] = {}
    for pin in pins:
        by_name.setdefault(pin.name, []).append(pin)
    for requirement in required(requirements):
        candidates = by_name.get(canonicalize_name(requirement.name), [])
        if not candidates:
            lines.append(f"{requirement} is required by setup.py, and the lock does not pin {requirement.name}")
        lines += [
            f"{requirement} is required by setup.py, and the lock pins {pin.version}"
            for pin in candidates
            if not requirement.specifier.contains(pin.version, prereleases=True)
        ]
    return lines


def _logical_lines(text: str) -> Iterator[str]:
    for line in text.replace("\\\n", " ").splitlines():
        content = re.sub(r"(^|\s)#.*", "", line).strip()
        if content:
            yield content


def _pin(line: str) -> Pin:
    text = line.partition(" --hash")[0]
    try:
        requirement = Requirement(text)
        (specifier,) = requirement.specifier
        if specifier.operator != "==" or specifier.version.endswith("*"):
            raise ValueError
    except (InvalidRequirement, ValueError):
        raise PackagingError(f"the lock's line `{text}` is not of the form name==version") from None
    name = canonicalize_name(requirement.name)
    return Pin(name, Version(specifier.version), requirement.marker, len(SHA256.findall(line)))


def download(folder: Path, lock: Path, python: str | Path) -> None:
    with tempfile.TemporaryDirectory() as tools:
        run(python, "-m", "venv", tools)
        run(
            *(Path(tools) / "bin" / "python", "-m", "pip", "--disable-pip-version-check", "--no-input"),
            *("download", "--quiet", "--no-deps", "--only-binary=:all:", "--require-hashes"),
            *("--requirement", lock, "--dest", folder),
        )
