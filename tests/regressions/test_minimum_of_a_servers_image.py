# SPDX-License-Identifier: Apache-2.0
"""The minimum memory and disk of an image hold for a resize and a rebuild, as for a boot.

Nova's API refuses all three: FlavorMemoryTooSmall, FlavorDiskTooSmall.
"""

from collections.abc import Iterator

import pytest

from tests.regressions.one_process_cloud import OneProcessCloud, running


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OneProcessCloud]:
    """A deployment with images that m1.tiny is too small for, each for one reason."""
    with running(tmp_path_factory.mktemp("cloud"), "h1", "h2") as cloud:
        assert cloud.gantt("image", "create", "memory", "--min-ram", "1024").code == 0
        assert cloud.gantt("image", "create", "disk", "--min-disk", "10").code == 0
        yield cloud


@pytest.fixture
def server(cloud: OneProcessCloud, request: pytest.FixtureRequest) -> Iterator[str]:
    """An ACTIVE server with the arguments of the fixture's parameter."""
    result = cloud.gantt("boot", "--name", "server", "--wait", "-f", "json", *request.param)
    (row,) = result.json
    assert row["status"] == "ACTIVE", row
    yield row["uuid"]
    cloud.gantt("server", "delete", row["uuid"], "--wait")


@pytest.mark.parametrize("image", ["memory", "disk"])
def test_boot_below_the_minimum_is_refused(cloud: OneProcessCloud, image: str) -> None:
    row = cloud.boot("--image", image)
    assert row["status"] == "refused"
    assert f"image '{image}' needs" in row["reason"]


@pytest.mark.parametrize(
    "server", [("--flavor", "m1.small", "--image", image) for image in ("memory", "disk")], indirect=True
)
def test_resize_below_the_minimum_is_refused(cloud: OneProcessCloud, server: str) -> None:
    assert cloud.gantt("server", "resize", server, "--flavor", "m1.tiny", "--wait").code != 0
    assert cloud.gantt("server", "show", server, "-f", "json").json["flavor"] == "m1.small"


@pytest.mark.parametrize("image", ["memory", "disk"])
@pytest.mark.parametrize("server", [("--flavor", "m1.tiny")], indirect=True)
def test_rebuild_below_the_minimum_is_refused(cloud: OneProcessCloud, server: str, image: str) -> None:
    assert cloud.gantt("server", "rebuild", server, "--image", image, "--wait").code != 0


@pytest.mark.parametrize("server", [("--flavor", "m1.small", "--image", "disk")], indirect=True)
def test_flavor_and_image_that_fit_are_accepted(cloud: OneProcessCloud, server: str) -> None:
    assert cloud.gantt("server", "rebuild", server, "--image", "memory", "--wait").code == 0
    assert cloud.gantt("server", "resize", server, "--flavor", "m1.medium", "--wait").code == 0
