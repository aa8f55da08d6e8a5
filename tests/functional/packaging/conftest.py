# SPDX-License-Identifier: Apache-2.0
"""The source archive and the wheel of this checkout, built once per process."""

import os

import pytest

from devstack.packaging import checkout, distribution
from devstack.packaging.distribution import Distribution


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
def tracked() -> list[str]:
    """The files that git tracks."""
    need_checkout()
    return checkout.tracked_files()
