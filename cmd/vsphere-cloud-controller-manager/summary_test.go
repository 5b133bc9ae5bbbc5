package main

import (
	"testing"

	"vzones/config"
)

// TestTrustOf: all that decides, since a thumbprint counts beside authorities.
func TestTrustOf(t *testing.T) {
	for want, v := range map[string]config.VCenter{
		"not verified":                          {Insecure: true, Thumbprint: "AA", CAFile: "/ca.pem"},
		"thumbprint":                            {Thumbprint: "AA"},
		"thumbprint or CA in /ca.pem":           {Thumbprint: "AA", CAFile: "/ca.pem", CA: []byte("PEM")},
		"thumbprint or CA in the configuration": {Thumbprint: "AA", CA: []byte("PEM")},
		"CA in /ca.pem":                         {CAFile: "/ca.pem"},
		"CA in the configuration":               {CA: []byte("PEM")},
		"CAs of the system":                     {},
	} {
		if got := trustOf(&v); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
