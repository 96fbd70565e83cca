# SPDX-License-Identifier: BSD-2-Clause
"""Mutants of netlists and tables, and their judges."""
