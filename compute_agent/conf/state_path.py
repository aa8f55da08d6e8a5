# SPDX-License-Identifier: Apache-2.0
"""Location of the agent's state folder."""

import os
from pathlib import Path

from oslo_config import cfg


def state_folder(conf: cfg.ConfigOpts) -> Path:
    """Return [compute] state_path, else the service manager's state folder, else a folder in the user's home."""
    if conf.compute.state_path:
        return Path(conf.compute.state_path)
    # systemd may list several folders; the first is the agent's.
    managed = os.environ.get("STATE_DIRECTORY", "").partition(":")[0]
    if managed:
        return Path(managed)
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "gantt" / "compute"
