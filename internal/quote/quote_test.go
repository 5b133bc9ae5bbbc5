package quote_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"vzones/internal/quote"
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

// FuzzShown: the result for any value is one line of bounded length.
func FuzzShown(f *testing.F) {
	f.Add("vm-1")
	f.Add("a\nb\u2028c\x80")
	f.Fuzz(func(t *testing.T, s string) {
		for name, shown := range map[string]string{"Value": quote.Value(s), "Plain": quote.Plain(s), "Text": quote.Text(s), "Name": quote.Name(s), "Line": quote.Line(s), "Note": quote.Note(s)} {
			if strings.ContainsAny(shown, "\n\r\u0085\u2028\u2029\x1b") || len(shown) > 10*quote.LongestLine+100 {
				t.Errorf("%s of %q is %q", name, s, shown)
			}
		}
		for _, note := range []string{quote.Note(s), quote.NoteWith(s, s), quote.NoteWith("it fails", s), quote.NoteWith(s, "restart it")} {
			if len(note) > quote.LongestNote || !utf8.ValidString(note) || strings.ContainsAny(note, "\n\r\u2028") {
				t.Errorf("the note of %q has %d bytes: %q", s, len(note), note)
			}
		}
	})
}

func TestNote(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"usual":          {"vCenter \"east\": two tags (a, b)", "vCenter \"east\": two tags (a, b)"},
		"joined errors":  {"a\nb", "a; b"},
		"just short":     {strings.Repeat("x", 400), strings.Repeat("x", 400)},
		"long":           {strings.Repeat("x", 401), strings.Repeat("x", 397) + "…"},
		"cut before ü":   {strings.Repeat("x", 396) + "üüüüü", strings.Repeat("x", 396) + "…"},
		"escapes are in": {strings.Repeat("\x01", 1000), strings.Repeat(`\x01`, 99) + `\…`},
		"megabytes":      {strings.Repeat("x", 4_000_000), strings.Repeat("x", 397) + "…"},
	} {
		if got := quote.Note(c.in); got != c.want {
			t.Errorf("%s: the note is %q, not %q", name, got, c.want)
		}
	}
}

// TestNoteWith: no text truncates the advice.
func TestNoteWith(t *testing.T) {
	for name, c := range map[string]struct{ in, advice, want string }{
		"usual":      {"it fails", "restart it", "it fails; restart it"},
		"no advice":  {"it fails", "", "it fails"},
		"just fits":  {strings.Repeat("x", 388), "restart it", strings.Repeat("x", 388) + "; restart it"},
		"long":       {strings.Repeat("x", 389), "restart it", strings.Repeat("x", 385) + "…; restart it"},
		"not a ü":    {strings.Repeat("x", 384) + "üüü", "restart it", strings.Repeat("x", 384) + "…; restart it"},
		"two lines":  {"a\nb", "restart it", "a; b; restart it"},
		"much to do": {"it fails", strings.Repeat("y", 500), "it fails; " + strings.Repeat("y", 247) + "…"},
		"both long":  {strings.Repeat("x", 500), strings.Repeat("y", 500), strings.Repeat("x", 145) + "…; " + strings.Repeat("y", 247) + "…"},
	} {
		if got := quote.NoteWith(c.in, c.advice); got != c.want || len(got) > quote.LongestNote {
			t.Errorf("%s: the note is %q, not %q", name, got, c.want)
		}
	}
}

func TestSome(t *testing.T) {
	names := []string{"a", "b", "c", "d", "e"}
	for n, want := range map[int]string{0: "", 1: "a", 3: "a, b, c", 4: "a, b, c and 1 more", 5: "a, b, c and 2 more"} {
		if got := quote.Some(names[:n], 3); got != want {
			t.Errorf("some of %d are %q, not %q", n, got, want)
		}
	}
}

func TestErrors(t *testing.T) {
	a, b, c, d := errors.New("a"), errors.New("b"), errors.New("c"), errors.New("d")
	for _, test := range []struct {
		errs []error
		want string
	}{
		{[]error{nil, a, nil}, "a"},
		{[]error{a, nil, b}, "a; b"},
		{[]error{a, b, c}, "a; b; c"},
		{[]error{a, b, c, d}, "a; b; c; and 1 more"},
	} {
		err := quote.Errors(3, test.errs...)
		if err.Error() != test.want {
			t.Errorf("%v joined are %q, not %q", test.errs, err, test.want)
		}
		for _, one := range []error{a, b, c, d} {
			if errors.Is(err, one) != slices.Contains(test.errs, one) {
				t.Errorf("%q is %v: %v", err, one, errors.Is(err, one))
			}
		}
	}
	if err := quote.Errors(3, nil, nil); err != nil {
		t.Errorf("nothing joined is %v", err)
	}
}
