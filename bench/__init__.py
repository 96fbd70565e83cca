# SPDX-License-Identifier: BSD-2-Clause
"""Area, clock and throughput of the cores, from the tools' reports."""
