# SPDX-License-Identifier: Apache-2.0
"""The scheduler's figures: their names, and how the figures of several workers are merged."""

import re

from prometheus_client import REGISTRY

from scheduler_svc import metrics

FIGURES = {name: figure for name, figure in vars(metrics).items() if name.isupper() and not name.startswith("_")}


def names():
    return {sample_name: figure._name for sample_name, figure in FIGURES.items()}


def test_names_are_gantts_and_tell_the_unit():
    for name in names().values():
        assert re.fullmatch(r"gantt_[a-z_]+", name)
    assert len(set(names().values())) == len(FIGURES)
    assert {name for name, figure in FIGURES.items() if figure._type == "histogram"} == {
        name for name in FIGURES if name.endswith(("_SECONDS", "ROUND_CALLS"))
    }


def test_every_figure_has_a_help_text_and_is_exported():
    exported = {family.name for family in REGISTRY.collect()}
    for name, figure in FIGURES.items():
        assert figure._documentation, name
        assert figure._name in exported


def test_figures_of_a_partition_have_it_as_a_label():
    of_replicas = (metrics.POSITION, metrics.LAG, metrics.EPOCH, metrics.SILENCE, metrics.SNAPSHOTS, metrics.OUTAGES)
    for figure in of_replicas:
        assert figure._labelnames == ("partition",)
