# SPDX-License-Identifier: MIT
# Stands in front of each template, behind the settings of the picture.
# Every picture sets: name, formats, headline, headline_text (the same in title_lines lines), note,
# signs (what signs mean), signs_text (the same for a picture in text, in signs_lines lines).
# Pictures of series also set: series (their number), names, colours, points, dashes (arrays),
# widest (characters of the longest name), title_key (what the names are values of).

data = name.".dat"
set macros
look = ' noenhanced font "Sans,11" background "#ffffff" size '
# The command that begins a picture: height in pixels, or so many lines of 72 columns.
start(format, height, lines) = format eq "txt" \
    ? sprintf('set terminal dumb nofeed mono noenhanced size 72,%d', lines) \
    : 'set terminal '.(format eq "svg" ? 'svg fontscale 1.3'.look.sprintf('960,%d', height) \
    : format eq "png" ? 'pngcairo'.look.sprintf('960,%d', height) \
    : 'pdfcairo fontscale 1 lw 2'.look.sprintf('%.4fin,%.4fin', 960 / 72.0, height / 72.0))
# The command for headline, signs and note. A long headline is small.
large(letters) = letters < 95 ? 13 : letters < 135 ? 1235 / letters : 9
titles(height) = text ? 'set label headline_text at screen 0.5, screen 1 center' \
    : sprintf('set label headline at screen 0.5, screen %f center font "Sans,%d";', \
              1 - 18.0 / height, large(strlen(headline))) \
    .sprintf('set label signs at screen 0.5, screen %f center font "Sans,9";', 27.0 / height) \
    .sprintf('set label note at screen 0.5, screen %f center font "Sans,9" ', 10.0 / height) \
    .'textcolor rgb "#555555"'
# The key stands below a picture in text: names would take the columns of the points.
key_lines = exists("series") ? ceil(series * (widest + 9.0) / 64) : 0
key_text = 'below left reverse Left samplen 2'
key_drawn = 'outside right center reverse Left samplen 2 title title_key'

