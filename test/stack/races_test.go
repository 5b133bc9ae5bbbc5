package stack

import (
	"strings"
	"testing"
)

func TestRaces(t *testing.T) {
	const (
		line   = "==================\n"
		head   = "WARNING: DATA RACE\n"
		ours   = "Previous write at 0x00c0004e3c68 by goroutine 7:\n  vcenter.(*connection).adopt()\n      target.go:50 +0x1\n\n"
		copied = "Previous read at 0x00c0004e3c68 by goroutine 210:\n  crypto/tls.(*Config).Clone()\n      common.go:1009 +0x41b\n" +
			"  k8s.io/apiserver/pkg/server/dynamiccertificates.(*DynamicServingCertificateController).syncCerts()\n      tlsconfig.go:171 +0xa9\n\n"
		prepared = "Write at 0x00c0004e3c68 by goroutine 80:\n  golang.org/x/net/http2.configureServer()\n      server.go:203 +0x4b4\n" +
			"  k8s.io/apiserver/pkg/server.(*SecureServingInfo).Serve()\n      secure_serving.go:204 +0x46b\n  main.serve()\n      server.go:32 +0x3f2\n\n"
		end = "Goroutine 205 (running) created at:\n  net/http.(*Transport).startDialConnForLocked()\n"
	)
	for name, c := range map[string]struct {
		log  string
		want int
	}{
		"none":                      {"I1120 all is well\n", 0},
		"the framework's":           {"I1120\n" + line + head + prepared + copied + end + line + "I1120\n", 0},
		"the framework's twice":     {line + head + prepared + copied + end + line + line + head + prepared + copied + end + line, 0},
		"ours":                      {line + head + prepared + ours + end + line, 1},
		"ours behind the framework": {line + head + prepared + copied + end + line + line + head + prepared + ours + end + line, 1},
		"ours, copied":              {line + head + ours + copied + end + line, 1},
		"half of it":                {line + head + prepared, 1},
		"another kind":              {line + head + "Something else\n" + line, 1},
	} {
		if got := races(c.log); len(got) != c.want {
			t.Errorf("%s: %d races, want %d:\n%s", name, len(got), c.want, strings.Join(got, "\n"))
		}
	}
}
