"""JupyterLab for the course: served from its root, so that lessons and labs reach each other, with lesson 0 shown.

`make lab` and `python -m autograder lab` are this one function; the READMEs name no other command.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from ipykernel.ipkernel import IPythonKernel
from jupyter_client.kernelspec import NATIVE_KERNEL_NAME, NoSuchKernel
from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager
from jupyterlab.labapp import LabApp

from autograder.course_folder import FIRST_LESSON, course_root


class CourseContents(AsyncLargeFileManager):
    """Files as JupyterLab reads them anywhere, but a notebook comes with what its kernel will say of itself.

    JupyterLab writes the kernel's name and Python's version into a notebook as soon as the kernel has started. Where
    the file says anything else, a lesson that was only opened counts as changed: it asks to be saved, JupyterLab
    saves it by itself after two minutes, and git will not pull over it.
    """

    async def get(self, *arguments: Any, **options: Any) -> dict[str, Any]:
        """The model of a file or folder, as of the class above."""
        own: Any = super()
        model: dict[str, Any] = await own.get(*arguments, **options)
        if model["type"] == "notebook" and _names_this_kernel(model["content"]):
            with suppress(NoSuchKernel):
                application: Any = self.parent
                spec = application.kernel_spec_manager.get_kernel_spec(NATIVE_KERNEL_NAME)
                named = {"name": NATIVE_KERNEL_NAME, "display_name": spec.display_name, "language": spec.language}
                metadata = {"kernelspec": named, "language_info": dict(IPythonKernel.language_info)}
                model["content"]["metadata"].update(metadata)
        return model


def _names_this_kernel(notebook: Any) -> bool:
    """Whether it asks for the kernel of the Python that runs here; anybody's file is read, so anything may stand there."""
    try:
        return bool(notebook["metadata"]["kernelspec"]["name"] == NATIVE_KERNEL_NAME)
    except (KeyError, TypeError):
        return False


def open_course(options: Iterable[str] = ()) -> int:
    """Serves the course until it is stopped, and returns JupyterLab's exit status; `options` are JupyterLab's own.

    A user's settings stay in force but for these: what is served, how notebooks are read, and what is shown first.
    """
    ours = (
        f"--ServerApp.root_dir={course_root()}",
        "--FileContentsManager.preferred_dir=",  # one that lies elsewhere would keep the server from starting
        f"--ServerApp.contents_manager_class={CourseContents.__module__}.{CourseContents.__name__}",
        f"--LabApp.default_url=/lab/tree/{FIRST_LESSON}",  # unlike a file that is named, it is in the printed address
    )
    try:
        LabApp.launch_instance([*ours, *options])
    except SystemExit as stopped:
        return stopped.code if isinstance(stopped.code, int) else int(stopped.code is not None)
    return 0
