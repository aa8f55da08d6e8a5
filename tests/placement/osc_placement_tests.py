# SPDX-License-Identifier: Apache-2.0
"""osc-placement's own functional tests, run as a module by its environment against a gantt-placement at a port.

They begin each test with an empty Placement, from a package that they import. Here this package has a fixture that
empties the one at the port instead.
"""

import contextlib
import json
import sys
import types
import unittest
from pathlib import Path

import fixtures  # type: ignore[import-not-found]

from tests.support.placement.client import PlacementClient

PACKAGE = "placement.tests.functional.fixtures"
SUITE = "osc_placement.tests.functional"


class EmptiedPlacement(fixtures.Fixture):  # type: ignore[misc]
    """The running gantt-placement, without providers and custom names."""

    port = 0
    token = "admin"  # noqa: S105 -- which noauth2 believes

    @property
    def endpoint(self) -> str:
        """The URL."""
        return f"http://127.0.0.1:{self.port}"

    def _setUp(self) -> None:
        with contextlib.closing(PlacementClient(self.port)) as client:
            client.empty()


def offer_fixtures(port: int) -> None:
    """Make the package importable from which the tests take their fixtures."""
    EmptiedPlacement.port = port
    names = PACKAGE.split(".")
    for end in range(1, len(names) + 1):
        module = types.ModuleType(".".join(names[:end]))
        module.__path__ = []
        sys.modules[module.__name__] = module
    for name, members in {
        "capture": {"Logging": fixtures.FakeLogger},
        "placement": {"PlacementFixture": EmptiedPlacement},
    }.items():
        module = types.ModuleType(f"{PACKAGE}.{name}")
        vars(module).update(members)
        sys.modules[module.__name__] = module
        setattr(sys.modules[PACKAGE], name, module)


def main(port: int) -> None:
    """Run the tests; the last line of the output has their number and the ids of those that failed."""
    offer_fixtures(port)
    suite_folder = Path(__import__(SUITE, fromlist=["*"]).__file__).parent
    top = suite_folder.parents[2]
    suite = unittest.defaultTestLoader.discover(str(suite_folder), top_level_dir=str(top))
    result = unittest.TextTestRunner(stream=sys.stderr).run(suite)
    failed = sorted(test.id() for test, _ in [*result.failures, *result.errors])
    print(json.dumps({"run": result.testsRun, "skipped": len(result.skipped), "failed": failed}))


if __name__ == "__main__":
    main(int(sys.argv[1]))
