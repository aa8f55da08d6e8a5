# SPDX-License-Identifier: Apache-2.0
"""Options with key=value pairs."""

import pytest
from oslo_config import cfg

from rpcapi import errors
from rpcapi.conf import pairs


@pytest.mark.parametrize(
    ("items", "expected"),
    [([], {}), (["a=1", "b = 2=3 "], {"a": "1", "b": "2=3"}), (["a="], {"a": ""})],
)
def test_pairs_are_read_as_a_mapping(items, expected):
    assert pairs.read("[g] option", items) == expected


@pytest.mark.parametrize("items", [["a"], ["=1"], ["a=1", "a=1"], [" "]])
def test_malformed_or_repeated_pair_is_bad_configuration(items):
    with pytest.raises(errors.BadConfiguration, match=r"\[g\] option: .* must be key=value, with each key once"):
        pairs.read("[g] option", items)


def test_quoted_pair_may_contain_a_comma(tmp_path):
    path = tmp_path / "gantt.conf"
    path.write_text('[g]\npairs = a=1, "b=2,3"\n')
    conf = cfg.ConfigOpts()
    conf.register_opts([pairs.option("pairs")], group="g")
    conf([], default_config_files=[str(path)], default_config_dirs=[])
    assert conf.g.pairs == ["a=1", "b=2,3"]
