# SPDX-License-Identifier: BSD-2-Clause
"""Invariants of the inductive proofs, by subject."""
