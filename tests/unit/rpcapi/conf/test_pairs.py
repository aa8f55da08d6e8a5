# SPDX-License-Identifier: Apache-2.0
"""Options with key=value pairs."""

import pytest
from oslo_config import cfg

from rpcapi import errors
from rpcapi.conf import pairs


def load(folder, *texts, group="g", arguments=()):
    paths = [folder / f"{number}.conf" for number in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(f"[{group}]\n{text}\n")
    conf = cfg.ConfigOpts()
    conf.register_opts([pairs.option("pairs", default=[]), pairs.option("other", default=[])], group=group)
    conf(list(arguments), default_config_files=list(map(str, paths)), default_config_dirs=[])
    return conf


def read(conf, group="g"):
    return pairs.PairReader(conf).read(group, "pairs")


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
    assert read(load(tmp_path, text)) == expected


@pytest.mark.parametrize("text", ['"a=1, b=2', '"a=1"x, b=2', 'a=1, "b=2'])
def test_unclosed_quote_is_bad_configuration(tmp_path, text):
    with pytest.raises(errors.BadConfiguration, match=r"\[g\] pairs: .* must begin with a complete item"):
        read(load(tmp_path, f"pairs = {text}"))


@pytest.mark.parametrize("text", ["a=1,", ",a=1", "a=1,,b=2"])
def test_empty_item_is_bad_configuration(tmp_path, text):
    with pytest.raises(errors.BadConfiguration, match="'' must be key=value"):
        read(load(tmp_path, f"pairs = {text}"))


def test_value_set_in_python_is_a_list(tmp_path):
    conf = load(tmp_path, "pairs = a=1")
    conf.set_override("pairs", ["b=2,3"], group="g")
    assert read(conf) == {"b": "2,3"}


def test_a_changed_file_is_read_again(tmp_path):
    assert read(load(tmp_path, 'pairs = "a=1,2"')) == {"a": "1,2"}
    assert read(load(tmp_path, 'pairs = "a=1,2,3"')) == {"a": "1,2,3"}


@pytest.mark.parametrize("text", ['"a=1","b=2,3"', 'a=1, "b=2,3"'])
def test_group_may_have_capital_letters(tmp_path, text):
    assert read(load(tmp_path, f"pairs = {text}", group="flavor:Big"), "flavor:Big") == {"a": "1", "b": "2,3"}


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (['pairs = "a=1,2"', "other = c=1"], {"a": "1,2"}),
        (['pairs = "a=1,2"', "pairs = a=1,b=2"], {"a": "1", "b": "2"}),
        (["pairs = a=1,b=2", 'pairs = "a=1,b=2"'], {"a": "1,b=2"}),
        (['pairs = "a=1,b=2"', "pairs = a=1,b=2"], {"a": "1", "b": "2"}),
    ],
)
def test_last_file_with_the_option_counts(tmp_path, texts, expected):
    assert read(load(tmp_path, *texts)) == expected


def test_files_of_every_folder_are_read(tmp_path):
    folders = [tmp_path / "first", tmp_path / "second"]
    for folder in folders:
        folder.mkdir()
    load(folders[0], 'pairs = "a=1,2"'), load(folders[1], "other = c=1")
    arguments = [argument for folder in folders for argument in ("--config-dir", str(folder))]
    assert read(load(tmp_path, arguments=arguments)) == {"a": "1,2"}


def test_option_in_a_value_is_substituted(tmp_path):
    assert read(load(tmp_path, 'pairs = "a=1,$other"\nother = 2')) == {"a": "1,2"}


@pytest.mark.parametrize("changed", [None, '[g]\npairs = "c=3","d=4,5"\n'])
def test_file_that_changes_after_the_load_does_not_count(tmp_path, changed):
    conf = load(tmp_path, 'pairs = "a=1","b=2,3"')
    reader, path = pairs.PairReader(conf), tmp_path / "0.conf"
    path.unlink() if changed is None else path.write_text(changed)
    assert reader.read("g", "pairs") == {"a": "1", "b": "2,3"}


@pytest.mark.parametrize("text", [None, "no assignment"])
def test_file_that_can_no_longer_be_read_is_bad_configuration(tmp_path, text):
    conf, path = load(tmp_path, 'pairs = "a=1,2"'), tmp_path / "0.conf"
    path.unlink() if text is None else path.write_text(text)
    with pytest.raises(errors.BadConfiguration, match=r"0\.conf cannot be read"):
        read(conf)


def test_options_without_a_command_line_have_no_files():
    conf = cfg.ConfigOpts()
    conf.register_opt(pairs.option("pairs", default=[]), group="g")
    conf.set_override("pairs", ["b=2,3"], group="g")
    assert read(conf) == {"b": "2,3"}
