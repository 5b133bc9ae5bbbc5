package load

import (
	"bytes"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/gcfg.v1"

	"vzones/config/configtest"
)

// someNames are the names in a file, in the order of their first lines, ignoring letter case.
type someNames []string

func (n *someNames) index(name string) int {
	i := slices.IndexFunc(*n, func(s string) bool { return strings.EqualFold(s, name) })
	if i < 0 {
		*n = append(*n, name)
		i = len(*n) - 1
	}
	return i
}

// content contains the values of a file in their order, by section, name and key. As in gcfg, a key
// without a value resets the values before it.
type content map[int]map[string]map[int][]string

// checkWithGCFG compares our result with gcfg's: the same values, or an error from both.
func checkWithGCFG(t *testing.T, data []byte) {
	t.Helper()
	p := &Problems{File: "f", Dialect: &INI}
	read := scanINI(data, p)
	var sections, keys someNames
	ours := content{}
	for _, b := range read {
		if b.isBad || b.section == "" {
			continue
		}
		s := sections.index(b.section)
		if len(b.section) > 8 && strings.EqualFold(b.section[:8], "default-") {
			t.Skip("the library takes these for defaults")
		}
		if ours[s] == nil {
			ours[s] = map[string]map[int][]string{}
		}
		if ours[s][b.name] == nil {
			ours[s][b.name] = map[int][]string{}
		}
		for _, k := range b.keys {
			i := keys.index(k.key)
			if k.has(noValue) {
				ours[s][b.name][i] = nil
			} else {
				ours[s][b.name][i] = append(ours[s][b.name][i], k.text)
			}
		}
	}
	into := reflect.New(structOf(sections, reflect.MapOf(reflect.TypeFor[string](),
		reflect.PointerTo(structOf(keys, reflect.TypeFor[[]string]())))))
	err := gcfg.FatalOnly(gcfg.ReadStringInto(into.Interface(), string(data)))
	if (err != nil) != (len(p.Errors) > 0) {
		t.Fatalf("%q: we found %v, the library %v", data, p.Errors, err)
	}
	if err != nil {
		return
	}
	theirs := content{}
	for s := range sections {
		theirs[s] = map[string]map[int][]string{}
		for _, name := range into.Elem().Field(s).MapKeys() {
			of := map[int][]string{}
			for i := range keys {
				values := into.Elem().Field(s).MapIndex(name).Elem().Field(i).Interface().([]string)
				if _, have := ours[s][name.String()][i]; have || values != nil {
					of[i] = values
				}
			}
			theirs[s][name.String()] = of
		}
	}
	if diff := cmp.Diff(theirs, ours); diff != "" {
		t.Fatalf("%q is read differently by the library (-) and here (+):\n%s", data, diff)
	}
}

func structOf(n someNames, field reflect.Type) reflect.Type {
	var fields []reflect.StructField
	for i, name := range n {
		tag := reflect.StructTag("gcfg:" + strconv.Quote(name))
		fields = append(fields, reflect.StructField{Name: "F" + strconv.Itoa(i), Type: field, Tag: tag})
	}
	return reflect.StructOf(fields)
}

var syntax = []string{
	"", "\n", "\r\n", "[a]", "[a]\n", "[a]x", "[a] ; c\n", "[a]#c", "[ a ]\n", "[a\n]", "[]", "[", "a", "a=b", "[a b]", "[a-1]",
	"[a \"\"]\n", "[a \"b\"]\nc=d", "[a \"b]\nc=d", "[a \"\\\"\\\\\"]\n", "[a \"\\n\"]", "[a.b]\n", "[1]", "[ä]\nö=ü\n",
	"[a]\nb", "[a]\nb ; c", "[a]\nb=", "[a]\nb= ; c", "[a]\nb=c;d", "[a]\nb=c#d\n", "[a]\nb=\"c;d\" ; e", "[a]\nb=\"c\"d\"e\"",
	"[a]\nb=\"c", "[a]\nb=\"c\nd=e\n[f]\ng=h", "[a]\nb=c\\\nd=e\nf=g", "[a]\nb=\\\"c", "[a]\nb=c\\d\ne=f", "[a]\nb=\"\\x\"",
	"[a]\nb=\"\\\\\\\"\\n\\t\"", "[a]\r\nb = c \r\n", "[a]\nb=\"c\rd\"", "[a]\nb=c\\\r\nd", "[a]\nb:c", "[a]\nb c", "[a]\n=c",
	"[a]\n\"b\"=c", "[a]\nb=c\n[A]\nB=d\nb\nb=e", "[a]\nb_c=d", "[a]\n\x00", "[a]\nb=\x00", "[a]\nb=\xff", "# \xff\n[a]", "[a]\n;\x00\n",
	"[a]\nb=c]\n", "[a]\n]", "[a]\n[b]\n[c \"d\"]\n[c \"e\"]\n[c]\n", "[a]\nb = c  d\t\n", "[a]\nb=\\", "[a]\nb=\"\\", "\ufeff[a]", "[a] [b]",
	"[a]\nb==c", "[a]\nb=[c]", "[a]\n\tb\t=\tc", "[a\x00b]\n", "[a \"b\x00\"]\nc=d", "[a\xff]\nb=c\n", "[a]\nb\x00=c\n[c]\n",
}

func TestINIIsReadAsByGCFG(t *testing.T) {
	for _, text := range syntax {
		checkWithGCFG(t, []byte(text))
	}
	for _, folder := range []string{"ini-good", "ini-invalid"} {
		for _, c := range configtest.Cases(t, folder) {
			checkWithGCFG(t, bytes.TrimPrefix(c.Data, byteOrderMark))
		}
	}
}

func FuzzINI(f *testing.F) {
	for _, text := range syntax {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) { checkWithGCFG(t, data) })
}
