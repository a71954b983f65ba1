# SPDX-License-Identifier: MIT
"""Pictures: their data and scripts byte for byte; that each is drawn, and drawn the same again."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace

import pytest

from answers import NODELAY, golden_check, matrix_of, refused, result_make, uncork
from conftest import ROOT
from drawn import draw, figure, made, needs_gnuplot, records_change
from drawn_readers import blocks_of
from suite.base.units import scale_choose
from suite.observe.measured import MeasuredRun
from suite.observe.metrics import METRICS
from suite.present.pictures.bars import Bar, Panel
from suite.present.pictures.canvas import Canvas
from suite.present.pictures.gnuplot import IMAGE_FORMATS
from suite.present.pictures.parts import gnuplot_value, name_safe, page_make
from suite.present.pictures.percentiles import unsent_text
from suite.present.pictures.plot import drawings_make
from suite.result.record import Record
from suite.scenario.scenario import PICTURES, Picture

TIME, SECONDS = METRICS["time_per_message"], scale_choose([1.0], "s")
HISTOGRAM_PICTURES = [kind for kind, key in PICTURES.items() if key == "of"]


def test_data_and_script_of_bars():
    (drawing,) = drawings_make(matrix_of(NODELAY))
    assert drawing.name == "time_per_message-bars"
    golden_check("bars.dat", drawing.data)
    golden_check("bars.gp", drawing.script)


@pytest.mark.parametrize("kind", HISTOGRAM_PICTURES)
def test_data_and_script_of_a_distribution(tmp_path, kind):
    few = replace(result_make.recipe_open(rounds=1),
                  sweep={"rate": ["500"], "write": ["nodelay", "writev"]})
    (drawing,) = drawings_make(made(tmp_path, few, f'\n[[picture]]\nkind = "{kind}"\n'))
    assert drawing.name == f"latency-{kind}"
    golden_check(f"{kind}.dat", drawing.data)
    golden_check(f"{kind}.gp", drawing.script)


def lines_of(drawing):
    """The lines of a .dat by name: pairs of numbers."""
    found = {}
    for block in blocks_of(drawing):
        head, *rows = block.strip().splitlines()
        found[head.removeprefix("# ")] = [tuple(map(float, row.split())) for row in rows]
    return found


def test_percentiles_are_the_quantiles_of_all_rounds_as_far_as_the_tail_was_seen(tmp_path):
    matrix = made(tmp_path, result_make.recipe_open(("20000",)),
                  '\n[[picture]]\nkind = "percentiles"\nof = "service"\n')
    (drawing,) = drawings_make(matrix)
    threads = [record.end("client")["threads"][0] for cell in matrix.cells if "write=writev" in cell
               for record in matrix.records_good(cell)]
    values = sorted(low + (width - 1) / 2 for thread in threads
                    for low, width, count in thread["service"]["bins"] for _ in range(count))
    points = lines_of(drawing)["writev"]
    assert points[0][0] == 1 and len(values) / 10**0.02 < points[-1][0] <= len(values)
    for nines in (1, 2, 3):
        x, value = points[50 * nines]
        rank = len(values) - len(values) // 10**nines
        assert x == 10**nines and value == pytest.approx(values[rank - 1] / 1000, rel=1e-5)


def test_an_ecdf_rises_from_the_smallest_value_to_all_that_were_sent_of_those_due(tmp_path):
    matrix = made(tmp_path, result_make.recipe_open(), '\n[[picture]]\nkind = "ecdf"\n')
    for drawing in drawings_make(matrix):
        for name, points in lines_of(drawing).items():
            unsent = float(name.partition("(")[2].partition("%")[0] or 0) / 100
            assert points == sorted(points) and points[0][1] == 0
            assert points[-1][1] == pytest.approx(1 - unsent, abs=0.006 if unsent else 0)
            assert [share for _, share in points] == sorted(share for _, share in points)


def test_lines_say_what_was_never_sent_and_why_there_is_none(tmp_path):
    pictures = '\n[[picture]]\nkind = "percentiles"\nx = "write"\n'
    drawings = drawings_make(made(tmp_path, result_make.recipe_open(), pictures))
    assert list(lines_of(drawings[2])) == ["nodelay (30% never sent)", "cork", "writev"]
    (tcp, unix) = drawings_make(made(tmp_path, result_make.recipe_transports(), pictures))
    assert "(" not in " ".join(lines_of(tcp))
    assert list(lines_of(unix)) == [
        "nodelay", "cork (unsupported)", "more (unsupported)", "coalesce (failed)"]


def test_a_picture_of_what_good_cells_do_not_have_is_left_out(tmp_path):
    path = result_make.result_write(result_make.recipe_open(("5000", "20000")), tmp_path)
    with (path / "scenario.toml").open("a") as file:
        file.write('\n[[picture]]\nkind = "ecdf"\nof = "service"\nx = "rate"\n')
    records_change(path, lambda record: record["words"]["write"] == "nodelay"
                   and record["client"]["threads"][0].pop("service"))
    assert [drawing.name for drawing in drawings_make(matrix_of(path))] == [
        "service-ecdf-cork", "service-ecdf-writev"]


@pytest.mark.parametrize("late, said", [
    (0, ""), (1, " (<0.1% never sent)"), (50, " (0.5% never sent)"), (9999, " (>99.9% never sent)"),
    (10000, " (100% never sent)")])
def test_nearly_nothing_and_nearly_all_are_not_rounded_to_nothing_and_all(late, said):
    thread = {"messages_sent": 10000 - late, "due": 10000, "late": late}
    record = {"words": {"rate": "5"}, "client": {"drives": True, "threads": [thread]}}
    assert unsent_text([MeasuredRun(Record(record))]) == said


@pytest.mark.parametrize("kind", HISTOGRAM_PICTURES)
def test_no_axes_are_drawn_of_cells_none_of_which_has_requests(tmp_path, kind):
    path = result_make.result_write(result_make.recipe_open(("5000", "20000")), tmp_path)
    def change(record):
        if record["words"]["rate"] == "5000":
            record["client"]["threads"][0].pop("latency")
            if record["words"]["write"] == "cork":
                record |= {"status": "unsupported", "reason": "no cork here"}
    records_change(path, change)
    assert [drawing.name for drawing in drawings_make(
        matrix_of(path), [Picture(kind, None, "latency", None, None)])] == [f"latency-{kind}-20000"]


def test_the_axis_of_a_distribution_names_its_lines_and_the_others_its_pictures(tmp_path):
    pictures = "".join(f'\n[[picture]]\nkind = "{kind}"\n{more}\n' for kind, more in (
        ("ecdf", ""), ("ecdf", 'x = "rate"\nname = "by rate"'), ("ecdf", 'of = "late_start"')))
    drawings = drawings_make(made(tmp_path, result_make.recipe_open(rounds=1), pictures))
    assert [drawing.name for drawing in drawings] == [
        "latency-ecdf-5000", "latency-ecdf-20000", "latency-ecdf-40000",
        "by_rate-nodelay", "by_rate-cork", "by_rate-writev",
        "late_start-ecdf-5000", "late_start-ecdf-20000", "late_start-ecdf-40000"]
    assert [*drawings[3].series] == ["rate=5000", "rate=20000", "rate=40000 (30% never sent)"]
    assert "latency from the intended start" in drawings[0].script
    assert "latency from the intended start" not in drawings[6].script


def test_a_word_that_the_cells_of_a_picture_do_not_use_is_neither_in_its_name_nor_its_title():
    axes = ("place", "rate", "pace")
    def page(*values):
        words = dict(zip(axes, values, strict=True))
        return page_make(None, Picture("ecdf"), "latency", words, ())
    unused, used = page("together", "closed", ""), page("apart", "2000", "spin")
    assert (unused.name, unused.place) == ("latency-ecdf-together-closed",
                                           "place=together rate=closed")
    assert used.name == "latency-ecdf-apart-2000-spin"


def test_a_long_title_has_several_lines_in_text():
    settings = Canvas().titles(100, 0, "it's " + "long " * 20, "", ())
    assert settings["headline_text"] == ("it's " + ("long " * 13).rstrip() + "\n"
                                         + ("long " * 7).rstrip())
    assert settings["title_lines"] == 2 and settings["signs_lines"] == 0


@needs_gnuplot
def test_percentiles_are_on_a_logarithmic_axis_only_if_they_span_a_lot(tmp_path):
    pictures = '\n[[picture]]\nkind = "percentiles"\nx = "rate"\n'
    recipe = result_make.recipe_open(("500", "900"), rounds=1)
    for drawing in draw(made(tmp_path, recipe, pictures), tmp_path):
        values = [value for points in lines_of(drawing).values() for _, value in points]
        steep = max(values) > 10 * min(values)
        assert f"steep = {int(steep)}\n" in drawing.script
    assert not steep  # of the last at least: no stall


@needs_gnuplot
@pytest.mark.parametrize("recipe", [
    result_make.recipe_open(), result_make.recipe_open(("20",), rounds=1),
    result_make.recipe_transports(),
], ids=lambda recipe: recipe.name)
def test_distributions_of_many_and_few_values_are_drawn(tmp_path, recipe):
    names = result_make.OF_OPEN_LOOPS if "open" in recipe.name else ("latency",)
    pictures = "".join(f'\n[[picture]]\nkind = "{kind}"\nof = "{of}"\n'
                       for kind in HISTOGRAM_PICTURES for of in names)
    for drawing in draw(made(tmp_path, recipe, pictures), tmp_path):
        text = (tmp_path / f"{drawing.name}.txt").read_text()
        assert recipe.name in text
        assert all(label in text for label in lines_of(drawing))


@needs_gnuplot
def test_the_same_picture_is_drawn_byte_for_byte(tmp_path):
    first, second = tmp_path / "a", tmp_path / "b"
    for folder in (first, second):
        folder.mkdir()
        draw(matrix_of(NODELAY), folder)
    for path in {*first.iterdir()} - {*first.glob("*.pdf")}:  # a PDF has the time in it
        assert path.read_bytes() == (second / path.name).read_bytes(), path.name


@needs_gnuplot
def test_unsupported_and_failed_cells_are_named_in_the_picture(tmp_path):
    (drawing,) = draw(made(tmp_path, result_make.recipe_transports()), tmp_path)
    golden_check("bars-transports.dat", drawing.data)
    text = (tmp_path / f"{drawing.name}.txt").read_text()
    assert text.count("unsupported") == 2 and "failed" in text


@needs_gnuplot
def test_pictures_of_a_scenario(tmp_path):
    pictures = ('\n[[picture]]\nkind = "bars"\nmetric = "segments_per_message"\n'
                '\n[[picture]]\nkind = "curve"\nx = "message"\nname = "by size"\n'
                '\n[[picture]]\nkind = "bars"\nx = "message"\nmetric = "cpu_per_byte"\n')
    drawings = draw(made(tmp_path, result_make.recipe_sizes(3, 4), pictures), tmp_path)
    assert [drawing.name for drawing in drawings] == [
        "segments_per_message-bars", "by_size", "cpu_per_byte-bars"]


@pytest.mark.parametrize("kind", HISTOGRAM_PICTURES)
def test_a_distribution_of_runs_without_requests_is_refused(tmp_path, kind):
    folder = result_make.result_write(result_make.recipe_buffers(rounds=1), tmp_path)
    assert f"picture: {kind}: no cell has the latency of its requests; kind=bars" in refused(
        "plot", folder, f"kind={kind}")


def test_two_pictures_of_one_name_get_names_of_their_own(tmp_path):
    twice = '\n[[picture]]\nkind = "bars"\n' + '\n[[picture]]\nkind = "bars"\nx = "write"\n'
    matrix = made(tmp_path, result_make.recipe_sizes(2, 2, rounds=1), twice)
    assert [drawing.name for drawing in drawings_make(matrix)] == [
        "bandwidth-bars", "bandwidth-bars-2"]


def test_many_bars_become_several_pictures(tmp_path):
    matrix = made(tmp_path, result_make.recipe_sizes(14, 4, rounds=1),
                  '\n[[picture]]\nkind = "bars"\n')
    names = [drawing.name for drawing in drawings_make(matrix)]
    assert names == ["bandwidth-bars-1", "bandwidth-bars-2"]


def test_bars_of_bare_numbers_name_their_word(tmp_path):
    matrix = made(tmp_path, result_make.recipe_open(rounds=1),
                  '\n[[picture]]\nkind = "bars"\nx = "rate"\n')
    (drawing,) = drawings_make(matrix)
    assert '"rate=5000"' in drawing.data and '"5000"' not in drawing.data


@needs_gnuplot
@pytest.mark.parametrize("words, names", [
    ((), ["time_per_message-bars"]),
    (("kind=heatmap,forest", "metric=cpu_per_message"),
     ["cpu_per_message-heatmap", "cpu_per_message-forest"])])
def test_the_command_names_its_pictures_and_keeps_data_and_script(tmp_path, words, names):
    done = uncork("plot", NODELAY, *words, "-o", tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [f"{tmp_path}/{name}.{form}" for name in names
                                   for form in ("png", "svg", "pdf", "txt")]
    assert {path.name for path in tmp_path.iterdir()} == {f"{name}.{form}" for name in names
        for form in ("dat", "gp", "png", "svg", "pdf", "txt")}


def test_a_missing_gnuplot_is_one_line_that_names_the_package(tmp_path):
    done = uncork("plot", NODELAY, "-o", tmp_path, PATH=str(tmp_path))
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert "gnuplot is missing: scripts/setup/target run installs it" in done.stderr


def with_picture(tmp_path, picture):
    """A result whose scenario names this picture beside that of NODELAY."""
    folder = shutil.copytree(NODELAY, tmp_path / "result")
    with (folder / "scenario.toml").open("a") as file:
        file.write(f"\n[[picture]]\n{picture}\n")
    return folder


@pytest.mark.parametrize("picture, said", [
    ('kind = "ecdf"\nof = "latencies"', '[picture] of cannot be "latencies": '
                                        "did you mean latency"),
    ('kind = "ecdf"\nmetric = "latency_p50"', '[picture] metric: "ecdf" takes of'),
    ('kind = "bars"\nof = "latency"', '[picture] of: "bars" takes metric'),
    ('kind = "percentile"', "did you mean percentiles"),
])
def test_pictures_that_cannot_be_are_refused(tmp_path, picture, said):
    assert said in refused("plot", with_picture(tmp_path, picture), "-o", tmp_path)


@needs_gnuplot
@pytest.mark.parametrize("picture, said", [
    ('kind = "bars"\nmetric = "bandwith"', "did you mean bandwidth"),
    ('kind = "curve"\nx = "mesage"', "did you mean message"),
    ('kind = "percentiles"\nx = "wirte"', "did you mean write"),
    ('kind = "curve"\nx = "write"', "write has fewer than two"),
])
def test_a_picture_of_the_scenario_that_cannot_be_drawn_is_left_out(tmp_path, picture, said):
    folder = with_picture(tmp_path, picture)
    done = uncork("plot", folder)
    assert done.returncode == 0 and done.stderr.count("\n") == 1, done.stderr
    assert done.stderr.startswith("uncork: left out: picture: ") and said in done.stderr
    assert done.stdout.split() == [f"{folder}/plots/time_per_message-bars.{form}"
                                   for form in IMAGE_FORMATS]


def test_a_run_for_which_no_picture_of_the_scenario_fits_says_what_to_choose(tmp_path):
    folder = result_make.result_write(result_make.recipe_sizes(3, 1, rounds=1), tmp_path)
    with (folder / "scenario.toml").open("a") as file:
        file.write('\n[[picture]]\nkind = "curve"\n')
    done = uncork("plot", folder)
    assert done.returncode == 1 and "choose one, kind=bars" in done.stderr
    assert not (folder / "plots").exists()


def test_names_become_file_names_and_strings_are_quoted():
    assert name_safe("a b/0.2/1.3=x") == "a_b_0.2_1.3_x"
    assert gnuplot_value("it's $1 \\n") == "'it''s $1 \\n'"
    assert gnuplot_value("two\nlines") == "'two'.\"\\n\".'lines'"


def panel_of(*figures):
    """A panel with bars of these figures."""
    cell = next(iter(matrix_of(NODELAY).cells.values()))
    return Panel("", TIME, SECONDS, [Bar("a", cell, one) for one in figures])


def test_a_bar_beside_bars_of_nothing_is_whole():
    def limit(*medians):
        return panel_of(*(figure(median, median, median) for median in medians)).own_end
    assert (limit(0, 0, 1.5), limit(0, 0, 0), limit(1, 2, 100)) == (1.5, 1, 2)


def test_a_label_says_how_far_a_whisker_goes_that_does_not_fit_on_the_axis():
    panel = panel_of(figure(1.0, 0.5, 9.0))
    assert panel.own_end == 2 and "up to 9" in panel.label(panel.bars[0], panel.own_end)


@needs_gnuplot
def test_a_pdf_has_its_fonts(tmp_path):
    draw(matrix_of(NODELAY), tmp_path)
    (pdf,) = tmp_path.glob("*.pdf")
    assert pdf.read_bytes().startswith(b"%PDF-")
    if shutil.which("pdffonts"):
        fonts = subprocess.run(["pdffonts", pdf], capture_output=True, text=True).stdout
        assert all("yes" in line for line in fonts.splitlines()[2:]) and "Sans" in fonts


@needs_gnuplot
def test_no_text_has_a_word_of_colour(tmp_path):
    kinds = [Picture(kind, None, None, None, kind) for kind in ("bars", "heatmap", "forest",
                                                                "order", "counts")]
    for drawing in draw(matrix_of(NODELAY), tmp_path, kinds):
        text = (tmp_path / f"{drawing.name}.txt").read_text()
        assert not re.search("blue|orange|grey|shaded|filled|hollow|colour", text), text


@needs_gnuplot
@pytest.mark.parametrize("steep", [False, True])
def test_tics_of_a_template_are_round_few_and_never_none(tmp_path, steep):
    ends = [(0.36, 1), (0.001, 1), (1, 1300), (0.1, 12), (0.9, 4.1), (6e-6, 2500)] if steep else [
        (0.98, 1.02), (0.6, 1.05), (0, 3), (0, 126), (9.999, 10.001)]
    asked = [(low, high, most) for low, high in ends for most in (1, 3, 9)]
    prints = (f"print tics('x', {low}, {high}, {steep:d}, {most})\n" for low, high, most in asked)
    (tmp_path / "tics.gp").write_text(
        "name = ''; width = 960; height = 500; head = 0; foot = 0; set print '-'\n"
        + (ROOT / "plots" / "start.gp").read_text() + "".join(prints))
    done = subprocess.run(["gnuplot", "tics.gp"], cwd=tmp_path, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    for (low, high, most), said in zip(asked, done.stdout.splitlines(), strict=True):
        begin, step = map(float, f"0,{said.split('tics ')[1]}".partition(";")[0].split(",")[-2:])
        digits = (1, 2, 5) if "add" in said else (1,)
        tics = [digit * begin * step**number for number in range(20) for digit in digits]
        count = sum(low < 1.001 * tic and tic < 1.001 * high for tic in tics) if steep else (
            (high - low) / step)
        assert f"{step:.0e}"[0] in "125" and 1 <= count <= max(most, 2.5) + 1, said
