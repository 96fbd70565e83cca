# SPDX-License-Identifier: BSD-2-Clause
"""The transcoder: a decoder of one encoding form and an encoder of another."""
