package load

import (
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"

	"vzones/config/configtest"
)

// proxies maps values of HTTPS_PROXY to the intended proxy, or to "" if invalid.
var proxies = map[string]string{
	"http://proxy.example.com:3128":          "proxy.example.com:3128",
	"http://proxy.example.com:3128/":         "proxy.example.com:3128",
	"http://user:S3cret%20@10.0.0.1:3128":    "10.0.0.1:3128",
	"https://proxy:3128":                     "proxy:3128",
	"socks5://proxy:1080":                    "proxy:1080",
	"proxy:3128":                             "proxy:3128",
	"10.0.0.1:3128":                          "10.0.0.1:3128",
	"user:S3cret@proxy:3128":                 "proxy:3128",
	"http://[fd00::1]:3128":                  "[fd00::1]:3128",
	"http://user:S3 cret@proxy:3128":         "",
	"http://user:S3%cret@proxy:3128":         "",
	"http://user:S3/cret@proxy:3128":         "",
	"http://user:S3#cret@proxy:3128":         "",
	"user:S3%cret@proxy:3128":                "",
	"http://proxy:31x8":                      "",
	"proxy:31x8":                             "",
	"http://":                                "",
	"http:/proxy:3128":                       "",
	"hhtp://proxy:3128":                      "",
	"fd00::1":                                "",
	" http://proxy:3128":                     "",
	"http://proxy:3128 ":                     "",
	"http://proxy:3128\n":                    "",
	`"http://proxy:3128"`:                    "",
	"http://proxy.example.com:3128/wpad?a=b": "",
}

// TestProxy checks that a misread proxy gives a warning without its text.
func TestProxy(t *testing.T) {
	file := []byte("vcenter:\n  10.0.0.1:\n" + configtest.AnAccount)
	for value, want := range proxies {
		for _, environ := range [][]string{{"HTTPS_PROXY=" + value}, {"HTTPS_PROXY=", "https_proxy=" + value}, {"https_proxy=%", "HTTPS_PROXY=" + value}} {
			cfg, err := Parse("f", file, environ...)
			if err != nil {
				t.Fatalf("parsing with the environment %q failed: %v", environ, err)
			}
			text := strings.Join(configtest.WarningsOf(cfg), "\n")
			if isWarned := strings.Contains(text, "PROXY: ") || strings.Contains(text, "proxy: "); isWarned != (want == "") || strings.Contains(text, "cret") {
				t.Errorf("%q: got the warnings %q, want the proxy %q", environ, text, want)
			}
		}
	}
}

// TestProxyIsThatOfTheLibrary checks net/http's proxy for the values without a warning. net/http reads
// the environment once per process.
func TestProxyIsThatOfTheLibrary(t *testing.T) {
	if os.Getenv("PRINT_PROXY") != "" {
		proxy, err := http.ProxyFromEnvironment(&http.Request{URL: &url.URL{Scheme: "https", Host: "vc.example.com"}})
		if err != nil || proxy == nil {
			t.Fatalf("no proxy: %v", err)
		}
		t.Log("proxy=" + proxy.Host + ";")
		return
	}
	for value, want := range proxies {
		if want == "" {
			continue
		}
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestProxyIsThatOfTheLibrary$", "-test.v")
		cmd.Env = append(os.Environ(), "PRINT_PROXY=1", "NO_PROXY=", "no_proxy=", "HTTPS_PROXY="+value)
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "proxy="+want+";") {
			t.Errorf("%q: got %v and %s, want %s", value, err, out, want)
		}
	}
}
