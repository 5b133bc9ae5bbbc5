package quote_test

import (
	"strings"
	"testing"

	"vzones/topology/quote"
)

func TestShown(t *testing.T) {
	for name, c := range map[string]struct{ in, value, plain, text string }{
		"empty":         {"", `""`, `""`, ""},
		"a word":        {"vm-12", `"vm-12"`, "vm-12", "vm-12"},
		"blanks":        {"a b", `"a b"`, `"a b"`, "a b"},
		"two lines":     {"a\nI1122 b", `"a\nI1122 b"`, `"a\nI1122 b"`, `a\nI1122 b`},
		"terminal":      {"\x1b[2J", `"\x1b[2J"`, `"\x1b[2J"`, `\x1b[2J`},
		"quotes":        {`a"b`, `"a\"b"`, `"a\"b"`, `a"b`},
		"not ASCII":     {"Zürich", `"Zürich"`, `"Zürich"`, "Zürich"},
		"reversed":      {"a\u202eb", `"a\u202eb"`, `"a\u202eb"`, `a\u202eb`},
		"no UTF-8":      {"a\xffb", `"a\xffb"`, `"a\xffb"`, "a\ufffdb"},
		"just short":    {strings.Repeat("x", 128), `"` + strings.Repeat("x", 128) + `"`, strings.Repeat("x", 128), strings.Repeat("x", 128)},
		"long":          {strings.Repeat("x", 129), `"` + strings.Repeat("x", 128) + `"… (129 bytes)`, `"` + strings.Repeat("x", 128) + `"… (129 bytes)`, strings.Repeat("x", 129)},
		"cut before ü":  {strings.Repeat("x", 127) + "üx", `"` + strings.Repeat("x", 127) + `"… (130 bytes)`, `"` + strings.Repeat("x", 127) + `"… (130 bytes)`, strings.Repeat("x", 127) + "üx"},
		"a long text":   {strings.Repeat("é ", 400), `"` + strings.Repeat("é ", 42) + `é"… (1200 bytes)`, `"` + strings.Repeat("é ", 42) + `é"… (1200 bytes)`, strings.Repeat("é ", 341) + "… (1200 bytes)"},
		"only rubbish":  {strings.Repeat("\x80", 200), `""… (200 bytes)`, `""… (200 bytes)`, strings.Repeat("\ufffd", 200)},
		"only trailing": {"\u0301", "\"\u0301\"", "\"\u0301\"", "\u0301"},
	} {
		if got := quote.Value(c.in); got != c.value {
			t.Errorf("%s: Value is %s, not %s", name, got, c.value)
		}
		if got := quote.Plain(c.in); got != c.plain {
			t.Errorf("%s: Plain is %s, not %s", name, got, c.plain)
		}
		if got := quote.Text(c.in); got != c.text {
			t.Errorf("%s: Text is %s, not %s", name, got, c.text)
		}
	}
}

// FuzzShown: whatever a value is, what is shown of it is one line of a bounded length.
func FuzzShown(f *testing.F) {
	f.Add("vm-1")
	f.Add("a\nb\u2028c\x80")
	f.Fuzz(func(t *testing.T, s string) {
		for name, shown := range map[string]string{"Value": quote.Value(s), "Plain": quote.Plain(s), "Text": quote.Text(s)} {
			if strings.ContainsAny(shown, "\n\r\u0085\u2028\u2029\x1b") || len(shown) > 10*quote.LongestText+100 {
				t.Errorf("%s of %q is %q", name, s, shown)
			}
		}
	})
}
