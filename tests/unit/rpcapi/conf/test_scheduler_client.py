# SPDX-License-Identifier: Apache-2.0
"""The scheduler backend of clients."""

import importlib.metadata

from rpcapi.conf import register_groups, scheduler_client


def test_default_backend_is_installed(conf):
    register_groups(conf, scheduler_client)
    names = {entry_point.name for entry_point in importlib.metadata.entry_points(group="gantt.scheduler_backends")}
    assert conf.scheduler_client.backend in names
