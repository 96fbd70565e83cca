# SPDX-License-Identifier: BSD-2-Clause
"""Bitstreams for boards: the catalogue of boards, the top module with UART and core, the build, and the host's side."""
