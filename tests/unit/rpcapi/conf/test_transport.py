# SPDX-License-Identifier: Apache-2.0
"""Validation of transport_url before oslo.messaging is imported."""

from pathlib import Path

import pytest
from oslo_config import cfg

from rpcapi.conf import transport

VALID = [
    "gantt+redis:///0?socket=/run/gantt/bus.sock",
    "gantt+redis://user:p%40ss@host:6379/0",
    "gantt-rabbit://user:word@one:5672,user:word@two:5672/vhost",
    "rabbit://user:word@[::1]:5672/vhost",
    "rabbit://host",
    "fake://",
]


@pytest.mark.parametrize("text", [*(f"transport_url = {url}" for url in VALID), ""])
def test_valid_url_passes(tmp_path: Path, text: str) -> None:
    path = tmp_path / "gantt.conf"
    path.write_text(f"[DEFAULT]\n{text}\n")
    conf = cfg.ConfigOpts()
    conf([], project="gantt", default_config_files=[str(path)], default_config_dirs=[])
    transport.check(conf)
    assert "transport_url" not in conf, "oslo.messaging registers it"
