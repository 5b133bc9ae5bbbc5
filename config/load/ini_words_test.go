package load

import (
	"strconv"
	"testing"
)

func TestINIPasswordsAreTakenAsByTheCPI(t *testing.T) {
	for written, want := range map[string]string{
		`12345678`:             `12345678`,
		`a#b`:                  `a`,
		`a;b`:                  `a`,
		`"a#b;c"`:              `a#b;c`,
		`"with \"quotes\""`:    `with "quotes"`,
		`with \"quotes\"`:      `with "quotes"`,
		`"back\\slash"`:        `back\slash`,
		`a=b`:                  `a=b`,
		`" blanks  "`:          ` blanks  `,
		`  blanks  `:           `blanks`,
		`it's`:                 `it's`,
		`'single'`:             `'single'`,
		`$%&/()=?{[]}~*+-_.,<`: `$%&/()=?{[]}~*+-_.,<`,
		`pässwörd`:             `pässwörd`,
		`"a"b"c"`:              `abc`,
		`"tab\tend"`:           "tab\tend",
		`"a\b"`:                "",
		`a\b`:                  "",
		`"a`:                   "",
		`#a`:                   "",
	} {
		cfg, err := Parse("f", []byte("[VirtualCenter \"10.0.0.1\"]\nuser = user\npassword = "+written+"\n"))
		wantPassword(t, written, want, cfg, err)
	}
}

func TestINIWordsForTruth(t *testing.T) {
	for word, want := range map[string]bool{
		"= true": true, "= \"1\"": true, "= YES": true, "= on": true, "": true,
		"= false": false, "= 0": false, "= No": false, "= off": false,
	} {
		cfg, err := Parse("f", []byte("[Global]\ninsecure-flag = "+strconv.FormatBool(!want)+
			"\n[VirtualCenter \"10.0.0.1\"]\nuser = u\npassword = p\ninsecure-flag "+word+"\n"))
		if err != nil {
			t.Errorf("%s: %v", word, err)
		} else if got := cfg.VCenters[0].Insecure; got != want {
			t.Errorf("%s: got %t", word, got)
		}
	}
}
