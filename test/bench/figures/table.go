package figures

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"
)

// none stands where a case has no such figure.
const none = "-"

// Print writes the report as text: the machine, a table with one row for each
// case, and one of the requests by kind. The tables are Markdown, too.
func (r *Report) Print(w io.Writer) error {
	short := ""
	if r.Short {
		short = ", short"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %d cores, %s/%s, %s; load average before: %.1f\n",
		orNone(r.Machine.CPU), r.Machine.Cores, r.Machine.OS, r.Machine.Arch, r.Machine.Go, r.Machine.Load)
	fmt.Fprintf(&b, "%s (%s), %g ms a request; began %s, took %.0f s%s\n\n",
		r.Daemon, orNone(r.Version), r.DelayMS, r.Began.UTC().Format(time.DateTime+" UTC"), r.Seconds, short)
	b.WriteString(table(r.cases()))
	if kinds := r.kinds(); len(kinds) > 1 {
		b.WriteString("\n" + table(kinds))
	}
	for _, c := range r.Cases {
		for _, note := range c.Notes {
			fmt.Fprintf(&b, "\n%s: %s\n", c.Name, note)
		}
		if c.Error != "" {
			fmt.Fprintf(&b, "\n%s could not be measured: %s\n", c.Name, c.Error)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// cases are the rows of the table of cases, the headings first.
func (r *Report) cases() [][]string {
	rows := [][]string{{
		"case", "Nodes", "vCenters", "time of", "time s", "floor s", "/ floor", "healthy s", "/ healthy",
		"requests", "max/vCenter", "KiB", "CPU s", "floor CPU s", "peak MiB", "floor MiB", "rest MiB", "limits",
	}}
	for _, c := range r.Cases {
		row := []string{
			c.Name, fmt.Sprint(c.Nodes), fmt.Sprint(c.VCenters), orNone(c.TimeOf),
			c.Daemon.seconds(), c.Floor.seconds(), decimal(c.ToFloor), c.Healthy.seconds(), decimal(c.ToHealthy),
		}
		if c.Daemon != nil && c.Daemon.Requests != nil {
			row = append(row, fmt.Sprint(c.Daemon.Requests.Total), fmt.Sprint(c.Daemon.Requests.MaxPerVCenter), c.Daemon.Requests.kibibytes())
		} else {
			row = append(row, none, none, none)
		}
		row = append(row, c.Daemon.cpu(), c.Floor.cpu(), c.Daemon.peak(), c.Floor.peak(), c.Daemon.rest(), c.limits())
		rows = append(rows, row)
	}
	return rows
}

// kinds are the rows of the table of requests, the headings first.
func (r *Report) kinds() [][]string {
	heading := []string{"requests of the daemon"}
	var counted []*Requests
	for _, c := range r.Cases {
		if c.Daemon != nil && c.Daemon.Requests != nil {
			heading = append(heading, c.Name)
			counted = append(counted, c.Daemon.Requests)
		}
	}
	rows := [][]string{heading}
	for _, kind := range r.Kinds() {
		row := []string{kind}
		for _, requests := range counted {
			if n := requests.ByKind[kind]; n > 0 {
				row = append(row, fmt.Sprint(n))
			} else {
				row = append(row, none)
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// table lays rows out in columns. Columns of figures are aligned to the right.
func table(rows [][]string) string {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell), len("---"))
		}
	}
	right := make([]bool, len(widths))
	for i := range right {
		right[i] = figures(rows[1:], i)
	}
	var b strings.Builder
	for n, row := range rows {
		for i, cell := range row {
			padding := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if right[i] {
				cell = padding + cell
			} else {
				cell += padding
			}
			b.WriteString("| " + cell + " ")
		}
		b.WriteString("|\n")
		if n == 0 {
			for i, width := range widths {
				rule := strings.Repeat("-", width+1)
				if right[i] {
					b.WriteString("| " + rule[:width] + ":")
				} else {
					b.WriteString("| " + rule[:width] + " ")
				}
			}
			b.WriteString("|\n")
		}
	}
	return b.String()
}

// figures reports whether a column holds nothing but numbers.
func figures(rows [][]string, column int) bool {
	for _, row := range rows {
		if strings.Trim(row[column], "0123456789.") != "" && row[column] != none {
			return false
		}
	}
	return true
}

func (c *Case) limits() string {
	if c.Error != "" {
		return "NOT MEASURED"
	}
	texts := make([]string, len(c.Limits))
	for i, l := range c.Limits {
		texts[i] = l.String()
	}
	return orNone(strings.Join(texts, "; "))
}

// String returns the figure, the limit and whether it is met.
func (l Limit) String() string {
	result := "ok"
	if !l.OK {
		result = "OVER"
	}
	return fmt.Sprintf("%s %.3g, limit %g: %s", l.Of, l.Value, l.Max, result)
}

func (r *Reading) seconds() string {
	if r == nil {
		return none
	}
	return decimal(r.Seconds)
}

func (r *Reading) cpu() string {
	if r == nil {
		return none
	}
	return fmt.Sprintf("%.2f", r.CPUSeconds)
}

func (r *Reading) peak() string {
	if r == nil {
		return none
	}
	return fmt.Sprintf("%.0f", mebibytes(r.PeakBytes))
}

func (r *Reading) rest() string {
	if r == nil || r.RestBytes == 0 {
		return none
	}
	return fmt.Sprintf("%.0f", mebibytes(r.RestBytes))
}

func (r *Requests) kibibytes() string { return fmt.Sprintf("%.0f", float64(r.Bytes)/(1<<10)) }

// decimal writes a figure that is never 0 where there is one.
func decimal(f float64) string {
	if f == 0 {
		return none
	}
	return fmt.Sprintf("%.2f", f)
}

func orNone(s string) string {
	if s == "" {
		return none
	}
	return s
}
