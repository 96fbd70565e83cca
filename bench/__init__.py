# SPDX-License-Identifier: BSD-2-Clause
"""Area, clock and throughput of the cores, from the tools' reports."""

from __future__ import annotations

from utf8fpga.bench.cache import Cache, CacheError, default_cache
from utf8fpga.bench.design import CoreError, Design, Ports, foreign_core, measured_core, read_ports
from utf8fpga.bench.jobs import DEVICES, Area, ClockLimit, Device, Speed, tool_versions
from utf8fpga.bench.plot import PlotError, draw_scaling, drawn_digest, plot_tools, scaling_plot
from utf8fpga.bench.sweep import Figure, Point, Progress, sweep
from utf8fpga.bench.tables import (
    COMMAND,
    CORES_MEASURED,
    SCALING,
    SETTINGS,
    Scaling,
    design_digest,
    engines_table,
    figures_as_dict,
    figures_table,
    kept_figure,
    limits_table,
    points_table,
    scaling_points,
    setting_points,
    software_table,
    summary_table,
)

__all__ = [
    "COMMAND",
    "CORES_MEASURED",
    "DEVICES",
    "SCALING",
    "SETTINGS",
    "Area",
    "Cache",
    "CacheError",
    "ClockLimit",
    "CoreError",
    "Design",
    "Device",
    "Figure",
    "PlotError",
    "Point",
    "Ports",
    "Progress",
    "Scaling",
    "Speed",
    "default_cache",
    "design_digest",
    "draw_scaling",
    "drawn_digest",
    "engines_table",
    "figures_as_dict",
    "figures_table",
    "foreign_core",
    "kept_figure",
    "limits_table",
    "measured_core",
    "plot_tools",
    "points_table",
    "read_ports",
    "scaling_plot",
    "scaling_points",
    "setting_points",
    "software_table",
    "summary_table",
    "sweep",
    "tool_versions",
]
