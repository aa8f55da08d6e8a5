# SPDX-License-Identifier: Apache-2.0
"""The plot of a replay."""

import pytest

from devstack.lab.replay import picture
from devstack.lab.replay.observer import UsageSample
from devstack.lab.replay.scenario import ReplayRun


def test_each_driver_is_a_line_in_each_panel_over_hours():
    figure = pytest.importorskip("matplotlib.figure").Figure()
    samples = [UsageSample(at, 0.1, 0.2, 0.3, 0.4, 5, 0.6, 0.7) for at in (7200.0, 10_800.0)]
    picture.draw(figure, {"filter": ReplayRun(samples=samples), "pack": ReplayRun(samples=samples)})
    assert len(figure.axes) == len(picture.PANELS)
    for axes, (name, _) in zip(figure.axes, picture.PANELS, strict=True):
        assert [line.get_label() for line in axes.get_lines()] == ["filter", "pack"]
        line = axes.get_lines()[0]
        assert list(line.get_xdata()) == [0.0, 1.0]
        assert list(line.get_ydata()) == [getattr(samples[0], name)] * 2
