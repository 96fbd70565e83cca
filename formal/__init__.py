# SPDX-License-Identifier: BSD-2-Clause
"""Proofs, counterexamples and mutation of any core."""
