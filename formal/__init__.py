# SPDX-License-Identifier: BSD-2-Clause
"""Proofs and counterexamples of any core."""
