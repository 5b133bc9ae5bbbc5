package load

import (
	"bytes"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"vzones/config"
	"vzones/internal/quote"
)

const (
	beginPEM         = "-----BEGIN "
	beginCertificate = "-----BEGIN CERTIFICATE-----"
	privateKey       = "PRIVATE KEY"
	// systemCA in an entry selects the system's certificates instead of the global section's.
	systemCA = "system"
)

// Certificates returns the PEM certificates of a text up to the first damaged certificate, and the
// number of that certificate, from 1, or 0.
func Certificates(data []byte) (sound []*x509.Certificate, damaged int) {
	begun := func(text []byte) int { return bytes.Count(text, []byte(beginCertificate)) }
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(data) {
		// The decoder skips blocks that it cannot decode.
		passed := begun(data[:len(data)-len(rest)])
		data = rest
		if block.Type != "CERTIFICATE" {
			if passed > 0 {
				return sound, len(sound) + 1
			}
			continue
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil || passed > 1 {
			return sound, len(sound) + 1
		}
		sound = append(sound, certificate)
	}
	if begun(data) > 0 {
		return sound, len(sound) + 1
	}
	return sound, 0
}

// parseCA returns errors without any part of the certificates.
func parseCA(data string) *config.ValueError {
	const encoded = "LS0tLS1CRUdJTi" // -----BEGIN in base64
	sound, damaged := Certificates([]byte(data))
	switch {
	case strings.Contains(data, privateKey+"-----"):
		return &config.ValueError{Message: "contains a private key: write only certificates"}
	case strings.HasPrefix(strings.TrimSpace(data), encoded):
		return &config.ValueError{Message: "is in base64: write the PEM certificate itself, which begins with " + beginCertificate}
	case damaged > 0:
		return &config.ValueError{Message: fmt.Sprintf("certificate %d is damaged: copy it unchanged from its file, "+
			"each line on a separate line, indented, after caData: |", damaged)}
	case !strings.Contains(data, beginPEM):
		return &config.ValueError{Message: "is not a PEM certificate: write one that begins with " + beginCertificate + ", or the path of its file under caFile"}
	case len(sound) != strings.Count(data, beginPEM):
		return &config.ValueError{Message: "contains more than certificates: write only blocks that begin with " + beginCertificate}
	}
	return nil
}

// IsPEM reports whether a text is PEM.
func IsPEM(s string) bool { return strings.HasPrefix(strings.TrimSpace(s), beginPEM) }

// parseKey describes an error in a certificate's private key, without any part of the key.
func parseKey(data, certificate string) string {
	const write = ": write the PEM private key of the certificate in user"
	block, rest := pem.Decode([]byte(data))
	for block != nil && !strings.HasSuffix(block.Type, privateKey) {
		block, rest = pem.Decode(rest)
	}
	switch {
	case block == nil && strings.Contains(data, privateKey):
		return "is a damaged private key" + write
	case block == nil:
		return "is not a private key, but the user is a certificate" + write
	case block.Type == "ENCRYPTED "+privateKey || block.Headers["DEK-Info"] != "":
		return "is a private key with a passphrase" + write + ", without one"
	}
	pair, err := tls.X509KeyPair([]byte(certificate), pem.EncodeToMemory(block))
	_, isRSA := pair.PrivateKey.(*rsa.PrivateKey)
	switch {
	case err != nil && strings.Contains(err.Error(), "does not match"):
		return "is the private key of a different certificate" + write
	case err != nil:
		return "is a damaged private key" + write
	case !isRSA:
		return "is not an RSA key, but a token can be requested only with an RSA key: write an RSA key, and its certificate in user"
	}
	return ""
}

type caReader struct {
	values
	// read is nil if CA files are not to be read.
	read  Reader
	files []string
	// cache contains certificates by CA file, by list of CA files, and by a NUL and caData.
	cache map[string]caFile
	// bytes is the total size of the certificates in all lists.
	bytes int
}

// certificates returns a server's CA certificates: PEM in Data and the paths of their files in Text.
func (a *caReader) certificates(file, data *Value) *Value {
	if file.Set && data.Set {
		if file.At.Line != InEnvironment {
			a.Errorf(data.At, "conflicts with caFile: write only one of them")
			return &Value{At: data.At, Set: true, Bad: true}
		}
		a.Warnf(data.At, "has no effect: the %s overrides it", file.At.Path)
	}
	if file.Set || !data.Set {
		return a.fromFiles(file)
	}
	v := &Value{At: data.At, Set: true, Bad: data.Bad}
	if data.Usable() && strings.TrimSpace(data.Text) != systemCA {
		data.Hidden = true
		inline, isChecked := a.cache["\x00"+data.Text]
		if !isChecked {
			inline = caFile{data: []byte(data.Text), invalid: parseCA(data.Text)}
			a.cache["\x00"+data.Text] = inline
		}
		v.Bad = a.reject(data, inline.invalid)
		v.Data = inline.data
	}
	return v
}

// fromFiles splits the list of files like govmomi.
func (a *caReader) fromFiles(path *Value) *Value {
	const maxFiles = 64
	v := &Value{At: path.At, Set: path.Set, Bad: path.Bad}
	if !path.Usable() {
		return v
	}
	files := filepath.SplitList(path.Text)
	switch {
	case strings.Contains(path.Text, beginPEM):
		a.bad(v, "is a certificate: write %sthe path of a file that contains it", a.Dialect.InlineCA)
	case slices.Contains(files, ""):
		a.bad(v, "contains an empty path: write %c only between two paths", filepath.ListSeparator)
	case len(files) > maxFiles:
		a.bad(v, "lists %d files: write at most %d, one file can contain several certificates", len(files), maxFiles)
	}
	if v.Bad {
		return v
	}
	list, isRead := a.cache[path.Text]
	if !isRead || list.invalid != nil {
		list.data, v.Bad = a.readList(path, files)
	}
	v.Text = path.Text
	v.Data = list.data
	return v
}

// readList joins the files of a list, and caches the result if all are valid.
func (a *caReader) readList(path *Value, files []string) (data []byte, bad bool) {
	for i, name := range files {
		if slices.Contains(files[:i], name) {
			continue
		}
		file, isRead := a.cache[name]
		if !isRead {
			a.files = append(a.files, name)
			a.bounded(path.At, len(a.files), maxCAFiles, "CA files")
			if a.read != nil {
				file = readCA(a.read, name)
			}
			a.cache[name] = file
		}
		if file.invalid != nil {
			a.badFile(path, files, i, file)
			bad = true
			continue
		}
		start := len(data)
		// The previous file may end without a line break.
		if i > 0 && len(file.data) > 0 {
			data = append(data, '\n')
		}
		data = append(data, file.data...)
		if a.bytes += len(data) - start; a.bytes > maxCABytes {
			a.stop(path.At, "the CA files together exceed %d bytes: use fewer or smaller files", maxCABytes)
		}
	}
	if !bad {
		a.cache[path.Text] = caFile{data: slices.Clip(data)}
	}
	return data, bad
}

// badFile reports an error in one file of a list. It shows the path unless that may be a misplaced
// secret.
func (a *caReader) badFile(path *Value, files []string, i int, file caFile) {
	subject := ""
	hint := ""
	if len(files) > 1 {
		subject = fmt.Sprintf("file %d of %d: ", i+1, len(files))
		if !file.exists {
			hint = fmt.Sprintf("; %c separates two paths and cannot be part of one", filepath.ListSeparator)
		}
	}
	if !path.Hidden && (file.exists || certainPath.MatchString(files[i])) {
		subject = strings.Replace(subject, ": ", ", ", 1) + quote.Value(files[i]) + ": "
	}
	a.Errorf(path.At, "%s%s%s", subject, file.invalid.Message, hint)
	a.Errors[len(a.Errors)-1].Path = files[i]
}

var certainPath = regexp.MustCompile(`^/(etc|home|mnt|opt|run|srv|tmp|usr|var)/|\.(pem|crt|cer)$`)

func readCA(read Reader, path string) caFile {
	const limit = 4 << 20
	data, err := read(path, limit)
	sound, damaged := Certificates(data)
	f := caFile{exists: err == nil, invalid: new(config.ValueError)}
	pathError, ok := errors.AsType[*fs.PathError](err)
	switch {
	case errors.Is(err, config.ErrNotRegular) || errors.Is(err, config.ErrTooLarge):
		f.exists = true
		f.invalid.Message = "is not a certificate file: write the path of a PEM file"
	case ok:
		f.invalid.Message = "the file cannot be read: " + pathError.Err.Error() + ": write the path of a PEM file"
	case err != nil:
		f.invalid.Message = "the file cannot be read: " + err.Error() + ": write the path of a PEM file"
	case damaged > 0:
		f.invalid.Message = fmt.Sprintf("certificate %d of the file is damaged: write the path of a valid file", damaged)
	case len(sound) == 0:
		f.invalid.Message = "the file contains no PEM certificate: write the path of a file with " + beginCertificate
	default:
		return caFile{data: data}
	}
	return f
}

func (c values) user(user *Value, _ *config.Field) (any, *config.ValueError) {
	if !IsPEM(user.Text) {
		return parsed(parseName)(c, user, nil)
	}
	user.Hidden = true
	text := strings.TrimSpace(user.Text)
	_, wrong := c.leaf(text)
	return text, wrong
}

func (c values) password(password *Value, _ *config.Field) (any, *config.ValueError) {
	secret := password.Password().Reveal()
	switch {
	case IsPEM(secret):
		return config.NewPassword(strings.TrimSpace(secret)), nil
	case strings.HasSuffix(secret, "\n"):
		c.Warnf(password.At, "ends with a line break, which becomes part of the password: %s", c.Dialect.NoBreak)
	}
	return password.Data, nil
}

func (c values) leaf(user string) (*x509.Certificate, *config.ValueError) {
	sound, damaged := Certificates([]byte(user))
	first, _ := pem.Decode([]byte(user))
	switch {
	case strings.Contains(user, privateKey+"-----"):
		return nil, &config.ValueError{Message: "contains a private key: write the certificate here, and its key only as the password"}
	case damaged > 0:
		return nil, &config.ValueError{Message: fmt.Sprintf("certificate %d is damaged: copy it unchanged from its file, %s", damaged, c.Dialect.Lines)}
	case len(sound) == 0:
		return nil, &config.ValueError{Message: "is neither a name nor a certificate: write a user name, or a certificate with " + beginCertificate}
	case first.Type != "CERTIFICATE":
		return nil, &config.ValueError{Message: "does not begin with a certificate: write the block that begins with " + beginCertificate + " first"}
	}
	return sound[0], nil
}

// pair checks that a certificate and a private key belong together.
func (c values) pair(user, password *Value) {
	key := password.Password().Reveal()
	switch {
	case !user.Usable() || !password.Usable():
	case !IsPEM(user.Text) && IsPEM(key):
		c.Errorf(user.At, "is not a certificate, but the password is PEM: write the private key's certificate here")
	case IsPEM(user.Text):
		leaf, _ := c.leaf(user.Text) // user has checked it.
		if wrong := parseKey(key, user.Text); wrong != "" {
			c.Errorf(password.At, "%s", wrong)
		}
		c.validity(user.At, leaf)
	}
}

// validity only warns, since the local clock may be wrong and the certificate may be renewed.
func (c values) validity(pos Position, leaf *x509.Certificate) {
	now := time.Now()
	switch {
	case now.After(leaf.NotAfter):
		c.Warnf(pos, "is a certificate that expired on %s: the vCenter will reject it", leaf.NotAfter.UTC().Format(time.DateOnly))
	case now.Before(leaf.NotBefore):
		c.Warnf(pos, "is a certificate that is not valid before %s: the vCenter will reject it until then",
			leaf.NotBefore.UTC().Format(time.DateOnly))
	}
}

const (
	// maxCAFiles limits the files to watch, maxCABytes their total size.
	maxCAFiles = 1000
	maxCABytes = 64 << 20
)

// A Reader is a function like config.ReadFileAtMost.
type Reader func(path string, most int64) ([]byte, error)

type caFile struct {
	data    []byte
	invalid *config.ValueError
	exists  bool
}
