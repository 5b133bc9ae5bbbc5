package stack

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// forms returns the forms in which a secret typically reaches a log, without duplicates.
func forms(secret string) map[string]string {
	result := map[string]string{"plain text": secret}
	add := func(form, text string) {
		if text != secret && len(text) >= 4 {
			result[form] = text
		}
	}
	raw := []byte(secret)
	lower := hex.EncodeToString(raw)
	add("hex", lower)
	add("upper-case hex", strings.ToUpper(lower))
	add("Go's bytes", strings.Trim(fmt.Sprintf("%d", raw), "[]"))
	add("Go's syntax of bytes", strings.TrimSuffix(strings.TrimPrefix(fmt.Sprintf("%#v", raw), "[]byte{"), "}"))
	add("a Go string", strings.Trim(strconv.Quote(secret), `"`))
	add("URL-escaped", url.QueryEscape(secret))
	add("URL path", url.PathEscape(secret))
	add("URL user", strings.TrimPrefix(url.UserPassword("", secret).String(), ":"))
	if text, err := json.Marshal(secret); err == nil {
		add("JSON", strings.Trim(string(text), `"`))
	}
	var b strings.Builder
	if err := xml.EscapeText(&b, raw); err == nil {
		add("XML", b.String())
	}
	for form, encoding := range map[string]*base64.Encoding{"base64": base64.RawStdEncoding, "URL base64": base64.RawURLEncoding} {
		for behind := range 3 {
			add(fmt.Sprintf("%s after %d bytes", form, behind), stableBase64(encoding, raw, behind))
		}
	}
	return result
}

// stableBase64 returns the part of the base64 form that is the same for every text with the secret after offset bytes,
// modulo 3. A Basic header, for example, contains user and password.
func stableBase64(encoding *base64.Encoding, secret []byte, offset int) string {
	text := encoding.EncodeToString(append(make([]byte, offset), secret...))
	start := []int{0, 2, 3}[offset] // number of characters that depend on the bytes before
	if (offset+len(secret))%3 != 0 {
		text = text[:len(text)-1] // the last character depends on the bytes after
	}
	return text[min(start, len(text)):]
}
