"""The names at the top of the package stay what they are, whatever else is imported."""

from __future__ import annotations

import importlib
import pkgutil

import autograder


def test_no_module_of_the_package_hides_a_public_name():
    modules = {each.name for each in pkgutil.iter_modules(autograder.__path__)}
    assert not modules & set(autograder.__all__)


def test_devices_is_a_function_also_after_everything_is_imported():
    importlib.import_module("autograder.device")
    importlib.import_module("autograder.simgpu.device")
    assert any("simulated" in name for name in autograder.devices())
