"""The process that workers are copies of, see forking.py: imports what every worker needs, and forks when asked to."""

from __future__ import annotations

import gc
import os
import select
import socket
import sys
import tempfile
from contextlib import suppress

from autograder.grading import worker_process
from autograder.grading.forking import receive, send


def main() -> None:
    """Forks until the grader has gone and all copies have ended; in a copy, becomes a worker."""
    with socket.socket(fileno=os.dup(0)) as channel:
        os.dup2(os.open(os.devnull, os.O_RDWR), 0)
        worker_process.make_ready()
        gc.collect()
        gc.freeze()  # else each copy looks through all of it, and gets memory of its own for it
        if len(os.listdir("/proc/self/task")) > 1:
            raise SystemExit("A process with threads cannot be copied.")
        is_copy = _fork_when_asked(channel)
    if is_copy:
        worker_process.main()


def _fork_when_asked(channel: socket.socket) -> bool:
    """Returns True in every copy, False in the template at its end."""
    copies: dict[int, tuple[int, socket.socket]] = {}  # by a descriptor of the process: its number, and who hears of it
    waiting = select.poll()
    waiting.register(channel, select.POLLIN)
    is_asked = True
    while is_asked or copies:
        for descriptor, _ in waiting.poll():
            if descriptor != channel.fileno():
                _tell_the_end(descriptor, *copies.pop(descriptor))
                waiting.unregister(descriptor)
                continue
            try:
                (own, environment), opened = receive(channel, 4)
            except (EOFError, ConnectionError):
                waiting.unregister(channel)
                is_asked = False
                continue
            life, *streams = opened
            try:
                pid = os.fork()
            except OSError:  # no more processes, or no memory: who asked hears that there is none
                pid = -1
            if pid == 0:
                for each, (_, other) in copies.items():
                    os.close(each)
                    other.close()
                os.close(life)
                _become(own, environment, streams)
                return True
            for each in streams:
                os.close(each)
            hearer = socket.socket(fileno=life)
            if pid < 0:
                hearer.close()
                continue
            copy = os.pidfd_open(pid)
            copies[copy] = pid, hearer
            waiting.register(copy, select.POLLIN)
            with suppress(OSError):  # nobody wants to know any more
                send(hearer, pid, [copy])
    return False


def _tell_the_end(descriptor: int, pid: int, life: socket.socket) -> None:
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    with life, suppress(OSError):
        send(life, code)
    os.close(descriptor)


def _become(own: str, environment: dict[str, str], streams: list[int]) -> None:
    """Makes of a copy what a process would be that had been started for itself."""
    os.setsid()
    os.chdir(own)
    os.environ.update(environment)
    tempfile.tempdir = None  # to be found anew, by that environment
    for number, each in enumerate(streams):
        os.dup2(each, number)
        os.close(each)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed()  # Python's own numbers differ in a copy by themselves
