package load

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"vzones/config"
)

// costly generates inputs of about n kilobytes that could take more than linear time.
var costly = map[string]func(n int) string{
	"unclosed bracket, many lines": turns("vcenter: [\n", "  aaaa: bbbbbbbbbbbbbbbbbbbbbbbb,\n"),
	"unclosed bracket, long lines": turns("vcenter: [\n", "  "+strings.Repeat("aaaa, ", 170)+"\n"),
	"unclosed quote":               turns("vcenter:\n  a: \"\n", "  bbbbbbbbbbbbbbbbbbbbbbbb\n"),
	"error in the last line":       turns("vcenter:\n", "- bbbbbbbbbbbbbbbbbbbbbbbb\n", " x: [}\n"),
	"deep brackets":                turns("vcenter: ", "["),
	"one long line":                turns("vcenter: ", "a"),
	"tabs in lines":                turns("vcenter:\n", "\t\t\t\tx: 1\n"),
	"unknown keys":                 turns("", "k%08d: 1\n"),
	"repeated keys":                turns("vcenter: {}\n", "global: {}\n"),
	"anchors":                      turns("vcenter:\n", "  k%06d: &a%06[1]d {}\n"),
	"vCenters":                     turns("global: {user: u, password: p}\nvcenter:\n", "  a%06d: {server: vc%06[1]d.example.com}\n"),
	"levels":                       turns("topology:\n  levels:\n", "  - {label: l%06d, tag: t%06[1]d}\n"),
	"datacenters":                  turns("global:\n  datacenters:\n", "  - dc%06d\n"),
	"subnets":                      turns("nodes:\n  internalNetworkSubnetCidr: \"", "10.0.0.0/8,", "\"\n"),
	"networks":                     turns("nodes:\n  networks:\n", "  - nw%06d\n"),
	"labels":                       turns("nodes:\n  labels:\n", "    k%06d: v\n"),
	"selector":                     turns("nodes:\n  selector: \"", "k%06d=v,", "\"\n"),
	"template":                     turns("labels: {zone: {value: \"", "{region}", "\"}, region: r}\n"),
	"aliases of a mapping":         turns("x: &x\n", "  k%06d: 1\n", "vcenter:\n", "  v%06d: *x\n"),
	"aliases of a list":            turns("x: &x [", "{a: 1}, ", "]\nvcenter:\n", "  v%06d: {datacenters: *x}\n"),
	"merges":                       turns("x: &x\n", "  k%06d: 1\n", "vcenter:\n", "  v%06d: {<<: *x}\n"),
	"laughs": func(n int) string {
		s := "a0: &a0 {user: lol}\n"
		for i := range 30 {
			s += fmt.Sprintf("a%d: &a%[1]d {<<: [%s]}\n", i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i), n), ", "))
		}
		return s + "vcenter: {v: *a30}\n"
	},
	"pyramid of merges": func(n int) string {
		s := "vcenter:\n  vc0.example.com: &m0 {user: u, password: p}\n"
		for i := range n {
			s += fmt.Sprintf("  vc%d.example.com: &m%[1]d {<<: [*m%d, *m%[2]d]}\n", i+1, i)
		}
		return s
	},
	"INI sections":      turns("", "[VirtualCenter \"vc%06d.example.com\"]\n"),
	"INI odd sections":  turns("", "[s%06d]\n"),
	"INI keys":          turns("[Global]\n", "k%06d = 1\n"),
	"INI repeated":      turns("", "[Global]\nuser = u\n"),
	"INI broken lines":  turns("[Global]\n", "= x\n"),
	"INI open quotes":   turns("[Global]\n", "a = \"x\n"),
	"INI open sections": turns("", "[Global\n"),
	"INI continued":     turns("[Global]\nuser = ", "a\\\n"),
	"INI bad escapes":   turns("[Global]\n", "a = \"\\x\"\n"),
	"INI datacenters":   turns("[Global]\ndatacenters = \"", "dc%06d, ", "\"\n"),
	"certificates":      turns("global:\n  caData: \"", "-----BEGIN CERTIFICATE-----", "\"\n"),
	"half certificates": turns("global:\n  caData: |\n", "    -----BEGIN X-----\n"),
}

// turns returns a text of parts, in which every second part is repeated to fill n kilobytes.
func turns(parts ...string) func(n int) string {
	return func(n int) string {
		var b strings.Builder
		for i, part := range parts {
			if i%2 == 0 {
				b.WriteString(part)
			} else {
				one := manyKeys(1, part)
				b.WriteString(manyKeys(n*1024/len(one)/(len(parts)/2), part))
			}
		}
		return b.String()
	}
}

// manyKeys repeats a text, in which %d is the number of the repetition.
func manyKeys(n int, format string) string {
	if !strings.Contains(format, "%") {
		return strings.Repeat(format, n)
	}
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// took returns the processor time for reading a text, which other processes do not affect.
func took(t *testing.T, text string) time.Duration {
	t.Helper()
	began := used(t)
	_, _ = Parse("f", []byte(text))
	return used(t) - began
}

func used(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestCostFollowsLength checks that twice the length takes about twice the time at most.
func TestCostFollowsLength(t *testing.T) {
	for name, of := range costly {
		t.Run(name, func(t *testing.T) {
			const n = 48 // kilobytes
			shorter, longer := of(n), of(2*n)
			var ratio float64
			for range 5 { // Garbage collection disturbs single measurements.
				one, two := took(t, shorter), took(t, longer)
				if ratio = float64(two) / float64(one); ratio < 3 || two < 20*time.Millisecond {
					return
				}
				t.Logf("%d bytes in %v, %d in %v", len(shorter), one, len(longer), two)
			}
			t.Errorf("twice the length takes %.1f times as long", ratio)
		})
	}
}

// TestLargest checks that the largest accepted file takes seconds, and that a larger file is rejected
// at once.
func TestLargest(t *testing.T) {
	for _, name := range []string{"unclosed bracket, many lines", "unclosed bracket, long lines", "aliases of a mapping", "INI datacenters"} {
		text := costly[name](1024)
		if len(text) > config.MaxSize {
			text = text[:config.MaxSize]
		}
		if d := took(t, text); d > 20*time.Second {
			t.Errorf("reading the file of %s took %v, want at most 20 s", name, d)
		}
	}
	_, err := Parse("f", make([]byte, config.MaxSize+1))
	if want := "f:1: the file has 1048577 bytes: the limit is 1048576, the size of a ConfigMap"; err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}

// TestBounds checks that each limit gives one error.
func TestBounds(t *testing.T) {
	for says, text := range map[string]string{
		"f:1000: there may be more errors than these 1000: correct these first":         manyKeys(5000, "k%08d: 1\n"),
		"vcenter.a001000: there are more than 1000 vCenters: write fewer":               costly["vCenters"](200),
		"topology.levels[100]: there are more than 100 levels: write fewer":             costly["levels"](200),
		`["vc001000"]: there are more than 1000 vCenters: write fewer`:                  "[Global]\nuser = u\npassword = p\n" + manyKeys(2000, "[VirtualCenter \"vc%06d\"]\n"),
		"nodes.networks[1000]: there are more than 1000 names of networks: write fewer": "vcenter: {10.0.0.1: {user: u, password: p}}\n" + costly["networks"](100),
		"f:1: the aliases (*) and merges (<<) expand to more than":                      "global: {datacenters: &x [" + strings.Repeat("a, ", 2000) + "]}\nvcenter:\n" + manyKeys(900, "  v%06d: {datacenters: *x}\n"),
	} {
		_, err := Parse("f", []byte(text))
		if err == nil || strings.Count(err.Error(), says) != 1 && !strings.Contains(says, `["vc`) || strings.Count(err.Error(), "\n") > 1000 {
			t.Errorf("%s: got %.300v", says, err)
		}
	}
	c, err := Parse("f", []byte("global: {user: u, password: p, datacenters: ["+strings.Repeat("a, ", 5000)+"]}\nvcenter: {10.0.0.1: }\n"))
	if err != nil || len(c.Warnings) > 1000+1 {
		t.Errorf("%d warnings, %v", len(c.Warnings), err)
	}
}
