# bars.gp: one bar a scenario, from base to how many times less the patched kernel takes. Variables: in, out, heading, rows, top
# in: name, base / patched, label
set terminal svg size 860, 90 + 20 * rows font "sans-serif,13" background "white"
set output out
set title heading
set logscale x
set xrange [0.5:top * 20]
set yrange [rows - 0.3:-0.7]
set xlabel "times less than base (logarithmic); rows within 0.5 % of base are left out"
set format x "%g"
set grid xtics lc rgb "#cccccc"
set border 3 lc rgb "#444444"
set tics nomirror
set ytics scale 0
set lmargin 22
set style fill solid 1 noborder
set key off
plot in using (1):0:(1):2:($0 - 0.36):($0 + 0.36):(column(2) >= 1 ? 0x2f6fb5 : 0xc0392b):ytic(1) with boxxyerror lc rgb variable, \
	in using (column(2) > 1 ? column(2) : 1):0:3 with labels left offset 0.6, 0
