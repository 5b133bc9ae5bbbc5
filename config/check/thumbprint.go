package check

import (
	"encoding/hex"
	"fmt"
	"strings"
)

// NoThumbprint in place of a fingerprint keeps the global section's from an entry.
const NoThumbprint = "none"

// ParseThumbprint returns a fingerprint as upper-case pairs between colons.
func ParseThumbprint(s string) (string, *Mistake) {
	wrong := &Mistake{What: "is not a valid fingerprint: write the SHA-1 or SHA-256 one of the server's certificate, " +
		"20 or 32 pairs of hexadecimal digits, with colons between them or without"}
	s = strings.ToUpper(strings.TrimSpace(s))
	raw, err := hex.DecodeString(strings.ReplaceAll(s, ":", ""))
	if err != nil {
		return "", wrong
	}
	if len(raw) != 20 && len(raw) != 32 {
		wrong.Detail = fmt.Sprintf(" (found %d pairs)", len(raw))
		return "", wrong
	}
	pairs := make([]string, len(raw))
	for i, b := range raw {
		pairs[i] = fmt.Sprintf("%02X", b)
	}
	normal := strings.Join(pairs, ":")
	if strings.Contains(s, ":") && s != normal {
		return "", wrong
	}
	return normal, nil
}
