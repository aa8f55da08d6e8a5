# SPDX-License-Identifier: Apache-2.0
"""The agent's state folder."""

from pathlib import Path

import pytest
from oslo_config import cfg

from compute_agent import conf as compute_conf
from compute_agent.conf import state_path


def test_state_folder_is_configured_or_given_by_the_service_manager(
    conf: cfg.ConfigOpts, monkeypatch: pytest.MonkeyPatch
) -> None:
    compute_conf.register_opts(conf)
    monkeypatch.setenv("XDG_STATE_HOME", "/x/state")
    monkeypatch.delenv("STATE_DIRECTORY", raising=False)
    assert state_path.state_folder(conf) == Path("/x/state/gantt/compute")
    monkeypatch.setenv("STATE_DIRECTORY", "/var/lib/gantt:/var/lib/other")
    assert state_path.state_folder(conf) == Path("/var/lib/gantt")
    conf.set_override("state_path", "/srv/gantt", group="compute")
    assert state_path.state_folder(conf) == Path("/srv/gantt")
