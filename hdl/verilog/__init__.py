# SPDX-License-Identifier: BSD-2-Clause
"""Verilog: a core behind AXI4-Stream ports as one file, with a module for each component and a header."""
