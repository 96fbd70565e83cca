# SPDX-License-Identifier: BSD-2-Clause
"""The tests of the examples, a tier of its own: ``pytest examples``."""

collect_ignore = ["cocotb/test_decoder.py"]
"""Tests that cocotb runs within a simulator."""
