# SPDX-License-Identifier: Apache-2.0
"""Claim verbs and the log on Sentinel and a Redis Cluster; the long form of the suite runs all tests."""

from tests.contract.store.test_log import *  # noqa: F403 - pytest collects the imported tests
from tests.contract.store.verbs.test_decisions import (  # noqa: F401 - collected by their names
    test_decision_is_completed_by_the_store,
    test_decision_record_is_bounded,
    test_newest_decision_is_returned,
    test_refused_batch_is_recorded,
)
from tests.contract.store.verbs.test_prepare import *  # noqa: F403
from tests.contract.store.verbs.test_prepare_groups import *  # noqa: F403
