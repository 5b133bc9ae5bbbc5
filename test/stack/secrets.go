package stack

import (
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"strings"
)

// Leaks returns in which of its usual forms a password is in a log.
func Leaks(log, password string) []string {
	var leaks []string
	for form, secret := range forms(password) {
		if strings.Contains(log, secret) {
			leaks = append(leaks, form)
		}
	}
	return leaks
}

// forms are the ways in which a password usually gets into a log.
func forms(password string) map[string]string {
	return map[string]string{
		"plain":       password,
		"base64":      base64.StdEncoding.EncodeToString([]byte(password)),
		"raw base64":  base64.RawStdEncoding.EncodeToString([]byte(password)),
		"hex":         hex.EncodeToString([]byte(password)),
		"URL-escaped": url.QueryEscape(password),
	}
}
