package world

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

const several = `# as kubectl prints them
---
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: one, namespace: n}
  data:
    a.conf: |
      first
      second
    b: "quoted"
  binaryData: {c: Yg==}
- kind: List
  items: [{kind: Secret}]
- text
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: no}
---
apiVersion: v1
kind: Secret
metadata: {name: two}
data: {user: dQ==, password: cA==}
stringData:
  password: instead
---
`

func TestRead(t *testing.T) {
	objects, err := ReadManifests("f", []byte(several))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range objects {
		got = append(got, fmt.Sprintf("%d %s", o.Line, o))
		for _, v := range o.Values {
			got = append(got, fmt.Sprintf("%d %d %s %q", v.Line, v.First, v.Key, v.Content.Reveal()))
		}
	}
	want := []string{
		`6 ConfigMap n/one`, `14 0 c "b"`, `10 11 a.conf "first\nsecond\n"`, `13 0 b "quoted"`,
		`23 Secret two`, `26 0 user "u"`, `28 0 password "instead"`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

func TestIs(t *testing.T) {
	for text, want := range map[string]bool{
		several: true, "": false, "---\n": false, "vcenter: {}": false, "kind: Secret": false, "[Global]\nuser = a": false, "a: [": false,
		"apiVersion: v1\nkind: Secret": true,
	} {
		if got := IsManifest([]byte(text)); got != want {
			t.Errorf("%q: is a manifest = %t, want %t", text, got, want)
		}
	}
}

// Errors contain the position and no values.
func TestInvalidManifests(t *testing.T) {
	for text, want := range map[string]string{
		"a: [":      "f:1: invalid YAML from this line on",
		"S3cret: [": "f:1: invalid YAML from this line on",
		"kind: Secret\nmetadata: {name: x}\ndata: {k: S3cret!}":              "f:3: data of Secret x: the value of key \"k\" is not valid base64",
		"kind: Secret\nmetadata: {name: x}\nstringData: {a: {b: S3cret}}":    "f:3: stringData of Secret x: the value of key \"a\" is not a string",
		"kind: ConfigMap\nmetadata: {name: x}\nbinaryData:\n  a: [S3cret]\n": "f:4: binaryData of ConfigMap x: the value of key \"a\" is not a string",
		"kind: Secret\nmetadata: {name: x}\nstringData: {a: 12345678}":       "f:3: stringData of Secret x: the value of key \"a\" is not a string: quote it",
		"kind: List\nitems:\n- {kind: Secret, data: {k: S3cret!}}":           "f:3: data of Secret without a name: the value of key \"k\" is not valid base64",
	} {
		_, err := ReadManifests("f", []byte(text))
		if err == nil || err.Error() != want || strings.Contains(err.Error(), "S3cret") {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
	// null is the empty string, for names too.
	objects, err := ReadManifests("f", []byte("kind: Secret\nmetadata: {name: x, namespace: null}\nstringData: {a: ~}\n"))
	if err != nil || len(objects) != 1 || objects[0].String() != "Secret x" || !objects[0].Values[0].Content.IsEmpty() {
		t.Errorf("reading a Secret with nulls: got %v, %v, want Secret x with an empty value", objects, err)
	}
	// A List that contains itself terminates.
	if objects, err := ReadManifests("f", []byte("&a\nkind: List\nitems: [*a]\n")); err != nil || len(objects) != 0 {
		t.Errorf("reading a List in itself: got %v, %v, want no objects", objects, err)
	}
}

// Every file either can be read, or the error names it on one line.
func FuzzReadManifests(f *testing.F) {
	f.Add([]byte(several))
	f.Add([]byte("apiVersion: v1\nkind: Secret\ndata: {a: !!binary e30=}\n"))
	f.Add([]byte("a: &a [*a, *a]\nkind: List\nitems: *a\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		IsManifest(data)
		if _, err := ReadManifests("file.yaml", data); err != nil && (!strings.Contains(err.Error(), "file.yaml") || strings.ContainsAny(err.Error(), "\r")) {
			t.Errorf("%q: the error does not name the file on one line: %q", data, err)
		}
	})
}
