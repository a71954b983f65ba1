# SPDX-License-Identifier: MIT
# Comes before each template and after the settings of the picture. The template then runs once for
# each format, in which text says whether it is a picture in text.
# All lengths are in units: a unit is a pixel on a screen, where letters have 11 pt.
# Settings of every picture: name, formats, width, height (its size), unit (in 1/96 in), png_scale
# (pixels of a png in 1/96 in), small_points (size of the small print), head, foot (heights of
# title and small print), headline (array of lines), small_print (array of lines; the first dark
# lines are about signs), headline_text (the title in text, title_lines lines), signs_text (the
# meaning of signs in text, signs_lines lines).
# Settings of pictures with series: series (their number), names, colours, points, dashes (arrays),
# key_rows (of the key, which is below the axes), label_y (above the axes). Settings of axes of
# ratios: ratio_low, ratio_high, ratio_steep (1 for a logarithmic axis).

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
# The same, for axes with a key below them and with label_y above them.
framed(format, lines) = titled(format, lines).'; set border 3; set tics nomirror out; ' \
    .(format eq "txt" ? 'set tmargin title_lines + 1; set key below left reverse Left samplen 2' \
    : 'set lmargin at screen axes_left; set rmargin at screen axes_right; ' \
      .'set tmargin at screen axes_top; set bmargin at screen axes_foot; '.above.key_drawn)
longest = 0
if (exists("series")) {
    do for [i = 1:series] { longest = strlen(names[i]) > longest ? strlen(names[i]) : longest }
    key_lines = ceil(series * (longest + 9.0) / 64) # of the key in text
    key_top = foot + 18.0 * key_rows
    axes_foot = (key_top + 60) / height
}
axes_left = 96 / width
axes_right = 1 - 26 / width
axes_top = 1 - (head + 30) / height
above = 'set label 99 label_y at graph 0, graph 1 offset 0,0.9; '
key_drawn = 'set key at screen 0.5, screen key_top / height center top horizontal ' \
    .'reverse Left samplen 2'
# Tics of an axis, at most so many but at least one beside the first: multiples of a round step. On
# a logarithmic axis they are powers of 10, and where there is room also 2 and 5 times these.
round_digit(x) = x < 2 ? 1 : x < 5 ? 2 : 5
round_down(x) = 10.0**floor(log10(x)) * round_digit(x / 10.0**floor(log10(x)))
power_step(decades, most) = most > 2 || decades < 4 ? ceil(decades / most) : floor(decades / 2)
powers(low, step) = sprintf('%.9g, %.9g', 10.0**(step * floor(log10(low) / step)), 10.0**step)
tics(axis, low, high, steep, most) = 'set '.axis.'tics ' \
    .(!steep ? sprintf('%.9g', round_down((high - low) / (most > 2.5 ? most / 2.5 : 1.0))) \
    : 4 * log10(high / low) > most ? powers(low, power_step(log10(high / low), most)) \
    : powers(low, 1).'; do for [e = -12:12] { set '.axis.'tics add (2 * 10.0**e, 5 * 10.0**e) }')
ratio_tics(axis, most) = tics(axis, ratio_low, ratio_high, ratio_steep, most) \
    .'; set '.axis.'range [ratio_low:ratio_high]; set format '.axis.' "%gx"; ' \
    .(ratio_steep ? 'set logscale '.axis : '')
