"""The simulated GPU's memory, and launches on it one after another."""

from __future__ import annotations

import enum
import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from autograder.errors import KernelFault
from autograder.language.live import member_value
from autograder.language.program import Function
from autograder.records.transfers import Transfer
from autograder.simgpu.exceptions import Debug
from autograder.simgpu.host.giving_up import GivingUp
from autograder.simgpu.host.launch import DEFAULT_WORK_LIMIT, Chooser, RunningLaunch
from autograder.simgpu.host.launch_record import LaunchRecord
from autograder.simgpu.host.repeats import Repeats
from autograder.simgpu.values import arrays
from autograder.simgpu.values.arrays import DeviceArray
from autograder.simgpu.values.memory import AddressSpace, View
from autograder.simgpu.values.numba_types import scalar
from autograder.simgpu.values.variables import NamedItems


class Session:
    """The memory of one use of the simulated GPU, and the records of its launches.

    The clock of barriers is shared by all sessions, since an array may be handed from one to another. `chooser`: which
    blocks of a launch are carried out. `knows_repeats`: launches that do again what one before them did are not carried
    out again.
    """

    clock = 2  # a shadow's stamp is 0 for "never written" and 1 for "written by the host"

    def __init__(
        self,
        *,
        work_limit: int = DEFAULT_WORK_LIMIT,
        trace: Any = None,
        output: Callable[[str], None] | None = None,
        keep_records: bool = True,
        checks_order: bool = True,
        chooser: Chooser | None = None,
        knows_repeats: bool = False,
        giving_up: GivingUp | None = None,
    ) -> None:
        self.addresses = AddressSpace()
        self.work_limit = work_limit
        self.work = self.launched = 0
        self.trace = trace
        self.output = output
        self.keep_records = keep_records
        self.checks_order = checks_order
        self.chooser = chooser or Chooser()
        self.repeats = Repeats() if knows_repeats else None
        self.giving_up = giving_up
        self.wants_lines = True  # of each launch's record: counts by source line
        self.records: list[LaunchRecord] = []
        self.last: LaunchRecord | None = None  # of the launch before, also if it ended early
        self.transfers: list[Transfer] = []

    def to_device(self, host: np.ndarray) -> DeviceArray:
        return arrays.to_device(self.addresses, host)

    def device_array(self, shape: Any, dtype: Any) -> DeviceArray:
        return arrays.device_array(self.addresses, shape, dtype)

    def zeros(self, shape: Any, dtype: Any) -> DeviceArray:
        """Device memory that holds zeros; it takes no room until somebody goes there."""
        return arrays.zeros(self.addresses, shape, dtype)

    def copy_to_host(self, array: DeviceArray) -> np.ndarray:
        return array.copy_to_host()

    def launch(
        self, kernel: Function, grid: Any, block: Any, arguments: Sequence[Any], dynamic_shared_bytes: int = 0,
        debug: Debug | None = None,
    ) -> LaunchRecord:  # fmt: skip
        """Runs one kernel to its end; raises `KernelFault` where it cannot go on, after keeping the record.

        What interrupts it is raised again after that, too.
        """
        self.last = None
        copied_back: list[tuple[np.ndarray, DeviceArray]] = []
        may_borrow = not _overlap(arguments)
        values = tuple(self._argument(value, kernel, copied_back, may_borrow) for value in arguments)
        running = RunningLaunch(
            kernel,
            grid,
            block,
            dynamic_shared_bytes=dynamic_shared_bytes,
            debug=debug,
            start_clock=Session.clock,
            work_limit=max(1, self.work_limit - self.work),
            earlier_launches=self.launched,
            earlier_work=self.work,
            trace=self.trace,
            output=self.output,
            checks_order=self.checks_order,
            chooser=self.chooser,
            wants_lines=self.wants_lines,
            repeats=self.repeats,
            giving_up=self.giving_up,
            earlier=self.records,
        )
        try:
            record = self.last = running.run(values)
        finally:
            Session.clock = running.clock + 1
        self.work += running.work
        self.launched += 1
        if self.keep_records:
            self.records.append(record)
        if running.interrupted is not None:
            raise running.interrupted
        for host, device in copied_back:
            if not arrays.buffer_of(device).is_borrowed:
                _copy_back(host, device)
        if record.fault is not None:
            raise record.fault
        return record

    def _argument(
        self, value: Any, kernel: Function, copied_back: list[tuple[Any, DeviceArray]], may_borrow: bool = False
    ) -> Any:
        """What a launch gets for an argument; `may_borrow`: of a host array its elements, as long as they are only read."""
        if isinstance(value, DeviceArray):
            return value._view()
        if isinstance(value, View) or value is None:
            return value
        if isinstance(value, tuple):
            items = [self._argument(each, kernel, copied_back) for each in value]
            return NamedItems(items, value._fields) if hasattr(value, "_fields") else tuple(items)
        if isinstance(value, (np.void, np.ndarray)) and value.dtype.fields and not value.shape:  # one record
            device = self.to_device(np.asarray(value))
            copied_back.append((value, device))
            return device._view()
        if isinstance(value, enum.Enum):
            return self._argument(member_value(value), kernel, copied_back)
        if isinstance(value, np.ndarray):  # Numba copies host arrays to the device and back
            device = arrays.to_device(self.addresses, value, may_borrow)
            if value.flags.writeable:
                copied_back.append((value, device))
                return device._view()
            return replace(device._view(), read_only=True)  # to Numba another type
        try:
            return scalar(value[()] if isinstance(value, np.ndarray) else value)
        except (TypeError, OverflowError):
            raise KernelFault(
                f"`{kernel.name}` is given a {type(value).__name__}, which a kernel cannot take.",
                remedy="Pass device arrays, NumPy arrays or numbers.",
            ) from None


def _overlap(arguments: Sequence[Any]) -> bool:
    """Whether two of these are host arrays that may have elements in common: each has a copy of its own on the device."""
    hosts = [each for each in arguments if isinstance(each, np.ndarray)]
    return any(np.may_share_memory(one, other) for one, other in itertools.combinations(hosts, 2))


def _copy_back(host: Any, device: DeviceArray) -> None:
    if isinstance(host, np.void):
        for name in host.dtype.names or ():
            host[name] = device.copy_to_host()[name]
    else:
        device.copy_to_host(host)
