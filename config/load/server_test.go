package load

import (
	"strings"
	"testing"
)

func TestServers(t *testing.T) {
	for server, want := range map[string]string{
		"10.0.0.1":                            "10.0.0.1",
		"fd00::10":                            "fd00::10",
		"[fd00::10]":                          "fd00::10",
		"vc":                                  "vc",
		"VC.example.com":                      "VC.example.com",
		"vc.example.com.":                     "vc.example.com.",
		"3com.example":                        "3com.example",
		"xn--bcher-kva.de":                    "xn--bcher-kva.de",
		"vc_1.example":                        "vc_1.example",
		"_vc_.example.":                       "_vc_.example.",
		"10.0.0_1":                            "",
		"___":                                 "",
		"bücher.de":                           "",
		"-vc.example.com":                     "",
		"vc..example.com":                     "",
		".":                                   "",
		" vc":                                 "",
		"10.0.0":                              "",
		"[10.0.0.1]":                          "",
		"[vc.example.com]":                    "",
		"fe80::1%eth0":                        "",
		"vc:443":                              "",
		"https://vc":                          "",
		"user:secret@vc":                      "",
		"vc/sdk":                              "",
		"vc example":                          "",
		strings.Repeat("a", 64) + ".example":  "",
		strings.Repeat("a.", 127) + "example": "",
	} {
		got, wrong := parseServer(server)
		if (wrong == nil) != (want != "") || wrong == nil && got != want {
			t.Errorf("%q: got %q, %+v", server, got, wrong)
		}
		if wrong != nil && strings.Contains(wrong.Message+wrong.Found, "secret") {
			t.Errorf("%q: shows credentials: %+v", server, wrong)
		}
	}
}
