"""A class graded on a Dask cluster comes out as it does here."""

from __future__ import annotations

import builtins
from dataclasses import replace

import pytest

from autograder import cli
from autograder.errors import UsageError
from autograder.grading.class_grading import grade_class
from autograder.grading.labs import load_lab
from autograder.tests.test_grading_bad_input import GOOD


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dask") / "class"
    folder.mkdir()
    (folder / "ann.py").write_text(GOOD)
    (folder / "bob.py").write_text(GOOD.replace("total = 0.0", "total = 1.0"))
    (folder / "cem.py").write_text("def broken(:\n")
    (folder / "eve.pdf").write_text("x")
    return folder


@pytest.fixture(scope="module")
def address():
    distributed = pytest.importorskip("distributed", reason="dask and distributed are not installed (optional)")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    ) as cluster:
        yield cluster.scheduler_address


def without_the_clock(result):
    return replace(result, graded_at="", seconds=0.0)


def test_a_class_comes_out_the_same_and_a_second_run_takes_it_over(folder, address, tmp_path):
    lab = load_lab("lab01")
    here = grade_class(lab, folder, tmp_path / "here", device="simulated", jobs=1)
    there = grade_class(lab, folder, tmp_path / "there", device="simulated", dask=address)
    assert [without_the_clock(each) for each in there] == [without_the_clock(each) for each in here]
    assert [each.outcome for each in there] == ["passed", "failed", "failed", "failed"]
    names = ("gradebook.csv", "class.json")
    assert all((tmp_path / "here" / n).read_bytes() == (tmp_path / "there" / n).read_bytes() for n in names)
    again = grade_class(lab, folder, tmp_path / "there", device="simulated", dask=address)
    assert [each.graded_at for each in again[:3]] == [each.graded_at for each in there[:3]]


def test_no_scheduler_is_one_line(folder, address, tmp_path, monkeypatch):
    monkeypatch.setattr("autograder.grading.dask_batch.CONNECT_SECONDS", 0.5)
    with pytest.raises(UsageError, match="No Dask scheduler answers at tcp://127.0.0.1:1"):
        grade_class(load_lab("lab01"), folder, tmp_path, dask="tcp://127.0.0.1:1")


def test_where_dask_is_not_installed_one_line_says_so(folder, tmp_path, monkeypatch, capsys):
    really_import = builtins.__import__

    def without_dask(name, *rest):
        if name.split(".")[0] in ("dask", "distributed"):
            raise ImportError(name)
        return really_import(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without_dask)
    command = ["grade", "lab01", str(folder), "--out", str(tmp_path / "out"), "--dask", "tcp://127.0.0.1:8786"]
    assert cli.main(command) == 2
    message = capsys.readouterr().err
    assert "--dask needs the package distributed" in message and "pip install dask distributed" in message
    assert len(message.splitlines()) == 1
