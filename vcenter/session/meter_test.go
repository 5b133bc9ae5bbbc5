package session

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/vmware/govmomi/vim25/xml"
)

// TestXMLMeter contains documents that hide elements from a simple search for bytes.
func TestXMLMeter(t *testing.T) {
	for name, c := range map[string]struct {
		text         string
		parts, depth int
	}{
		"text":                  {"a = b > c", 0, 0},
		"elements":              {`<a><b/><b x="1" y='2'></b></a>`, 5, 2},
		"an end in a value":     {`<a x="/>"><b y='</a>'/></a>`, 4, 2},
		"an end in a comment":   {`<a><!-- </a> --><b/></a>`, 2, 2},
		"quotes in a comment":   {`<a><!-- " --><b/><!-- ' --><c/></a>`, 3, 2},
		"a short comment":       {`<a><!--> <b/> --><c/></a>`, 2, 2},
		"an end in CDATA":       {`<a><![CDATA[</a>]] ><b/>]]]><c/></a>`, 2, 2},
		"an end in a target":    {`<?xml version="1.0"?><a><?x </a> ?><b/></a>`, 2, 2},
		"a document type":       {`<!DOCTYPE html [<!ENTITY a "</x>">]><a></a>`, 4, 4},
		"behind a documenttype": {`<!DOCTYPE html><a x=""></a><a></a>`, 5, 4},
	} {
		t.Run(name, func(t *testing.T) {
			for _, chunk := range []int{1, 3, len(c.text)} {
				var m xmlMeter
				for left := c.text; left != ""; {
					n := min(chunk, len(left))
					m.add([]byte(left[:n]))
					left = left[n:]
				}
				if parts, depth := m.size(); parts != c.parts || depth != c.depth {
					t.Errorf("%s in chunks of %d bytes: %d parts and %d levels, want %d and %d", c.text, chunk, parts, depth, c.parts, c.depth)
				}
			}
		})
	}
}

// FuzzXMLMeter checks that the decoder finds no more than the meter counts.
func FuzzXMLMeter(f *testing.F) {
	for _, seed := range []string{
		`<a><b/><b x="1" y='2'></b></a>`, `<a x="/>"><!-- </a> ' --><b/></a>`, `<a><![CDATA[</a>]]]>]]><b/></a>`,
		`<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "</a>">]><a><?b </a>?><b/></a>`, `<!--><a/>--><a>`, `<a:b xmlns:a="c"/>`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		parts, depth, deepest := 0, 0, 0
		for d := xml.NewDecoder(strings.NewReader(text)); ; {
			token, err := d.RawToken()
			if err != nil {
				break
			}
			switch e := token.(type) {
			case xml.StartElement:
				parts += 1 + len(e.Attr)
				depth++
				deepest = max(deepest, depth)
			case xml.EndElement:
				depth--
			}
		}
		var m xmlMeter
		m.add([]byte(text))
		if p, n := m.size(); p < parts || n < deepest {
			t.Errorf("%q: the meter counts %d parts and %d levels, the decoder finds %d and %d", text, p, n, parts, deepest)
		}
	})
}

// FuzzJSONMeter checks that the decoder finds no more values than the meter counts, except the first.
func FuzzJSONMeter(f *testing.F) {
	for _, seed := range []string{`[{},{"a":[1,2]}]`, `"a,b"`, `[[],[null]]`, `{"a":{},"b":""}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		values := 0
		for d := json.NewDecoder(strings.NewReader(text)); ; {
			token, err := d.Token()
			if err != nil {
				break
			}
			if end, isDelim := token.(json.Delim); !isDelim || end == '[' || end == '{' {
				values++
			}
			if depth := d.InputOffset(); values > 0 && !d.More() && depth == int64(len(text)) {
				break
			}
		}
		var m jsonMeter
		m.add([]byte(text))
		// A key is a token but no value. There are at most as many keys as values.
		if p, _ := m.size(); 2*p+1 < values && json.Valid([]byte(text)) {
			t.Errorf("%q: the meter counts %d values, the decoder finds %d", text, p, values)
		}
	})
}

// TestAnswerSizes checks the limits of elements and bytes.
func TestAnswerSizes(t *testing.T) {
	for name, c := range map[string]struct {
		body string
		want error
	}{
		"at the bound":    {strings.Repeat("<a/>", largeParts), nil},
		"elements":        {strings.Repeat("<a/>", largeParts+1), LargeAnswer},
		"attributes":      {"<a " + strings.Repeat(`b="" `, largeParts) + "/>", LargeAnswer},
		"levels":          {strings.Repeat("<a>", deepestAnswer+1), deepAnswer},
		"at the depth":    {strings.Repeat("<a>", deepestAnswer) + strings.Repeat("</a>", deepestAnswer) + "<a><b/></a>", nil},
		"text with marks": {strings.Repeat("a=>", largeParts), nil},
	} {
		t.Run(name, func(t *testing.T) {
			if err := readAll(c.body, &xmlMeter{}); !errors.Is(err, c.want) {
				t.Errorf("reading the answer: %v, want %v", err, c.want)
			}
		})
	}
	if err := readAll("["+strings.Repeat("{},", largeParts), &jsonMeter{}); !errors.Is(err, LargeAnswer) {
		t.Errorf("reading values of JSON: %v, want %v", err, LargeAnswer)
	}
}

func readAll(body string, m meter) error {
	_, err := io.ReadAll(&answer{ReadCloser: io.NopCloser(strings.NewReader(body)), large: make(chan struct{}, 1), meter: m})
	return err
}
