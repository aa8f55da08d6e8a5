# SPDX-License-Identifier: Apache-2.0
"""The source archive, the wheel and Debian's packages of this checkout, built once per process."""

import os
from pathlib import Path

import pytest

from devstack.packaging import checkout, debian_packages, distribution
from devstack.packaging.distribution import Distribution
from tests.functional.packaging.programs import need_programs
from tests.functional.systemd.conftest import require_privilege, require_programs
from tests.functional.systemd.network import require_network


def need_checkout() -> None:
    """Skip in a source archive, which is not built from itself; fail there in CI."""
    if (checkout.ROOT / ".git").exists():
        return
    if os.environ.get("CI") == "true":
        pytest.fail("packages are built from a checkout, and this is none", pytrace=False)
    pytest.skip("packages are built from a checkout, and this is none")


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Distribution:
    """The distribution of this checkout's tracked files, as they are now."""
    need_checkout()
    folder = tmp_path_factory.mktemp("dist")
    return distribution.build(folder, changelog="Changes\n=======\n")


@pytest.fixture(scope="session")
def debian(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Debian's packages of this checkout, where machines can be booted on a network of their own."""
    require_privilege()
    require_programs()
    need_programs({"dpkg-buildpackage": "dpkg-dev", "dh": "debhelper", "ip": "iproute2"})
    require_network()
    return debian_packages.build(request.getfixturevalue("built"), tmp_path_factory.mktemp("debian-packages"))


@pytest.fixture(scope="session")
def tracked() -> list[str]:
    """The files that git tracks."""
    need_checkout()
    return checkout.tracked_files()
