# SPDX-License-Identifier: Apache-2.0
"""Claim verbs and the log on Sentinel and a Redis Cluster; the long form of the suite runs all tests."""

from tests.unit.scheduler_svc.store.test_log import *  # noqa: F403 - pytest collects the imported tests
from tests.unit.scheduler_svc.store.test_prepare import *  # noqa: F403
