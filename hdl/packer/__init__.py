# SPDX-License-Identifier: BSD-2-Clause
"""The packer of all cores with packed output."""
