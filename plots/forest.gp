# SPDX-License-Identifier: MIT
# Forest plot: a ratio with its interval for each row, and its noise floor shaded around 1.
# Settings: label_x, lines (their number), widest (characters of the longest name), mark_columns
# (characters of the longest ratio), value_columns (with its interval, which text shows; other
# formats if intervals is 1).
# Columns of name.dat: line, ratio, low, high, type of point (-1: a heading), A/A interval, name,
# ratio as text, its interval as text.

lower(x) = x > ratio_low ? x : ratio_low
upper(x) = x < ratio_high ? x : ratio_high
heading(type) = type == -1 ? strcol(7) : ""
row(type) = type == -1 ? "" : strcol(7)
# Each row has a line of text, so the plot is as high as its number of lines.
eval titled(format, lines + 7 + title_lines + signs_lines)
unset key
set border 1
set tics nomirror out
set ytics scale 0
begin = text ? widest + 2.0 : 34 + 8.2 * widest
room = text ? 72 - begin - value_columns - 2 \
    : width - 16 - 8.9 * (intervals ? value_columns : mark_columns) - begin
eval ratio_tics('x', room / (text ? 6 : 50))
if (text) {
    # Titles would be centred above the ratios, and cut off if these have little room.
    set label label_x at screen 0.5, character signs_lines center
    set label signs_text at screen 0.5, character signs_lines - 1 center
    set yrange [lines - 0.5:-1]
    unset ytics
    set lmargin begin
    set rmargin value_columns + 2
    set tmargin title_lines + 1
    set bmargin 4 + signs_lines
    set arrow from first 1, graph 0 to first 1, graph 1 nohead
    # Labels without a text have a position too: gnuplot 5.4 crashes if all labels are at NaN.
    plot data using (valid(6) ? lower(1 / $6) : 1):1:(valid(6) ? "|" : "") with labels center, \
         "" using (valid(6) ? upper($6) : 1):1:(valid(6) ? "|" : "") with labels center, \
         "" using 3:1:($4-$3):(0) with vectors nohead, \
         "" using (valid(2) ? $2 : 1):1:(!valid(2) ? "" : strcol(5) eq "13" ? "#" : "o") \
             with labels center, \
         "" using (ratio_low):1:(row($5)) with labels right offset character -1,0, \
         "" using (ratio_high):1:(strcol(8)." ".strcol(9)) \
             with labels left offset character 1,0, \
         "" using (ratio_low):1:(heading($5)) with labels left
} else {
    set yrange [lines - 0.5:-0.5]
    set lmargin at screen begin / width
    set rmargin at screen (begin + room) / width
    set tmargin at screen 1 - (head + 2) / height
    set bmargin at screen (foot + 62) / height
    set grid xtics lc rgb "#dddddd" lt 1
    set label label_x at screen 0.5, screen (foot + 10) / height center
    set bars 0.6
    plot data using (lower(1 / $6)):1:(lower(1 / $6)):(upper($6)):($1-0.5):($1+0.5) \
             with boxxyerror fs solid 1.0 noborder fc rgb "#d4d4d4", \
         "" every ::0::0 using (1):(-0.5):(0):(lines) with vectors nohead lc rgb "#555555" dt 2, \
         "" using ($3 == $3 ? $2 : NaN):1:3:4:ytic(row($5)) \
             with xerrorbars pt 7 ps 0.01 lw 1.6 lc rgb "#333333", \
         "" using 2:1:5 with points pt variable ps 1.2 * grain lw 1.6 lc rgb "#333333", \
         "" using (ratio_high):1:(strcol(8).(intervals ? " ".strcol(9) : "")) \
             with labels left offset character 1,0, \
         "" using (ratio_low):1:(heading($5)) with labels left font "Sans Bold,11"
}
