# SPDX-License-Identifier: Apache-2.0
"""Items of named groups are read one by one."""

import pytest
from oslo_config import cfg

from rpcapi import errors
from rpcapi.conf import flavors

TEXT = "[flavor:odd]\nvcpus = 1\nmemory_mb = 1\nextra_specs = oops\n[flavor:even]\nvcpus = 2\nmemory_mb = 2\n"


@pytest.fixture
def items(tmp_path):
    path = tmp_path / "gantt.conf"
    path.write_text(TEXT)
    conf = cfg.ConfigOpts()
    conf(["--config-file", str(path)], project="gantt")
    return flavors.load(conf)


def test_invalid_item_leaves_others_readable(items):
    assert list(items) == ["even", "odd"]
    assert items["even"].vcpus == 2


def test_invalid_item_is_bad_configuration_when_it_is_read(items):
    with pytest.raises(errors.BadConfiguration, match=r"\[flavor:odd\] extra_specs: 'oops' must be key=value"):
        _ = items["odd"]


def test_unknown_item_is_a_key_error(items):
    with pytest.raises(KeyError):
        _ = items["other"]
