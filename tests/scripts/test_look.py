# SPDX-License-Identifier: MIT
"""How pictures look: their size in print and on a screen, title, axes, small print."""

from __future__ import annotations

import re
import shutil
import xml.etree.ElementTree as ElementTree
import zlib
from itertools import combinations

import pytest
from picture_make import recipe_verdicts

from answers import NODELAY, matrix_of, refused, result_make, uncork
from drawn import made, needs_gnuplot, signs_of, size_of, title_of
from suite.base.errors import UsageError
from suite.contrast.contrast import same_reach
from suite.observe.metrics import METRICS
from suite.present.pictures.canvas import Canvas, canvas_of
from suite.present.pictures.gnuplot import drawing_write
from suite.present.pictures.plot import drawings_make
from suite.scenario.scenario import PICTURES, Picture, scenario_load, scenario_text

KINDS = [kind for kind, key in PICTURES.items() if key != "of"]


def asked(kind, x=None, metric=None, **looks):
    """One picture with words for its looks."""
    return Picture(kind, metric, None, x, None, **looks)


class Text:
    """A text of an SVG: its letters and roughly the box that they fill, in units."""

    def __init__(self, group, text):
        place = re.match(r"translate\(([-\d.]+),([-\d.]+)\)", group["transform"])
        x, y = map(float, place.groups())
        self.points, self.letters = float(group["font-size"]), "".join(text.itertext())
        long, anchor = 0.5 * self.points * len(self.letters), group["text-anchor"]
        begin = {"start": 0, "middle": -long / 2, "end": -long}[anchor]
        high = 0.7 * self.points
        self.box = ((x - high, y - begin - long, x, y - begin) if "rotate" in group["transform"]
                    else (x + begin, y - high, x + begin + long, y))

    def touches(self, other):
        """Whether the two overlap."""
        return (self.box[0] < other.box[2] and other.box[0] < self.box[2]
                and self.box[1] < other.box[3] and other.box[1] < self.box[3])


def texts_of(path):
    """All texts of an SVG, and its width and height in units."""
    root = ElementTree.parse(path).getroot()
    found = [Text(group.attrib, text) for group in root.iter() if "transform" in group.attrib
             for text in group if text.tag.endswith("text") and "".join(text.itertext()).strip()]
    found = [*{(text.letters, text.box): text for text in found}.values()]  # a box has it twice
    return found, [*map(float, root.get("viewBox").split()[2:])], root


@needs_gnuplot
@pytest.mark.parametrize("size", [None, "column", "120x130mm", "700x640px"])
@pytest.mark.parametrize("recipe", [result_make.recipe_sizes(5, 4), result_make.recipe_transports(),
                                    recipe_verdicts(), result_make.recipe_buffers()],
                         ids=lambda recipe: recipe.name)
def test_no_label_of_any_size_is_cut_or_lies_on_another(tmp_path, recipe, size):
    matrix = made(tmp_path, recipe)
    for kind in PICTURES:
        try:
            drawings = drawings_make(matrix, [asked(kind, size=size)])[:2]
        except UsageError as error:
            assert re.search("has fewer than two|needs a height|nothing was counted|no cell has",
                             str(error))
            continue
        for drawing in drawings:
            drawing_write(drawing, tmp_path, ("svg",))
            texts, (width, height), _ = texts_of(tmp_path / f"{drawing.name}.svg")
            assert (width, height) == (drawing.settings["width"], drawing.settings["height"])
            for text in texts:
                assert text.box[0] >= 0 and text.box[1] >= 0, text.letters
                assert text.box[2] <= width and text.box[3] <= height, (text.letters, drawing.name)
            for one, other in combinations([text for text in texts if text.letters != "//"], 2):
                assert not one.touches(other), (one.letters, other.letters, drawing.name)


def page_points(pdf):
    """The width of the page of a PDF, which newer versions of cairo write in a packed stream."""
    packed = re.findall(rb"stream\r?\n(.*?)\r?\nendstream", pdf, re.DOTALL)
    texts = [pdf, *(zlib.decompressobj().decompress(one) for one in packed if one[:1] == b"x")]
    return next(float(box[1]) for text in texts
                if (box := re.search(rb"/MediaBox \[ 0 0 ([\d.]+) ", text)))


@needs_gnuplot
@pytest.mark.parametrize("size, inches", [
    ("column", 3.3), ("page", 6.9), ("4x5in", 4), ("4x5", 4), ("127x120mm", 5)])
def test_a_picture_for_print_has_its_size_in_all_formats_and_letters_of_7_pt(
        tmp_path, size, inches):
    (drawing,) = drawings_make(matrix_of(NODELAY), [asked("bars", size=size)])
    assert drawing.name == f"time_per_message-bars-{size}"
    drawing_write(drawing, tmp_path)
    path = tmp_path / drawing.name
    assert size_of(path.with_suffix(".png"))[0] == pytest.approx(300 * inches, abs=2)
    assert page_points(path.with_suffix(".pdf").read_bytes()) == pytest.approx(72 * inches, abs=1)
    texts, (width, _), root = texts_of(path.with_suffix(".svg"))
    assert root.get("width").endswith("in")
    assert float(root.get("width")[:-2]) == pytest.approx(inches, abs=0.005)
    assert min(72 * inches / width * text.points for text in texts) >= 7


def test_a_size_in_pixels_is_that_of_a_screen_which_is_as_wide_as_a_page():
    assert canvas_of(asked("bars", size="1280x720px")) == Canvas(1280, 720, size="1280x720px")
    page = canvas_of(asked("bars", size="page"))
    assert (page.width, page.height) == (Canvas().width, Canvas().height)


@needs_gnuplot
def test_the_text_of_a_picture_has_72_columns_and_its_title_in_all_sizes(tmp_path):
    texts = []
    for looks in ({}, {"size": "column", "title": "no", "note": "no"}):
        (drawing,) = drawings_make(matrix_of(NODELAY), [asked("bars", **looks)])
        drawing_write(drawing, tmp_path, ("txt",))
        texts.append((tmp_path / f"{drawing.name}.txt").read_text())
    assert texts[0] == texts[1]


@needs_gnuplot
@pytest.mark.parametrize("kind", KINDS)
def test_title_and_note_can_be_left_out_and_signs_stay(tmp_path, kind):
    matrix = made(tmp_path, recipe_verdicts())
    looks = {key: drawings_make(matrix, [asked(kind, "message" if kind == "curve" else None,
                                               **({key: "no"} if key else {}))])[0]
             for key in ("", "title", "note")}
    for key, drawing in looks.items():
        assert (title_of(drawing) == "") == (key == "title")
        printed = " ".join(drawing.settings["small_print"])
        assert ("Invented CPU" in printed) == (key != "note")
        dark = drawing.settings["dark"]
        assert drawing.settings["small_print"][:dark] == looks[""].settings["small_print"][:dark]
    assert looks["title"].settings["height"] == looks[""].settings["height"] - 22
    assert looks["note"].settings["height"] < looks[""].settings["height"]


@pytest.mark.parametrize("words, said", [
    (["size=colum"], 'size must be column, page or WIDTHxHEIGHT, as in 5x3in, 120x80mm'),
    (["size=5x3cm"], 'not "5x3cm"'), (["title=off"], 'title cannot be "off" (there is no, yes)'),
    (["size=1x1in"], "size=1x1in: a picture is 3.2 to 29 in wide, or 440 to 4000 px"),
    (["size=99999x300px"], "a picture is 3.2 to 29 in wide"),
    (["size=4x1in"], "this picture needs a height of 3.3 in (84 mm)"),
    (["size=500x100px"], "this picture needs a height of"),
])
def test_a_look_that_cannot_be_is_refused_in_one_line(tmp_path, words, said):
    assert said in refused("plot", NODELAY, "kind=bars", *words, "-o", tmp_path)


@needs_gnuplot
def test_words_for_looks_hold_for_the_pictures_of_the_scenario(tmp_path):
    done = uncork("plot", NODELAY, "size=column", "title=no", "note=no", "-o", tmp_path)
    assert done.returncode == 0, done.stderr
    assert {line.rpartition("/")[2].rpartition(".")[0] for line in done.stdout.split()} == {
        "time_per_message-bars-column"}


def test_a_scenario_says_how_its_pictures_look(tmp_path):
    path = tmp_path / "looks.toml"
    path.write_text('[[picture]]\nkind = "bars"\nsize = "column"\ntitle = "no"\nnote = "no"\n')
    scenario = scenario_load(path)
    assert scenario.pictures == (asked("bars", size="column", title="no", note="no"),)
    path.write_text(scenario_text(scenario))
    assert scenario_load(path).pictures == scenario.pictures
    path.write_text('[[picture]]\nkind = "bars"\nsize = "wide"\n')
    with pytest.raises(UsageError, match=r"\[picture\] size must be column, page or WIDTHxHEIGHT"):
        scenario_load(path)


def dots_of_series(drawing):
    """The blocks of rounds of a picture: pairs of numbers or triples."""
    return {block.splitlines()[0].removeprefix("# rounds "): [
        tuple(map(float, line.split())) for line in block.splitlines()[1:] if line[:1] != "#"]
        for block in drawing.data.split("\n\n\n") if block.startswith("# rounds")}


def test_bars_have_a_dot_for_every_round_whose_bar_is_whole_and_say_which_lie_beyond():
    matrix = matrix_of(NODELAY)
    (drawing,) = drawings_make(matrix, [asked("bars")])
    dots = dots_of_series(drawing)
    assert list(dots) == ["place=together", "place=apart"]
    values = matrix.series(next(name for name in matrix.cells if "together" in name
                                and name.endswith("write=cork")), "time_per_message").values
    row = [value for value, row in dots["place=together"] if 1.5 < row < 2.5]
    assert row == pytest.approx(1e6 * values, rel=1e-5)
    shown = sum(map(len, dots.values()))
    beyond = int((re.search(r"dots: rounds \((\d+) beyond", signs_of(drawing)) or [0, 0])[1])
    whole = [name for name in matrix.cells if not name.endswith("write=nagle")]
    assert shown + beyond == sum(len(matrix.series(name, "time_per_message")) for name in whole)


def test_a_bar_that_is_cut_has_no_dots_not_even_beyond_the_axis(verdicts):
    (drawing, *_) = drawings_make(verdicts, [asked("bars", "message", "bandwidth")])
    assert "//" in drawing.data and signs_of(drawing) == (
        "x: ratio to nodelay; //: bar cut off; ~: undecided; dots: rounds")


def test_dots_do_not_move_and_a_count_that_is_the_same_in_every_round_has_none():
    matrix = matrix_of(NODELAY)
    assert len({drawings_make(matrix, [asked("bars")])[0].data for _ in range(3)}) == 1
    (drawing,) = drawings_make(matrix, [Picture("bars", "sends_per_message")])
    assert not dots_of_series(drawing) and "dots" not in signs_of(drawing)


@pytest.mark.parametrize("kind", ["bars", "curve"])
def test_dots_and_bands_are_there_where_there_is_room_or_where_asked(tmp_path, kind):
    matrix = made(tmp_path, result_make.recipe_sizes(8, 4))
    many = {points: dots_of_series(drawings_make(matrix, [asked(kind, points=points)])[0])
            for points in (None, "yes", "no")}
    assert many["yes"] and not many["no"] and bool(many[None]) == (kind == "bars")


def test_a_round_far_beyond_all_intervals_does_not_make_a_curve_flat(tmp_path):
    matrix = made(tmp_path, recipe_verdicts())
    (drawing,) = drawings_make(matrix, [asked("curve", "message", points="yes")])
    ends = [float(line.split()[3]) for block in drawing.data.split("\n\n\n")[:6]
            for line in block.splitlines()[1:] if line.split()[3] != "NaN"]
    shown = [value for dots in dots_of_series(drawing).values() for _, value, _ in dots]
    assert max(shown) <= 1.2 * max(ends) * 1.001


def test_the_ratios_of_a_curve_stand_on_the_interval_of_a_a_at_each_position(tmp_path):
    matrix = made(tmp_path, result_make.recipe_sizes(3, 5, rounds=7))
    (drawing,) = drawings_make(matrix, [asked("curve")])
    (block,) = [block for block in drawing.data.split("\n\n\n") if "# A/A interval" in block]
    rows = [tuple(map(float, line.split())) for line in block.splitlines()[1:]]
    first, *rows, last = rows
    assert (first[0], last[0]) == pytest.approx(
        (drawing.settings["left"], drawing.settings["right"]), rel=1e-4)
    floors = [same_reach(matrix, cell, "bandwidth") for cell in matrix.cells.values()
              if cell.baseline]
    assert sorted(row[2] for row in rows) == pytest.approx(sorted(floors), rel=1e-4)
    assert "grey: A/A interval, at most" in signs_of(drawing)


@pytest.mark.parametrize("kind", ["percentiles", "ecdf"])
def test_a_band_is_the_interval_of_the_median_of_rounds(tmp_path, kind):
    matrix = made(tmp_path, result_make.recipe_open(("500", "900"), rounds=7))
    (drawing, *_) = drawings_make(matrix, [Picture(kind, None, "latency", "rate", None)])
    bands = dots_of_series(drawing)
    assert len(bands) == len(drawing.series) == 2
    for name, rows in bands.items():
        assert rows and all(low <= high for _, low, high in rows), name
        assert [row[0] for row in rows] == sorted(row[0] for row in rows)
    assert "shaded: 95 % interval of the median of rounds" in signs_of(drawing)
    (without, *_) = drawings_make(matrix, [
        Picture(kind, None, "latency", "rate", None, points="no")])
    assert not dots_of_series(without) and "shaded" not in signs_of(without)


def test_a_single_round_has_no_dots_and_no_band(tmp_path):
    matrix = made(tmp_path, result_make.recipe_open(("500",), rounds=1))
    for kind in ("bars", "percentiles"):
        (drawing, *_) = drawings_make(matrix, [Picture(kind)])
        assert not dots_of_series(drawing)


def test_titles_name_words_as_they_are_typed(tmp_path):
    matrix = made(tmp_path, result_make.recipe_replies(rounds=1))
    than = "reply_write=nodelay"
    for kind, said in (
            ("heatmap", f"messages per second, times faster than {than}: replies, transport=unix'"),
            ("forest", f"messages per second against {than} (higher is better): replies'")):
        assert said in drawings_make(matrix, [asked(kind, metric="messages_per_second")])[0].script


def titled(folder, name):
    """The titles of all kinds of pictures of the stored result under this name."""
    matrix = matrix_of(shutil.copytree(NODELAY, folder / name))
    kinds = [asked(kind) for kind in ("bars", "heatmap", "forest", "order", "counts")]
    return [title_of(drawing) for drawing in drawings_make(matrix, kinds)]


def test_a_title_names_the_scenario_and_not_the_folder_which_may_look_like_a_unit(tmp_path):
    assert titled(tmp_path, "us") == titled(tmp_path, "ms")
    assert all(": nodelay" in title for title in titled(tmp_path, "s"))


def test_a_title_of_words_alone_names_the_result_behind_the_metric(tmp_path):
    matrix = made(tmp_path, result_make.recipe_sizes(3, 1))
    (drawing,) = drawings_make(matrix)
    assert matrix.result.scenario.question == ""
    assert title_of(drawing) == "bandwidth, Mbit/s (higher is better): sizes-3-1"


@pytest.mark.parametrize("metric, said", [
    ("time_per_message", "time per message, us"), ("cpu_per_message", "CPU per message, us"),
    ("messages_per_second", "messages per second, thousands"),
    ("segments_per_message", "segments per message"),
])
def test_axes_say_the_metric_in_words_and_its_unit(metric, said):
    labels = {kind: drawings_make(matrix_of(NODELAY), [asked(kind, metric=metric)])[0].settings
              for kind in ("bars", "forest", "heatmap", "order")}
    text = METRICS[metric].text
    assert labels["bars"]["label_x"] == said
    assert labels["bars"]["signs_text"].startswith("[ ]: 95 % interval; x: ratio to nodelay")
    assert labels["forest"]["label_x"] == "ratio to write=nodelay"
    assert labels["heatmap"]["label_x"] == "place"
    assert labels["order"]["label_y"] == f"{text} / median of its cell"
    assert METRICS["latency_p999"].text == "latency p99.9"
