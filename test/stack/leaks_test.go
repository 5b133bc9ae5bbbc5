package stack

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// TestLeaksWhereOthersPrint covers output of libraries that do not use forms.
func TestLeaksWhereOthersPrint(t *testing.T) {
	const password = "pw-north & south"
	inJSON, err := json.Marshal(map[string][]byte{"password": []byte(password)})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"a Secret in JSON":      string(inJSON),
		"a Secret in protobuf":  "body=<\n\t" + strings.ReplaceAll(hex.Dump([]byte("k8s\x00\n\x0c, some header and then "+password+" and more")), "\n", "\n\t") + "\n >",
		"a file in a Secret":    base64.StdEncoding.EncodeToString([]byte("[VirtualCenter]\npassword = \"" + password + "\"\n")),
		"a Basic header":        "Basic " + base64.StdEncoding.EncodeToString([]byte("root:"+password)),
		"another Basic header":  "Basic " + base64.StdEncoding.EncodeToString([]byte("admin:"+password)),
		"one more Basic header": "Basic " + base64.StdEncoding.EncodeToString([]byte("admin1:"+password)),
		"a URL":                 (&url.URL{Scheme: "https", Host: "vc", User: url.UserPassword("root", password)}).String(),
		"%q":                    fmt.Sprintf("%q", password),
		"%v of bytes":           fmt.Sprintf("%v", []byte("x"+password+"x")),
		"%#v of bytes":          fmt.Sprintf("%#v", []byte("x"+password+"x")),
		"%x":                    fmt.Sprintf("%x", "x"+password+"x"),
		"%X":                    fmt.Sprintf("%X", "x"+password+"x"),
	} {
		var secrets Search
		secrets.Add("the password", password)
		if leaks := secrets.In("a line\n" + text + "\n"); len(leaks) == 0 {
			t.Errorf("%s: not found in\n%s", name, text)
		}
	}
}

func TestSearch(t *testing.T) {
	var s Search
	if found := s.In("anything"); found != nil {
		t.Errorf("found %v without secrets", found)
	}
	s.Add("password of east", "pw-east")
	s.Add("password of east, again", "pw-east")
	s.Add("session of west", "0b2c4e9e")
	s.Add("nothing", "abc")
	got := s.In("pw-east pw-east abc 0b2c4e9e\n" + hex.EncodeToString([]byte("pw-east")))
	want := []string{"password of east as hex", "password of east as plain text", "session of west as plain text"}
	if !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}
