# SPDX-License-Identifier: Apache-2.0
"""Options for replicas that acknowledge writes."""

import pytest
from oslo_config import cfg

from rpcapi.conf import replicas
from rpcapi.conf.replicas import ReplicaAcknowledgement


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ReplicaAcknowledgement(0, 1000)),
        ("replicas_acknowledge = 2\nwait_timeout = 0.0105\n", ReplicaAcknowledgement(2, 10)),
    ],
)
def test_timeout_is_read_in_milliseconds(tmp_path, text, expected):
    path = tmp_path / "gantt.conf"
    path.write_text(f"[store]\n{text}")
    conf = cfg.ConfigOpts()
    conf.register_opts(replicas.OPTS, group="store")
    conf([], default_config_files=[str(path)], default_config_dirs=[])
    assert replicas.from_options(conf.store) == expected
