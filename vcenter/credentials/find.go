package credentials

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"vzones/config"
)

// ErrNone means that no key exists for a vCenter.
var ErrNone = errors.New("no credentials")

// A key is an address, a dot and a name, or a prefix and a suffix that a vCenter's keys share.
const (
	keyUser     = "username"
	keyPassword = "password"
	keyURL      = "vc-session-manager-url"
	keyToken    = "vc-session-manager-token"

	prefixServer   = "server_"
	prefixUser     = "username_"
	prefixPassword = "password_"
)

// Find returns the credentials for a vCenter from the data of a Secret, or from files by name. A
// session manager takes precedence over a user name, keys with a suffix over keys with the address,
// and the literal address over other spellings. Errors name keys, never values.
func Find(data map[string][]byte, server string) (Credentials, error) {
	s, err := choose(data, server)
	if err != nil {
		return Credentials{}, err
	}
	return s.read(data)
}

type keys struct {
	user, password string
	url, token     string
}

func choose(data map[string][]byte, server string) (keys, error) {
	byAddress, err := withAddress(data, server)
	if err != nil {
		return keys{}, err
	}
	bySuffix, err := withSuffix(data, server)
	if err != nil {
		return keys{}, err
	}
	switch {
	case byAddress == nil && bySuffix == nil:
		return keys{}, noKeysError(data, server)
	case bySuffix == nil:
		return *byAddress, nil
	case byAddress == nil:
		return *bySuffix, nil
	}
	byAddress.user = bySuffix.user
	byAddress.password = bySuffix.password
	return *byAddress, nil
}

func withAddress(data map[string][]byte, server string) (*keys, error) {
	spellings := map[string]bool{}
	for key := range data {
		if prefix, ok := addressOf(key); ok && SameAddress(prefix, server) {
			spellings[prefix] = true
		}
	}
	var sets []keys
	for _, w := range slices.Sorted(maps.Keys(spellings)) {
		if w == server || !spellings[server] {
			sets = append(sets, keys{w + "." + keyUser, w + "." + keyPassword, w + "." + keyURL, w + "." + keyToken})
		}
	}
	return unambiguous(data, sets, func(k keys) string { return k.firstPresent(data) })
}

func withSuffix(data map[string][]byte, server string) (*keys, error) {
	var sets []keys
	for _, key := range slices.Sorted(maps.Keys(data)) {
		suffix, ok := strings.CutPrefix(key, prefixServer)
		if ok && SameAddress(strings.TrimSpace(string(data[key])), server) {
			sets = append(sets, keys{user: prefixUser + suffix, password: prefixPassword + suffix})
		}
	}
	return unambiguous(data, sets, func(k keys) string { return prefixServer + strings.TrimPrefix(k.user, prefixUser) })
}

func unambiguous(data map[string][]byte, sets []keys, name func(keys) string) (*keys, error) {
	if len(sets) == 0 {
		return nil, nil
	}
	for _, s := range sets[1:] {
		if !sets[0].equal(s, data) {
			return nil, fmt.Errorf("the keys %q and %q belong to the same vCenter but contain different credentials: remove one of them and its related keys",
				name(sets[0]), name(s))
		}
	}
	return &sets[0], nil
}

func (k keys) names() []string { return []string{k.user, k.password, k.url, k.token} }

func (k keys) firstPresent(data map[string][]byte) string {
	for _, key := range k.names() {
		if _, ok := data[key]; ok {
			return key
		}
	}
	return ""
}

func (k keys) hasOnly(data map[string][]byte, names ...string) bool {
	first := k.firstPresent(data)
	return first != "" && slices.Contains(names, first)
}

func (k keys) equal(other keys, data map[string][]byte) bool {
	return slices.EqualFunc(k.names(), other.names(), func(a, b string) bool { return trimmed(data[a]) == trimmed(data[b]) })
}

func addressOf(key string) (string, bool) {
	for _, kind := range []string{keyUser, keyPassword, keyURL, keyToken} {
		if prefix, ok := strings.CutSuffix(key, "."+kind); ok && prefix != "" {
			return prefix, true
		}
	}
	return "", false
}

// SameAddress reports whether two spellings mean the same address.
func SameAddress(a, b string) bool { return a != "" && canonical(a) == canonical(b) }

func canonical(server string) string {
	if addr, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(server, "["), "]")); err == nil {
		return addr.Unmap().String()
	}
	return strings.ToLower(strings.TrimSuffix(server, "."))
}

func noKeysError(data map[string][]byte, server string) error {
	hint := ""
	var similar []string
	for _, key := range slices.Sorted(maps.Keys(data)) {
		kind, suffix, ok := strings.Cut(key, "_")
		if _, hasServer := data[prefixServer+suffix]; ok && !hasServer && (kind == keyUser || kind == keyPassword) && hint == "" {
			hint = fmt.Sprintf("; %q has no matching key %q with an address", key, prefixServer+suffix)
		} else if address, ok := strings.CutSuffix(key, "."+keyUser); ok && address != "" {
			similar = append(similar, fmt.Sprintf("%q", key))
		}
	}
	if len(similar) > 0 {
		hint += "; found keys for other addresses: " + strings.Join(similar[:min(len(similar), 6)], ", ")
	}
	if strings.Contains(server, ":") {
		return fmt.Errorf("%w for %s: add the key %q with that address, and %q and %q with the same suffix%s", ErrNone, server,
			prefixServer+"0", prefixUser+"0", prefixPassword+"0", hint)
	}
	return fmt.Errorf("%w for %s: add the keys %q and %q, or %q%s", ErrNone, server, server+"."+keyUser, server+"."+keyPassword, server+"."+keyURL, hint)
}

func (k keys) read(data map[string][]byte) (Credentials, error) {
	if trimmed(data[k.url]) != "" {
		return k.sessionManager(data)
	}
	user := trimmed(data[k.user])
	password := trimmed(data[k.password])
	if k.hasOnly(data, k.url, k.token) {
		return Credentials{}, k.missingKeyError(data, k.url, k.token, "the session manager's address")
	}
	if user == "" {
		return Credentials{}, k.missingKeyError(data, k.user, k.password, "the user name")
	}
	if password == "" {
		return Credentials{}, k.missingKeyError(data, k.password, k.user, "the password")
	}
	if isPEM(user) {
		c := Credentials{Certificate: user, Key: config.NewPassword(password)}
		if _, err := c.KeyPair(); err != nil {
			return Credentials{}, fmt.Errorf("the keys %q and %q must contain a certificate and its private key, but %w", k.user, k.password, err)
		}
		return c, nil
	}
	if err := cmp.Or(checkPlain(k.user, user), checkPlain(k.password, password)); err != nil {
		return Credentials{}, err
	}
	return Credentials{User: user, Password: config.NewPassword(password)}, nil
}

func (k keys) sessionManager(data map[string][]byte) (Credentials, error) {
	address := trimmed(data[k.url])
	token := trimmed(data[k.token])
	if err := checkPlain(k.token, token); err != nil {
		return Credentials{}, err
	}
	if err := CheckURL(address); err != nil {
		return Credentials{}, fmt.Errorf("the key %q %w", k.url, err)
	}
	if token == "" {
		return Credentials{}, k.missingKeyError(data, k.token, k.url, "the session manager's token (the Pod's own token is never sent)")
	}
	return Credentials{SessionManagerURL: address, SessionManagerToken: config.NewPassword(token)}, nil
}

// CheckURL requires https, because the author of a Secret may choose the URL: http exposes the token
// and reaches servers that listen only on the daemon's Node. The error's text lacks a subject.
func CheckURL(s string) error {
	u, err := url.Parse(s)
	if err != nil || u.Hostname() == "" || u.Scheme != "https" && u.Scheme != "http" {
		return errors.New("is not a valid URL: use a URL such as https://sessions.example.com/session")
	}
	if u.User != nil {
		return errors.New("contains a URL with a user name or password, which is not sent: remove them, and put the token into the key that ends with " + keyToken)
	}
	if u.Scheme == "http" {
		return errors.New("is an http URL, which exposes the token: use an https URL")
	}
	return nil
}

func (k keys) missingKeyError(data map[string][]byte, key, related, content string) error {
	if _, ok := data[key]; ok {
		return fmt.Errorf("the key %q is empty: set it to %s", key, content)
	}
	if _, ok := data[related]; !ok {
		// The keys have a suffix, so a key with prefixServer exists.
		related = prefixServer + strings.TrimPrefix(k.user, prefixUser)
	}
	return fmt.Errorf("the key %q is missing although %q exists: add it with %s", key, related, content)
}

// trimmed removes the line break that editors and echo append.
func trimmed(value []byte) string {
	return strings.TrimSuffix(strings.TrimSuffix(string(value), "\n"), "\r")
}

func checkPlain(key, value string) error {
	if !utf8.ValidString(value) {
		return fmt.Errorf("the key %q contains bytes that are not UTF-8: specify its value as text", key)
	}
	if strings.ContainsFunc(value, unicode.IsControl) {
		return fmt.Errorf("the key %q contains a line break or another control character: specify its value on one line", key)
	}
	return nil
}
