# SPDX-License-Identifier: Apache-2.0
"""The source archive, the wheel and Debian's packages of this checkout, built once per process."""

import os
from pathlib import Path

import pytest

from devstack.deploy.packaging import checkout, debian_packages, distribution, documentation, versions
from devstack.deploy.packaging.distribution import Distribution
from tests.functional.packaging.programs import need_programs
from tests.functional.systemd.conftest import require_privilege, require_programs

CHANGELOG = "Changes\n=======\n"


def need_checkout() -> None:
    """Skip in a source archive, which is not built from itself; fail there in CI."""
    if (checkout.ROOT / ".git").exists():
        return
    if os.environ.get("CI") == "true":
        pytest.fail("packages are built from a checkout, and this is none", pytrace=False)
    pytest.skip("packages are built from a checkout, and this is none")


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Distribution:
    """The distribution of this checkout's tracked files, as they are now, without the documentation."""
    need_checkout()
    return distribution.build(tmp_path_factory.mktemp("dist"), changelog=CHANGELOG)


@pytest.fixture(scope="session")
def release(tmp_path_factory: pytest.TempPathFactory) -> Distribution:
    """The same with the site and the man pages, as a release is; the extra ``docs`` builds them in a minute or two."""
    need_checkout()
    share = documentation.build(tmp_path_factory.mktemp("share"), versions.of_checkout(checkout.ROOT))
    return distribution.build(tmp_path_factory.mktemp("released"), changelog=CHANGELOG, share=share)


@pytest.fixture(scope="session")
def debian(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Debian's packages of that, for tests that boot a machine."""
    require_privilege()
    require_programs()
    need_programs({"dpkg-buildpackage": "dpkg-dev", "dh": "debhelper"})
    return debian_packages.build(request.getfixturevalue("release"), tmp_path_factory.mktemp("debian"))


@pytest.fixture(scope="session")
def tracked() -> list[str]:
    """The files that git tracks."""
    need_checkout()
    return checkout.tracked_files()
