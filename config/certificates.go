package config

import (
	"bytes"
	"crypto"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"vzones/topology/quote"
)

const (
	beginPEM         = "-----BEGIN "
	beginCertificate = "-----BEGIN CERTIFICATE-----"
	privateKey       = "PRIVATE KEY"
	// systemCA in place of certificates stands for those of the system, against
	// the global section's.
	systemCA = "system"
)

// authority is what a server's certificate is verified with: nothing set means
// the system's certificates.
type authority struct {
	file string
	pem  []byte
}

// authority takes the one that a section gives.
func (c *checker) authority(file, data text) value[authority] {
	if file.set && data.set {
		if file.at.line != inEnvironment {
			c.errorf(data.at, "stands beside caFile: write one of the two")
			return value[authority]{at: data.at, set: true, bad: true}
		}
		c.warnf(data.at, "has no effect: the %s overrides it", file.at.path)
	}
	if file.set || !data.set {
		return c.authorityFile(file)
	}
	v := value[authority]{at: data.at, set: true, bad: data.bad}
	if data.usable() && strings.TrimSpace(data.v) != systemCA {
		data.mute = true
		inline := c.inline(data.v)
		v.bad = c.complain(data, inline.wrong)
		v.v = authority{pem: inline.data}
	}
	return v
}

// inline checks certificates in the configuration itself, once: an alias may stand for
// them in each entry.
func (c *checker) inline(data string) caFile {
	if checked, ok := c.caData[data]; ok {
		return checked
	}
	if c.caData == nil {
		c.caData = make(map[string]caFile)
	}
	c.caData[data] = caFile{[]byte(data), parseAuthority(data)}
	return c.caData[data]
}

func (c *checker) authorityFile(path text) value[authority] {
	v := value[authority]{at: path.at, set: path.set, bad: path.bad}
	if !path.usable() {
		return v
	}
	v.v.file = path.v
	if strings.Contains(path.v, beginPEM) {
		v.bad = c.complain(path, &complaint{what: "is a certificate: write " + c.words.inlineCA + "the path of a file that holds it"})
		return v
	}
	files := filepath.SplitList(path.v)
	if v.bad = c.complain(path, parseFiles(files)); v.bad {
		return v
	}
	data, kept := c.lists[path.v]
	if !kept {
		data, v.bad = c.listed(path, files)
	}
	v.v.pem = data
	return v
}

// listed returns the certificates of all files of a list, and whether some are bad. The
// list is not read again if none is.
func (c *checker) listed(path text, files []string) (data []byte, bad bool) {
	for i := range files {
		one, wrong := c.authorityOf(path, i, files)
		bad = bad || wrong
		c.caBytes += len(one)
		if c.caBytes > maxCABytes {
			c.stop(path.at, "the CA files have more than %d bytes together: write fewer or smaller ones", maxCABytes)
		}
		data = append(data, one...)
	}
	if !bad {
		if c.lists == nil {
			c.lists = make(map[string][]byte)
		}
		c.lists[path.v] = slices.Clip(data)
	}
	return data, bad
}

// caFile is what a file of certificates holds, or what is wrong with it.
type caFile struct {
	data  []byte
	wrong *complaint
}

// caFile reads a file of certificates, once.
func (c *checker) caFile(path string, at position) caFile {
	if file, read := c.caFiles[path]; read {
		return file
	}
	c.files = append(c.files, path)
	c.bounded(at, len(c.files), maxCAFiles, "CA files")
	var file caFile
	if !c.skipFiles {
		file.data, file.wrong = readCA(path)
	}
	if c.caFiles == nil {
		c.caFiles = make(map[string]caFile)
	}
	c.caFiles[path] = file
	return file
}

// parseFiles checks the paths of files of certificates, which stand in one text as
// govmomi takes them, with which the CPI and the CSI driver read them.
func parseFiles(files []string) *complaint {
	const most = 64
	switch {
	case slices.Contains(files, ""):
		return &complaint{what: fmt.Sprintf("names a file without a path: a %c stands between two paths, write it nowhere else", filepath.ListSeparator)}
	case len(files) > most:
		return &complaint{what: fmt.Sprintf("names %d files: write at most %d, several certificates can be in one", len(files), most)}
	}
	return nil
}

// authorityOf returns the certificates of one of the files that a text names, and
// whether they are bad.
func (c *checker) authorityOf(path text, i int, files []string) (data []byte, bad bool) {
	if slices.Contains(files[:i], files[i]) {
		return nil, false
	}
	file := c.caFile(files[i], path.at)
	if c.skipFiles {
		return nil, false
	}
	if file.wrong == nil {
		if i > 0 {
			return slices.Concat([]byte{'\n'}, file.data), false // the one before may end without
		}
		return file.data, false
	}
	wrong := *file.wrong
	if _, err := os.Stat(files[i]); errors.Is(err, fs.ErrNotExist) && c.dashed(path.at, "caFile") {
		wrong.what = "the file is not there: mount it, or remove the key: the vSphere CPI ignores ca-file in the YAML format"
	}
	if len(files) > 1 {
		which := fmt.Sprintf("file %d of %d", i+1, len(files))
		if !path.mute && isPath(files[i]) {
			which += ", " + quote.Value(files[i])
		}
		wrong.what = which + ": " + wrong.what
		if _, err := os.Stat(files[i]); errors.Is(err, fs.ErrNotExist) {
			wrong.what += fmt.Sprintf("; %c separates two paths, and cannot be in one", filepath.ListSeparator)
		}
	}
	c.complain(path, &wrong)
	c.errors[len(c.errors)-1].Path = files[i]
	return nil, true
}

// isPath says that a text is a path for certain, and not a secret at the wrong place: it
// leads into a directory that is there.
func isPath(s string) bool {
	dir := filepath.Dir(s)
	info, err := os.Stat(dir)
	return err == nil && info.IsDir() && dir != "." && dir != string(filepath.Separator)
}

// readCA returns the content of a file of PEM certificates.
func readCA(path string) ([]byte, *complaint) {
	const limit = 4 << 20
	data, err := readFile(path, limit)
	if errors.Is(err, errNotRegular) || errors.Is(err, errTooLarge) {
		return nil, &complaint{what: "is not a file of certificates: write the path of a PEM file"}
	}
	if err != nil {
		return nil, unreadable(err)
	}
	sound, damaged := certificates(data)
	switch {
	case damaged > 0:
		return nil, &complaint{what: fmt.Sprintf("certificate %d of the file is damaged: write the path of a sound one", damaged)}
	case len(sound) == 0:
		return nil, &complaint{what: "the file has no PEM certificate: write the path of one with " + beginCertificate}
	}
	return data, nil
}

func unreadable(err error) *complaint {
	reason := err
	if pathError, ok := errors.AsType[*fs.PathError](err); ok {
		reason = pathError.Err
	}
	return &complaint{what: "the file cannot be read: " + reason.Error() + ": write the path of a PEM file"}
}

// certificates returns the PEM certificates of a text. The first that is damaged ends
// them, and is the one of that number, from 1; 0 says that none is.
func certificates(data []byte) (sound []*x509.Certificate, damaged int) {
	begun := func(text []byte) int { return bytes.Count(text, []byte(beginCertificate)) }
	for {
		block, rest := pem.Decode(data)
		if block == nil {
			break
		}
		// What cannot be decoded is passed over by the decoder.
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

// parseAuthority checks PEM certificates in the configuration itself. What it says
// never holds a part of them.
func parseAuthority(data string) *complaint {
	const encoded = "LS0tLS1CRUdJTi" // -----BEGIN in base64
	sound, damaged := certificates([]byte(data))
	switch {
	case strings.Contains(data, privateKey+"-----"):
		return &complaint{what: "holds a private key: write certificates alone"}
	case strings.HasPrefix(strings.TrimSpace(data), encoded):
		return &complaint{what: "is in base64: write the certificate as it is, with " + beginCertificate}
	case damaged > 0:
		return &complaint{what: fmt.Sprintf("certificate %d is damaged: write it as it is in its file, "+
			"each line of it on a line of its own, indented, after caData: |", damaged)}
	case !strings.Contains(data, beginPEM):
		return &complaint{what: "is no PEM certificate: write one with " + beginCertificate + ", or the path of its file under caFile"}
	case len(sound) != strings.Count(data, beginPEM):
		return &complaint{what: "holds something else than certificates: write only what begins with " + beginCertificate}
	}
	return nil
}

func isPEM(s string) bool { return strings.HasPrefix(strings.TrimSpace(s), beginPEM) }

// user takes a name, or a certificate for a login with a SAML token.
func (c *checker) user(user *text) {
	switch {
	case !user.usable():
	case !isPEM(user.v):
		user.bad = c.complain(*user, parseName(user.v))
	default:
		user.v, user.mute = strings.TrimSpace(user.v), true
		_, wrong := c.leaf(user.v)
		user.bad = c.complain(*user, wrong)
	}
}

func (c *checker) password(password *secret) {
	switch {
	case !password.usable():
	case isPEM(password.v.Reveal()):
		password.v = NewPassword(strings.TrimSpace(password.v.Reveal()))
	case strings.HasSuffix(password.v.Reveal(), "\n"):
		c.warnf(password.at, "ends with a line break, which is taken for a part of the password: %s", c.words.noBreak)
	}
}

// leaf returns the certificate that stands for a user's name.
func (c *checker) leaf(user string) (*x509.Certificate, *complaint) {
	sound, damaged := certificates([]byte(user))
	first, _ := pem.Decode([]byte(user))
	switch {
	case strings.Contains(user, privateKey+"-----"):
		return nil, &complaint{what: "holds a private key: write the certificate here, and its key as the password alone"}
	case damaged > 0:
		return nil, &complaint{what: fmt.Sprintf("certificate %d is damaged: write it as it is in its file, %s", damaged, c.words.lines)}
	case len(sound) == 0:
		return nil, &complaint{what: "is neither a name nor a certificate: write a user name, or a certificate with " + beginCertificate}
	case first.Type != "CERTIFICATE":
		return nil, &complaint{what: "has something else before its certificate: write what begins with " + beginCertificate + " first"}
	}
	return sound[0], nil
}

// pair checks that a certificate and a private key belong together, where user or
// password is one.
func (c *checker) pair(user text, password secret) {
	key := password.v.Reveal()
	switch {
	case !user.usable() || !password.usable():
	case !isPEM(user.v) && isPEM(key):
		c.errorf(user.at, "is no certificate, but the password is PEM: write the certificate here that belongs to the private key")
	case isPEM(user.v):
		leaf, _ := c.leaf(user.v) // It was checked.
		if wrong := parseKey(key, leaf); wrong != "" {
			c.errorf(password.at, "%s", wrong)
		}
		c.validity(user.at, leaf)
	}
}

// parseKey says what is wrong with the private key of a certificate, in words
// that hold nothing of it.
func parseKey(data string, leaf *x509.Certificate) string {
	const write = ": write the PEM private key of the certificate in user"
	block, rest := pem.Decode([]byte(data))
	for block != nil && !strings.HasSuffix(block.Type, privateKey) {
		block, rest = pem.Decode(rest)
	}
	switch {
	case block == nil && strings.Contains(data, privateKey):
		return "is a damaged private key" + write
	case block == nil:
		return "is no private key, but the user is a certificate" + write
	case block.Type == "ENCRYPTED "+privateKey || block.Headers["DEK-Info"] != "":
		return "is a private key behind a passphrase" + write + ", without one"
	}
	key, err := decodeKey(block.Bytes)
	if err != nil {
		return "is a damaged private key" + write
	}
	public, ok := key.Public().(interface{ Equal(crypto.PublicKey) bool })
	if !ok || !public.Equal(leaf.PublicKey) {
		return "is the private key of another certificate" + write
	}
	if _, ok := key.(*rsa.PrivateKey); !ok {
		return "is no RSA key, with which alone a token can be asked for: write the key of a certificate with an RSA key, and that certificate in user"
	}
	return ""
}

func decodeKey(der []byte) (crypto.Signer, error) {
	if key, err := x509.ParsePKCS8PrivateKey(der); err == nil {
		if signer, ok := key.(crypto.Signer); ok {
			return signer, nil
		}
		return nil, errors.New("a key that cannot sign")
	}
	if key, err := x509.ParseECPrivateKey(der); err == nil {
		return key, nil
	}
	return x509.ParsePKCS1PrivateKey(der)
}

// validity warns, since the clock here may be wrong and the certificate renewed.
func (c *checker) validity(at position, leaf *x509.Certificate) {
	switch now := time.Now(); {
	case now.After(leaf.NotAfter):
		c.warnf(at, "is a certificate that expired on %s: the vCenter will reject it", leaf.NotAfter.UTC().Format(time.DateOnly))
	case now.Before(leaf.NotBefore):
		c.warnf(at, "is a certificate that is not valid before %s: the vCenter will reject it until then",
			leaf.NotBefore.UTC().Format(time.DateOnly))
	}
}
