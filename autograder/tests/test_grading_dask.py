"""A class graded on a Dask cluster comes out as it does here."""

from __future__ import annotations

import builtins
from dataclasses import replace

import pytest

from autograder import cli
from autograder.errors import GraderFault, UsageError
from autograder.grading.class_grading import grade_class
from autograder.grading.dask_batch import of_one_kind
from autograder.grading.jobs import Greeting
from autograder.grading.labs import load_lab
from autograder.tests.grading_fakes import TEST_KIND
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


def greeting(device, source="measured"):
    return Greeting(device, source, ())


@pytest.mark.parametrize(
    ("greetings", "device", "addresses"),
    [
        ({"a": greeting("s", "simulated"), "b": greeting("s", "simulated")}, "s", ["a", "b"]),
        ({"a": greeting("s", "simulated"), "b": greeting("H200"), "c": greeting("s", "simulated")}, "H200", ["b"]),
        ({"a": greeting("A100"), "b": greeting("H200"), "c": greeting("H200")}, "H200", ["b", "c"]),
    ],
)
def test_a_class_is_graded_on_one_device_of_a_mixed_cluster(greetings, device, addresses):
    chosen, where = of_one_kind(greetings)
    assert (chosen.device, where) == (device, addresses)


@pytest.fixture
def mixed(monkeypatch):
    """A cluster of two workers with a GPU's name and one without, each in a process of its own."""
    distributed = pytest.importorskip("distributed", reason="dask and distributed are not installed (optional)")
    workers = {
        name: {"cls": distributed.Nanny, "options": {"nthreads": 1, "env": {TEST_KIND: kind}}}
        for name, kind in (("one", "GPU H"), ("two", "no GPU"), ("three", "GPU H"))
    }
    scheduler = {"cls": distributed.Scheduler, "options": {"dashboard_address": None, "port": 0}}
    monkeypatch.setattr("autograder.grading.dask_batch.SECONDS_BETWEEN_LOOKS", 0.2)
    with distributed.SpecCluster(workers=workers, scheduler=scheduler, silence_logs=50) as cluster:
        yield cluster


KIND = "autograder.tests.grading_fakes:KindDevice"


def test_verdicts_of_a_mixed_cluster_are_never_mixed_and_who_grades_nobody_is_said(folder, mixed, tmp_path):
    told: list[str] = []
    lab = load_lab("lab01")
    address = mixed.scheduler_address
    results = grade_class(lab, folder, tmp_path, device=KIND, dask=address, tell=told.append)
    assert {(each.device, each.source) for each in results} == {("GPU H", "measured")}
    assert told == ["1 of the 3 Dask workers grade nobody: the class is graded on GPU H."]


def test_where_none_of_the_kind_is_left_one_line_says_so_and_what_is_done_is_kept(folder, mixed, tmp_path, monkeypatch):
    from autograder.grading import dask_batch

    received = dask_batch.DaskBatch._received
    lost = [each for name, each in mixed.workers.items() if name != "two"]

    def and_then_lose_them(self, entry, future):
        result = received(self, entry, future)
        while lost:
            mixed.sync(lost.pop().close)
        return result

    for number in range(12):
        (tmp_path / "class").mkdir(exist_ok=True)
        (tmp_path / "class" / f"student{number}.py").write_text(f"{GOOD}# {number}\n")
    monkeypatch.setattr(dask_batch.DaskBatch, "_received", and_then_lose_them)
    with pytest.raises(GraderFault, match="No Dask worker that grades on GPU H is left"):
        grade_class(
            load_lab("lab01"), tmp_path / "class", tmp_path / "out", device=KIND, dask=mixed.scheduler_address
        )
    assert 1 <= len(list((tmp_path / "out" / "results").glob("*.json"))) < 12


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
