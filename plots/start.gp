# SPDX-License-Identifier: MIT
# Comes before each template and after the settings of the picture. The template then runs once for
# each format, in which text says whether it is a picture in text.
# All lengths are in units: a unit is a pixel on a screen, where letters have 11 pt.
# Settings of every picture: name, formats, width, height (its size), unit (in 1/96 in), png_scale
# (pixels of a png in 1/96 in), small_points (size of the small print), head, foot (heights of
# title and small print), headline (array of lines), small_print (array of lines; the first dark lines are
# about signs), headline_text (the title in text, title_lines lines), signs_text (the meaning of
# signs in text, signs_lines lines).
# Settings of pictures with series: series (their number), names, colours, points, dashes (arrays),
# widest (characters of the longest name), title_key (the word whose values the names are),
# key_columns, key_rows (of a key below the axes; 0 rows: it is on the right of the axes). If labels
# on the left have several lines, label_columns is their number.

data = name.".dat"
width = width * 1.0
height = height * 1.0
set macros
# The command that begins a picture. lines: its height in text of 72 columns; grain: size of points.
start(format, lines) = format eq "txt" \
    ? sprintf('set terminal dumb nofeed mono noenhanced size 72,%d', lines) \
    : format eq "svg" ? begin('svg', 1, 4 / 3.0, 1, sprintf('%.0f,%.0f', width, height)) \
    : format eq "png" ? begin('pngcairo', unit * png_scale, 1, 1, sprintf('%.0f,%.0f', \
                              width * unit * png_scale, height * unit * png_scale)) \
    : begin('pdfcairo', 0.75 * unit, 1, 2, \
            sprintf('%.4fin,%.4fin', width * unit / 96, height * unit / 96))
begin(terminal, scale, letters, lines, size) = sprintf('grain = %.4f; set terminal ', scale) \
    .terminal.' noenhanced font "Sans,11" background "#ffffff" ' \
    .sprintf('fontscale %.4f lw %.4f size ', scale * letters, scale * lines).size
sans(points) = sprintf('Sans,%g', points)
titles = 'do for [i = 1:|headline|] { set label headline[i] font sans(13) \
        at screen 0.5, screen 1 - (22.0 * i - 4) / height center }; \
    do for [i = 1:|small_print|] { set label small_print[i] font sans(small_points) \
        textcolor rgb (i > dark ? "#555555" : "#000000") \
        at screen 0.5, screen (foot - 17.0 * i + 4) / height center }'
titles_text = 'set label headline_text at screen 0.5, screen 1 center'
# The same, and opens the file and sets the titles.
titled(format, lines) = start(format, lines).'; set output name.".".format; ' \
    .(format eq "txt" ? titles_text : titles)
# The same, for axes with a key.
framed(format, lines) = titled(format, lines).'; set border 3; set tics nomirror out; ' \
    .(format eq "txt" ? 'set tmargin title_lines + 1; set key '.key_text \
    : 'set lmargin at screen axes_left; set rmargin at screen axes_right; ' \
      .'set tmargin at screen axes_top; set bmargin at screen axes_foot / height; set key '.key_drawn)
# In text the key is below the picture: beside it, names would take columns from the points.
key_lines = exists("series") ? ceil(series * (widest + 9.0) / 64) : 0
key_text = 'below left reverse Left samplen 2'
# In other formats the key is on the right of the axes, or below if they would get too narrow.
axes_left = (96 + (exists("label_columns") ? 18 * (label_columns - 1) : 0)) / width
axes_right = exists("series") && !key_rows ? (width - 84 - 8.6 * widest) / width : (width - 26) / width
axes_foot = foot + (exists("series") ? 18 * key_rows : 0) + 60
axes_top = 1 - (head + 12) / height
key_drawn = (exists("series") && key_rows \
    ? sprintf('at screen 0.5, screen %f center top horizontal maxcols %d', \
              (foot + 18 * key_rows) / height, key_columns) \
    : 'outside right center').' reverse Left samplen 2 title title_key'

