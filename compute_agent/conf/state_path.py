# SPDX-License-Identifier: Apache-2.0
"""Where the agent keeps its state."""

import os
from pathlib import Path

from oslo_config import cfg


def state_folder(conf: cfg.ConfigOpts) -> Path:
    """Return [compute] state_path, or else the folder that the service manager or the user's account gives."""
    if conf.compute.state_path:
        return Path(conf.compute.state_path)
    # systemd may name several folders, the first is ours.
    managed = os.environ.get("STATE_DIRECTORY", "").partition(":")[0]
    if managed:
        return Path(managed)
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "gantt" / "compute"
