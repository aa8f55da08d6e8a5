# SPDX-License-Identifier: Apache-2.0
"""One worker for the tests of a module."""

import pytest

from tests.support.scheduler.workers import FakeTransportWorker


@pytest.fixture(scope="module")
def worker():
    created = FakeTransportWorker()
    created.service.start()
    yield created
    created.service.stop()
    created.service.wait()
