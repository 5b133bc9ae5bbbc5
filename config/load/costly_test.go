package load

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"vzones/config"
)

// costly are inputs that could take more than time in proportion to their length;
// each returns about n kilobytes.
var costly = map[string]func(n int) string{
	"unclosed bracket, many lines": func(n int) string {
		return "vcenter: [\n" + strings.Repeat("  aaaa: bbbbbbbbbbbbbbbbbbbbbbbb,\n", n*1024/32)
	},
	"unclosed bracket, long lines": func(n int) string {
		return "vcenter: [\n" + strings.Repeat("  "+strings.Repeat("aaaa, ", 170)+"\n", n)
	},
	"unclosed quote": func(n int) string {
		return "vcenter:\n  a: \"\n" + strings.Repeat("  bbbbbbbbbbbbbbbbbbbbbbbb\n", n*1024/27)
	},
	"mistake in the last line": func(n int) string {
		return "vcenter:\n" + strings.Repeat("- bbbbbbbbbbbbbbbbbbbbbbbb\n", n*1024/27) + " x: [}\n"
	},
	"deep brackets": func(n int) string { return "vcenter: " + strings.Repeat("[", n*1024) },
	"one long line": func(n int) string { return "vcenter: " + strings.Repeat("a", n*1024) },
	"tabs in lines": func(n int) string { return "vcenter:\n" + strings.Repeat("\t\t\t\tx: 1\n", n*1024/9) },
	"unknown keys":  func(n int) string { return manyKeys(n*1024/14, "k%08d: 1\n") },
	"repeated keys": func(n int) string { return "vcenter: {}\n" + strings.Repeat("global: {}\n", n*1024/11) },
	"anchors":       func(n int) string { return "vcenter:\n" + manyKeys(n*1024/26, "  k%06d: &a%06d {}\n") },
	"vCenters": func(n int) string {
		return "global: {user: u, password: p}\nvcenter:\n" + manyKeys(n*1024/40, "  a%06d: {server: vc%06[1]d.example.com}\n")
	},
	"levels": func(n int) string {
		return "topology:\n  levels:\n" + manyKeys(n*1024/40, "  - {label: l%06d, tag: t%06[1]d}\n")
	},
	"datacenters": func(n int) string { return "global:\n  datacenters:\n" + manyKeys(n*1024/14, "  - dc%06d\n") },
	"subnets": func(n int) string {
		return "nodes:\n  internalNetworkSubnetCidr: \"" + strings.Repeat("10.0.0.0/8,", n*1024/11) + "\"\n"
	},
	"networks": func(n int) string { return "nodes:\n  networks:\n" + manyKeys(n*1024/14, "  - nw%06d\n") },
	"labels":   func(n int) string { return "nodes:\n  labels:\n" + manyKeys(n*1024/16, "    k%06d: v\n") },
	"selector": func(n int) string { return "nodes:\n  selector: \"" + manyKeys(n*1024/10, "k%06d=v,") + "\"\n" },
	"template": func(n int) string {
		return "labels: {zone: {value: \"" + strings.Repeat("{region}", n*128) + "\"}, region: r}\n"
	},
	"aliases of a mapping": func(n int) string {
		return "x: &x\n" + manyKeys(n*1024/40, "  k%06d: 1\n") + "vcenter:\n" + manyKeys(n*1024/40, "  v%06d: *x\n")
	},
	"aliases of a list": func(n int) string {
		return "x: &x [" + strings.Repeat("{a: 1}, ", n*64) + "]\nvcenter:\n" + manyKeys(n*1024/40, "  v%06d: {datacenters: *x}\n")
	},
	"merges": func(n int) string {
		return "x: &x\n" + manyKeys(n*1024/40, "  k%06d: 1\n") + "vcenter:\n" + manyKeys(n*1024/40, "  v%06d: {<<: *x}\n")
	},
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
	"INI sections":      func(n int) string { return manyKeys(n*1024/40, "[VirtualCenter \"vc%06d.example.com\"]\n") },
	"INI odd sections":  func(n int) string { return manyKeys(n*1024/12, "[s%06d]\n") },
	"INI keys":          func(n int) string { return "[Global]\n" + manyKeys(n*1024/14, "k%06d = 1\n") },
	"INI repeated":      func(n int) string { return strings.Repeat("[Global]\nuser = u\n", n*1024/18) },
	"INI broken lines":  func(n int) string { return "[Global]\n" + strings.Repeat("= x\n", n*256) },
	"INI open quotes":   func(n int) string { return "[Global]\n" + strings.Repeat("a = \"x\n", n*1024/7) },
	"INI open sections": func(n int) string { return strings.Repeat("[Global\n", n*128) },
	"INI continued":     func(n int) string { return "[Global]\nuser = " + strings.Repeat("a\\\n", n*341) },
	"INI bad escapes":   func(n int) string { return "[Global]\n" + strings.Repeat("a = \"\\x\"\n", n*1024/9) },
	"INI datacenters":   func(n int) string { return "[Global]\ndatacenters = \"" + manyKeys(n*1024/10, "dc%06d, ") + "\"\n" },
	"certificates": func(n int) string {
		return "global:\n  caData: \"" + strings.Repeat("-----BEGIN CERTIFICATE-----", n*38) + "\"\n"
	},
	"half certificates": func(n int) string { return "global:\n  caData: |\n" + strings.Repeat("    -----BEGIN X-----\n", n*46) },
}

func manyKeys(n int, format string) string {
	var b strings.Builder
	for i := range n {
		if strings.Contains(format, "[1]") || strings.Count(format, "%") == 1 {
			fmt.Fprintf(&b, format, i)
		} else {
			fmt.Fprintf(&b, format, i, i)
		}
	}
	return b.String()
}

// took returns the processor time that reading a text takes: others use the processor too.
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

// TestCostFollowsLength: twice as long a file takes no more than about twice as long to
// read, or to refuse.
func TestCostFollowsLength(t *testing.T) {
	for name, of := range costly {
		t.Run(name, func(t *testing.T) {
			const n = 48 // kilobytes
			shorter, longer := of(n), of(2*n)
			var ratio float64
			for range 5 { // memory is cleared now and then
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

// TestLargest: the largest file that is read at all takes seconds and not minutes, and
// one byte more nothing.
func TestLargest(t *testing.T) {
	for _, name := range []string{"unclosed bracket, many lines", "unclosed bracket, long lines", "aliases of a mapping", "INI datacenters"} {
		text := costly[name](1024)
		if len(text) > config.MaxSize {
			text = text[:config.MaxSize]
		}
		if d := took(t, text); d > 20*time.Second {
			t.Errorf("%s: %v", name, d)
		}
	}
	_, err := Parse("f", make([]byte, config.MaxSize+1))
	if want := "f:1: the file has 1048577 bytes: at most 1048576 can be read, which is what a ConfigMap holds"; err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}

// TestBounds: what is too much says so, once.
func TestBounds(t *testing.T) {
	for says, text := range map[string]string{
		"f:1000: there may be more mistakes than these 1000: correct these first":       manyKeys(5000, "k%08d: 1\n"),
		"vcenter.a001000: there are more than 1000 vCenters: write fewer":               costly["vCenters"](200),
		"topology.levels[100]: there are more than 100 levels: write fewer":             costly["levels"](200),
		`["vc001000"]: there are more than 1000 vCenters: write fewer`:                  "[Global]\nuser = u\npassword = p\n" + manyKeys(2000, "[VirtualCenter \"vc%06d\"]\n"),
		"nodes.networks[1000]: there are more than 1000 names of networks: write fewer": "vcenter: {10.0.0.1: {user: u, password: p}}\n" + costly["networks"](100),
		"f:1: the aliases (*) and merges (<<) make the file stand for more than":        "global: {datacenters: &x [" + strings.Repeat("a, ", 2000) + "]}\nvcenter:\n" + manyKeys(900, "  v%06d: {datacenters: *x}\n"),
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
