package schema

import (
	"strings"
	"unicode"

	"vzones/topology/suggest"
)

// CutGlued cuts a value from a key to which it is glued; what is before it may be
// the key of a password, misspelled, and is that key then.
func CutGlued(key string) (before string, found bool) {
	const password = "password"
	if i := strings.IndexAny(key, ":= \t"); i > 0 && suggest.Nearest(key[:i], []string{password}) != "" {
		return password, true
	}
	if i := strings.IndexAny(key, ":="); i > 0 {
		return strings.TrimRight(key[:i], " \t"), true
	}
	return key, false
}

// secretKeys are the keys whose values are in no message.
var secretKeys = []string{"password", sessionToken}

// GluedSecret returns where in a text the key of a secret ends, in whatever spelling, to
// which something is glued that may be the secret. Without one it returns 0.
func GluedSecret(s string) int {
	for _, secret := range secretKeys {
		want := suggest.Plain(secret)
		for end := range min(len(s), 2*len(secret)) {
			if have := suggest.Plain(s[:end]); have == want && suggest.Plain(s[end:]) != "" {
				return end
			} else if len(have) > len(want) {
				break
			}
		}
		if i := strings.IndexAny(s, ":= \t"); i > 0 && suggest.Nearest(s[:i], []string{secret}) != "" {
			return i
		}
	}
	return 0
}

// ShownName shows a name, but for a secret that may stand in its place with its key.
func ShownName(name string) string {
	if end := GluedSecret(name); end > 0 {
		return name[:end] + "…"
	}
	return name
}

// ShownKey shows of a key what may be one: a secret may be glued to it.
func ShownKey(key string) string {
	end := strings.IndexFunc(key, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_./", r)
	})
	if end < 0 {
		end = len(key)
	}
	if secret := GluedSecret(key); secret > 0 {
		end = min(end, secret)
	}
	if end < len(key) {
		return key[:end] + "…"
	}
	return key
}
