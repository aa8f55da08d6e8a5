# SPDX-License-Identifier: Apache-2.0
"""The verbs that claim, and the log, through Sentinel and a Redis Cluster; the long form of the suite runs all."""

from tests.unit.scheduler_svc.store.test_log import *  # noqa: F403 - pytest collects what is named here
from tests.unit.scheduler_svc.store.test_prepare import *  # noqa: F403
