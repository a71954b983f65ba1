# SPDX-License-Identifier: MIT
# Forest plot: a ratio with its interval for each row, and its noise floor shaded around 1.
# Settings: label_x, lines (number of all lines, with headings and blank lines), heads (number of
# headings), bands (number of noise floors), ratios (number of ratios: gnuplot crashes if no point
# has a position), widest (characters of the longest name), value_columns, value_columns_text
# (characters of the longest text on the right, drawn and in text), label_rows (lines of label_x),
# label_x_text, left, right, logarithmic, and as macros tics_x, tics_text (as many as text has room
# for).
# Blocks of name.dat: line, ratio, low, high, type of point, name, right text in text, right text
# drawn; with heads: line, heading; with bands: low, high, first line, last line.

banded = heads > 0 ? 2 : 1
lower(x) = x > left ? x : left
upper(x) = x < right ? x : right
# Each row has a line of text, so the plot is as high as its number of lines.
eval titled(format, lines + 7 + title_lines + signs_lines)
unset key
set border 1
set tics nomirror out
set ytics scale 0
if (logarithmic) { set logscale x 2 }
set xrange [left:right]
if (text) {
    @tics_text
    # Titles would be centred above the ratios, and cut off if these have little room.
    set label label_x_text at screen 0.5, character signs_lines center
    set label signs_text at screen 0.5, character signs_lines - 1 center
    set yrange [lines - 0.5:-1]
    unset ytics
    set lmargin widest + 2
    set rmargin value_columns_text + 2
    set tmargin title_lines + 1
    set bmargin 4 + signs_lines
    set arrow from first 1, graph 0 to first 1, graph 1 nohead
    plot for [b = 1:bands > 0] data index banded using (lower($1)):($3+0.5):("|") \
             with labels center, \
         for [b = 1:bands > 0] "" index banded using (upper($2)):($3+0.5):("|") \
             with labels center, \
         data index 0 using 3:1:($4-$3):(0) with vectors nohead, \
         for [r = 1:ratios > 0] "" index 0 using 2:1:(strcol(5) eq "13" ? "#" : "o") \
             with labels center, \
         "" index 0 using (left):1:6 with labels right offset character -1,0, \
         "" index 0 using (right):1:7 with labels left offset character 1,0, \
         for [h = 1:heads > 0] "" index 1 using (left):1:2 with labels left
} else {
    @tics_x
    set yrange [lines - 0.5:-0.5]
    set lmargin at screen (34 + 8.2 * widest) / width
    set rmargin at screen (width - 16 - 8.9 * value_columns) / width
    set tmargin at screen 1 - (head + 2) / height
    set bmargin at screen (foot + 44 + 18 * label_rows) / height
    set grid xtics lc rgb "#dddddd" lt 1
    set label label_x at screen 0.5, screen (foot + 18 * label_rows - 8) / height center
    set bars 0.6
    plot for [b = 1:bands > 0] data index banded \
             using (lower($1)):3:(lower($1)):(upper($2)):3:4 \
             with boxxyerror fs solid 1.0 noborder fc rgb "#d4d4d4", \
         data index 0 every ::0::0 using (1):(-0.5):(0):(lines) \
             with vectors nohead lc rgb "#555555" dt 2, \
         "" index 0 using ($3 == $3 ? $2 : NaN):1:3:4:ytic(6) \
             with xerrorbars pt 7 ps 0.01 lw 1.6 lc rgb "#333333", \
         "" index 0 using 2:1:5 \
             with points pt variable ps 1.2 * grain lw 1.6 lc rgb "#333333", \
         "" index 0 using (right):1:8 with labels left offset character 1,0, \
         for [h = 1:heads > 0] "" index 1 using (left):1:2 with labels left font "Sans Bold,11"
}
