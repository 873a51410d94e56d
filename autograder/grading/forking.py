"""Workers by forking: to import all that a worker needs takes a second, so one process does it, and each worker is its copy.

The template (template_process.py) is started with the first worker and is as clean as one: it has an environment
and a session of its own, and nothing of the grader's in its memory. It reads no submission, opens no GPU and has no threads;
each copy puts up its own walls. It ends with the grader. Where the system cannot do this (Linux can), or the template does
not come up, there is no copy, and a worker starts by itself. As with all forks, what copies imported has the same addresses
in each.
"""

from __future__ import annotations

import array
import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO, Any

CAN_FORK = hasattr(os, "pidfd_open") and hasattr(signal, "pidfd_send_signal") and hasattr(socket, "SCM_RIGHTS")
MOST_BYTES = 1 << 16  # of a message
PIPE_BYTES = 1 << 20  # as much as Linux gives to everybody
LOST = -9  # the code of a copy of which nobody can say how it ended
BOOTSTRAP = "import sys; sys.path[:] = {path!r}; from autograder.grading.template_process import main; main()"


def send(channel: socket.socket, message: object, descriptors: Sequence[int] = ()) -> None:
    """Sends a message, as JSON, with these open files."""
    with_it = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else []
    channel.sendmsg([json.dumps(message).encode()], with_it)


def receive(channel: socket.socket, most: int = 0, flags: int = 0) -> tuple[Any, list[int]]:
    """The next message, and the open files that came with it, `most` of them. Raises `EOFError` at the end."""
    descriptors = array.array("i")
    data, with_it, _, _ = channel.recvmsg(MOST_BYTES, socket.CMSG_LEN(most * descriptors.itemsize) if most else 0, flags)
    for _, _, part in with_it:
        descriptors.frombytes(part[: len(part) - len(part) % descriptors.itemsize])
    if not data:
        raise EOFError
    return json.loads(data), list(descriptors)


def widen(pipe: int) -> None:
    """Has a pipe hold a megabyte in place of 64 KB, where a system lets us: an array through it takes half of the time."""
    import fcntl  # where there are copies, there it is

    with suppress(OSError):
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, PIPE_BYTES)


class Forked:
    """A copy of the template: as much of `subprocess.Popen` as a worker asks for."""

    def __init__(self, life: socket.socket, stdin: IO[bytes], stdout: IO[bytes]) -> None:
        self.stdin, self.stdout = stdin, stdout
        self.pid = 0  # of a copy that has begun
        self._life = life  # on which the template tells of the copy twice: when it has begun, and when it has ended
        self._pidfd = -1
        self._code: int | None = None
        self._lock = threading.Lock()

    def has_begun(self, seconds: float) -> bool:
        """Whether there is a copy, or was; waits that long for a template that is still busy."""
        if self._pidfd < 0 and self._code is None:
            self._look(seconds)
        return self._pidfd >= 0

    def poll(self) -> int | None:
        """The code with which it ended, a signal's number below 0; None while it runs."""
        while self._code is None and self._look(0):
            pass
        return self._code

    def wait(self) -> int:
        """Waits until it has ended; the code."""
        while self._code is None:
            self._look(None)
        return self._code

    def kill(self) -> None:
        if self.has_begun(0):
            with suppress(OSError):  # it has gone
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
        else:
            self._code = LOST  # if it still begins, it finds that nobody gives it a job, and ends

    def _look(self, seconds: float | None) -> bool:
        """Waits that long for the template to tell something; whether it did."""
        if not select.select([self._life], [], [], seconds)[0]:
            return False
        with self._lock:
            try:
                told, opened = receive(self._life, 1, socket.MSG_DONTWAIT)
            except BlockingIOError:  # another thread has heard it
                return True
            except (EOFError, OSError):  # the template has gone
                self._code = LOST if self._code is None else self._code
                return True
            if opened:
                self.pid, (self._pidfd,) = told, opened
            else:
                self._code = told
            return True

    def __del__(self) -> None:
        self._life.close()
        if self._pidfd >= 0:
            os.close(self._pidfd)


class Template:
    """The grader's side of a template, for workers with this module path and this environment."""

    def __init__(self, path: Sequence[str], environment: Mapping[str, str], stderr: int) -> None:
        self.made_for = (list(path), dict(environment))
        self.owner = os.getpid()
        self._channel, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with other:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-c", BOOTSTRAP.format(path=list(path))],
                stdin=other.fileno(), stdout=subprocess.DEVNULL, stderr=stderr,
                env=environment, cwd=os.sep, start_new_session=True,
            )  # fmt: skip

    def serves(self, path: Sequence[str], environment: Mapping[str, str]) -> bool:
        """Whether it can be asked, by this process (a fork of the grader is not it), for such a worker."""
        return (
            self.made_for == (list(path), dict(environment))
            and self.owner == os.getpid()
            and self._process.poll() is None
        )

    def fork(self, own: str, environment: Mapping[str, str], stderr: int) -> Forked:
        """A copy whose folder is `own`, with more variables in its environment. Raises `OSError` where it has gone."""
        (jobs, to_jobs), (from_answers, answers) = os.pipe(), os.pipe()
        for each in (to_jobs, answers):
            widen(each)
        life, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        made = Forked(life, os.fdopen(to_jobs, "wb"), os.fdopen(from_answers, "rb"))
        try:
            send(self._channel, [own, dict(environment)], (other.fileno(), jobs, answers, stderr))
        finally:
            other.close()
            os.close(jobs)
            os.close(answers)
        return made

    def close(self) -> None:
        """Has it end, as soon as its copies have."""
        self._channel.close()

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        self._channel.close()


_template: Template | None = None
_lock = threading.Lock()


def fork(
    path: Sequence[str], environment: Mapping[str, str], own: str, own_environment: Mapping[str, str], stderr: int
) -> Forked | None:
    """A worker's process that is a copy of this process's template, which is started where there is none; None where that
    cannot be done here."""
    global _template
    if not CAN_FORK:
        return None
    with _lock:
        if _template is None or not _template.serves(path, environment):
            _close()
            _template = Template(path, environment, stderr)
        try:
            return _template.fork(own, own_environment, stderr)
        except OSError:
            return None


def give_up() -> None:
    """Ends a template that does not come up; the next worker gets another one."""
    with _lock:
        if _template is not None and _template.owner == os.getpid():
            _template.kill()


def _close() -> None:
    global _template
    template, _template = _template, None
    if template is not None and template.owner == os.getpid():
        template.close()


atexit.register(_close)
