# SPDX-License-Identifier: Apache-2.0
"""Configuration of partitions and their stores."""

import pytest
from oslo_config import cfg

from rpcapi import errors
from scheduler_svc import conf as scheduler_conf
from scheduler_svc.conf import partitions


def configured(tmp_path, text):
    """Return a configuration read from a file, as a daemon reads it."""
    path = tmp_path / "scheduler.conf"
    path.write_text(text)
    conf = cfg.ConfigOpts()
    scheduler_conf.register_opts(conf)
    conf([], project="gantt", default_config_files=[str(path)], default_config_dirs=[])
    return conf


SEVERAL = """
[rpc]
partition = cell1
[scheduler]
partitions = cell1, cell2
[store]
url = redis://127.0.0.1:1/0
"""


def test_default_is_own_partition_in_own_store(tmp_path):
    conf = configured(tmp_path, "[rpc]\npartition = cell1\n[store]\nurl = redis://127.0.0.1:1/0\n")
    partitions.check(conf)
    assert (partitions.names(conf), partitions.claims_partitions(conf)) == (["cell1"], ["cell1"])
    assert partitions.url(conf, "cell1") == "redis://127.0.0.1:1/0"


def test_partitions_share_the_store_or_have_their_own(tmp_path):
    conf = configured(tmp_path, SEVERAL + "[partition:cell2]\nurl = redis://127.0.0.1:2/0\n")
    partitions.check(conf)
    assert [partitions.url(conf, name) for name in partitions.names(conf)] == [
        "redis://127.0.0.1:1/0",
        "redis://127.0.0.1:2/0",
    ]
    assert partitions.claims_partitions(conf) == ["cell1", "cell2"]


def test_daemon_can_serve_claims_of_some_partitions(tmp_path):
    conf = configured(tmp_path, SEVERAL.replace("[store]", "claims_partitions = cell2\n[store]"))
    partitions.check(conf)
    assert partitions.claims_partitions(conf) == ["cell2"]


@pytest.mark.parametrize(
    ("change", "to", "why"),
    [
        ("cell1, cell2", "cell2, cell3", "'cell1', this service's own partition"),
        ("cell1, cell2", "cell1, cell1", "duplicate name"),
        ("[store]", "claims_partitions = cell9\n[store]", "cell9 is not in"),
        ("[store]", "[partition:cell9]\nurl = redis://127.0.0.1:2/0\n[store]", "is not in"),
        ("[store]", "[partition:cell2]\nurl = http://somewhere\n[store]", "partition:cell2. url must begin with"),
    ],
)
def test_invalid_partitions_are_a_bad_configuration(tmp_path, change, to, why):
    with pytest.raises(errors.BadConfiguration, match=why):
        partitions.check(configured(tmp_path, SEVERAL.replace(change, to)))


def test_invalid_partition_name_is_refused(tmp_path):
    with pytest.raises((ValueError, cfg.Error)):
        partitions.names(configured(tmp_path, SEVERAL.replace("cell1, cell2", "cell1, Cell/2")))
