"""One table of columns: the terminal and the page show the same ones, with both counts where they differ."""

from __future__ import annotations

import html
import json
import re
from dataclasses import fields

import numpy as np
import pytest

from autograder import cli, profile
from autograder.errors import Line
from autograder.records.counters import Counters, LineProfile
from autograder.reports.columns import COLUMNS, IN_BRACKETS, columns_of, footnotes
from autograder.reports.source_heat import annotated
from autograder.reports.source_text import counted_source
from autograder.simgpu.host import cuda_module

pytestmark = pytest.mark.quick

cuda = cuda_module.build_module()


@cuda.jit
def of_everything(a, out, bins):
    tile = cuda.shared.array((16, 16), np.float32)
    kept = cuda.local.array(16, np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    tile[y, x] = a[y, x]
    cuda.syncthreads()
    total = np.float32(0)
    for i in range(16):
        total += tile[y, i] * tile[i, x]
    kept[x % 16] = total
    if x % 3 == 0:
        out[y, x] = kept[0]
        cuda.atomic.add(bins, 0, 1)
    cuda.atomic.add(bins, x % 4, 1)


@pytest.fixture(scope="module")
def everything():
    a = np.ones((16, 16), np.float32)
    return profile(of_everything)[1, (16, 16)](a, np.zeros_like(a), np.zeros(4, np.int32))


def line_of(p, text):
    return next(each for each in p.lines if text in each.text)


def terminal_row(p, text, number=0):
    """The numbers before a source line, of the table's part with this number."""
    rows = [row for row in "\n".join(counted_source(p.lines, 400)).splitlines() if text in row]
    return rows[number].split(text)[0]


def test_the_terminal_shows_what_there_is_of_every_kind(everything):
    headings = " ".join(" ".join(counted_source(everything.lines, 80)).split())
    for word in ("atomic", "wavefronts", "barriers", "local", "divergent"):
        assert word in headings
    assert re.search(r"\b8 +8 ", terminal_row(everything, "cuda.syncthreads()"))  # 8 warps: barriers, instructions
    local = line_of(everything, "kept[x % 16]").counters
    assert local.local_store_requests == 8 and f"{local.local_store_sectors}" in terminal_row(everything, "kept[x % 16]")


def test_every_line_fits_the_terminal_and_no_column_is_lost(everything):
    narrow, wide = counted_source(everything.lines, 80), counted_source(everything.lines, 400)
    assert max(map(len, narrow)) <= 80
    numbers = [re.findall(r"[\d,.]+ \([\d,.]+\)", "\n".join(each)) for each in (narrow, wide)]
    assert len(numbers[0]) == 2 and sorted(numbers[0]) == sorted(numbers[1])


def test_both_tables_have_the_same_columns(everything):
    titles = [each.title for each in columns_of(everything.lines)]
    assert len(titles) > 10
    page = annotated(everything.lines)
    assert re.findall(r'<th scope="col" class="n"[^>]*>([^<]*)</th>', page) == titles
    words = " ".join(" ".join(counted_source(everything.lines, 400)).split())
    assert all(word in words for title in titles for word in title.split())


def test_both_counts_are_shown_where_they_differ(everything):
    line = line_of(everything, "total += tile")
    source, compiled = line.counters.shared_load_wavefronts, line.compiled.shared_load_wavefronts
    assert source > compiled > 0
    both = f"{source:,} ({compiled:,})"
    assert both in terminal_row(everything, "total += tile")
    assert "neighbouring elements are fetched together" in line.why
    page = annotated(everything.lines)
    shown = re.search(rf'{source:,} <span class="left" title="([^"]*)">\({compiled:,}\)</span>', page)
    assert shown and "fetched together" in html.unescape(shown[1])
    for text in (str(everything), page):
        assert " ".join(IN_BRACKETS.split()) in " ".join(html.unescape(text).split())


def test_a_footnote_names_the_line_and_why(everything):
    notes = footnotes(everything.lines, columns_of(everything.lines))
    adds = line_of(everything, "cuda.atomic.add(bins, 0, 1)")
    assert adds.counters.global_atomic_sectors > adds.compiled.global_atomic_sectors
    assert f"Line {adds.line.number}: a warp adds up what it has, and one lane sends it." in notes


def test_where_both_counts_are_the_same_there_are_no_brackets():
    counted = Counters(global_load_sectors=4, warp_instructions=2)
    lines = [LineProfile(Line("a.py", 1), "x = a[i]", counted, counted)]
    text = "\n".join(counted_source(lines, 80))
    assert "(" not in text and "In brackets" not in annotated(lines) and footnotes(lines, COLUMNS) == []


def test_what_only_the_compiler_has_is_shown_too():
    lines = [LineProfile(Line("a.py", 1), "x", Counters(), Counters(barriers=3))]
    assert "0 (3)" in "\n".join(counted_source(lines, 80)) and ">(3)</span>" in annotated(lines)


def test_every_column_is_a_counter_and_no_two_are_called_the_same():
    names = {each.name for each in fields(Counters)}
    assert all(each.field in names or isinstance(getattr(Counters, each.field), property) for each in COLUMNS)
    assert len({each.title for each in COLUMNS}) == len(COLUMNS) == len({each.field for each in COLUMNS})


def test_lines_of_several_files_are_told_apart():
    counted = Counters(barriers=1)
    lines = [LineProfile(Line(file, 7), "    wait()", counted, counted) for file in ("one.py", "two.py")]
    text = "\n".join(counted_source(lines, 80))
    assert text.index("one.py") < text.index("two.py") and text.count("7 wait()") == 2


def test_a_hostile_source_line_stays_on_its_line():
    lines = [LineProfile(Line("a.py", 1), "x = '\x1b[31m'" + "y" * 500, Counters(barriers=1), Counters())]
    rows = counted_source(lines, 80)
    assert max(map(len, rows)) <= 80 and "\x1b" not in "".join(rows)


def test_the_json_of_a_profile_has_both_counts_in_total_and_by_line(everything):
    form = json.loads(json.dumps(everything.to_dict()))
    of_lines = [
        sum(each[which]["shared_load_wavefronts"] for each in form["lines"]) for which in ("counters", "compiled")
    ]
    assert of_lines == [form[which]["shared_load_wavefronts"] for which in ("counters", "compiled")]
    assert of_lines[0] > of_lines[1]
    assert any("neighbouring elements are fetched together" in each["why"] for each in form["lines"])


def test_the_command_profile_shows_both_counts(tmp_path, capsys):
    script = tmp_path / "script.py"
    script.write_text(
        "import numpy as np\nfrom numba import cuda\n\n\n@cuda.jit\ndef squares(a, out):\n    i = cuda.grid(1)\n"
        "    if i < a.size:\n        out[i] = a[i] * a[i]\n\n\na = np.ones(64, np.float32)\nsquares[1, 64](a, a.copy())\n"
    )
    written = tmp_path / "profile.json"
    assert cli.main(["profile", f"{script}:squares", "--json", str(written)]) == 0
    assert "16 (8)" in capsys.readouterr().out
    assert json.loads(written.read_text())[0]["compiled"]["global_load_sectors"] == 8
