# SPDX-License-Identifier: BSD-2-Clause
"""Where setuptools builds the wheel; everything else is in pyproject.toml.

By default it is `build/lib`, which stays in the checkout: a module that was deleted would still be in the next wheel.
"""

from tempfile import TemporaryDirectory

from setuptools import setup

with TemporaryDirectory() as folder:
    setup(options={"build": {"build_base": folder}})
