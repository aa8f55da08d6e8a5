# SPDX-License-Identifier: Apache-2.0
"""Options with key=value pairs."""

import pytest
from oslo_config import cfg

from rpcapi import errors
from rpcapi.conf import pairs


def load(folder, text):
    path = folder / "gantt.conf"
    path.write_text(f"[g]\n{text}\n")
    conf = cfg.ConfigOpts()
    conf.register_opts([pairs.option("pairs", default=[]), pairs.option("other", default=[])], group="g")
    conf([], default_config_files=[str(path)], default_config_dirs=[])
    return conf


@pytest.mark.parametrize(
    ("items", "expected"),
    [([], {}), (["a=1", "b = 2=3 "], {"a": "1", "b": "2=3"}), (["a="], {"a": ""})],
)
def test_pairs_are_read_as_a_mapping(items, expected):
    assert pairs.parse("[g] option", items) == expected


@pytest.mark.parametrize("items", [["a"], ["=1"], ["a=1", "a=1"], [" "]])
def test_malformed_or_repeated_pair_is_bad_configuration(items):
    with pytest.raises(errors.BadConfiguration, match=r"\[g\] option: .* must be key=value, with each key once"):
        pairs.parse("[g] option", items)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("pairs =", {}),
        ("other = c=1", {}),
        ('pairs = a=1, "b=2,3"', {"a": "1", "b": "2,3"}),
        ('pairs = "b=2,3", a=1', {"a": "1", "b": "2,3"}),
        ('pairs = "b=2,3"', {"b": "2,3"}),
        ("pairs = 'b=2,3'", {"b": "2,3"}),
        ('pairs = "b=2,c=3"', {"b": "2,c=3"}),  # without its quotes this would be two pairs
        ("pairs = b=2,c=3", {"b": "2", "c": "3"}),
        ('pairs = "b=2,3", a=1, "c=4,5"', {"a": "1", "b": "2,3", "c": "4,5"}),
        ('pairs = "b=2,3",\n  "c=4,5"', {"b": "2,3", "c": "4,5"}),
        ('pairs = a="x", "b=\'y\',1"', {"a": '"x"', "b": "'y',1"}),
        ('pairs = "a=1"', {"a": "1"}),
        ('pairs = "a=1,2"\npairs = "b=3,4"', {"b": "3,4"}),  # the last line counts
        ('pairs: "a=1,2", b=3', {"a": "1,2", "b": "3"}),
    ],
)
def test_quoted_pair_may_contain_a_comma(tmp_path, text, expected):
    assert pairs.read(load(tmp_path, text), "g", "pairs") == expected


@pytest.mark.parametrize("text", ['"a=1, b=2', '"a=1"x, b=2', 'a=1, "b=2'])
def test_unclosed_quote_is_bad_configuration(tmp_path, text):
    with pytest.raises(errors.BadConfiguration, match=r"\[g\] pairs: .* must begin with a complete item"):
        pairs.read(load(tmp_path, f"pairs = {text}"), "g", "pairs")


@pytest.mark.parametrize("text", ["a=1,", ",a=1", "a=1,,b=2"])
def test_empty_item_is_bad_configuration(tmp_path, text):
    with pytest.raises(errors.BadConfiguration, match="'' must be key=value"):
        pairs.read(load(tmp_path, f"pairs = {text}"), "g", "pairs")


def test_value_set_in_python_is_a_list(tmp_path):
    conf = load(tmp_path, "pairs = a=1")
    conf.set_override("pairs", ["b=2,3"], group="g")
    assert pairs.read(conf, "g", "pairs") == {"b": "2,3"}


def test_a_changed_file_is_read_again(tmp_path):
    assert pairs.read(load(tmp_path, 'pairs = "a=1,2"'), "g", "pairs") == {"a": "1,2"}
    assert pairs.read(load(tmp_path, 'pairs = "a=1,2,3"'), "g", "pairs") == {"a": "1,2,3"}
