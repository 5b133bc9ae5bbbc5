package load

import (
	"net/url"
	"slices"
	"strings"
)

// proxyVariables name the proxy of connections to vCenters and to the API server. net/http uses the first one that
// is not empty.
var proxyVariables = []string{"HTTPS_PROXY", "https_proxy"}

// IsProxy reports whether an environment variable names the proxy.
func IsProxy(name string) bool { return slices.Contains(proxyVariables, name) }

// checkProxy warns of a proxy that is not a URL. net/http reports nothing: it uses no proxy, or one with a part of
// the text as its host. The text may hold a password.
func (c *checker) checkProxy(environ map[string]string) {
	for _, name := range proxyVariables {
		if environ[name] == "" {
			continue
		}
		if !isProxyURL(environ[name]) {
			c.Warnf(variable(name), "is not the URL of a proxy, so that connections use none or a wrong one: "+
				"write one such as http://proxy.example.com:3128, with %%XX for special characters in a password")
		}
		return
	}
}

// isProxyURL reports whether net/http takes a text for a proxy as it is meant: a URL, or a host and a port.
func isProxyURL(text string) bool {
	scheme, _, hasScheme := strings.Cut(text, "://")
	if !hasScheme {
		scheme, text = "http", "http://"+text
	}
	u, err := url.Parse(text)
	return err == nil && slices.Contains([]string{"http", "https", "socks5", "socks5h"}, strings.ToLower(scheme)) &&
		isHost(u.Hostname()) && strings.Trim(u.Path, "/") == "" && u.RawQuery == "" && u.Fragment == ""
}
