# SPDX-License-Identifier: BSD-2-Clause
"""Checks certificates of proofs, with no code of those who made them."""
