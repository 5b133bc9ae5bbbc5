package validate

import (
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

	"vzones/config"
	"vzones/config/check"
	"vzones/config/problem"
	"vzones/config/readfile"
	"vzones/config/schema"
	"vzones/topology/quote"
)

// authority takes the one that a section gives.
func (c *checker) authority(file, data schema.Text) schema.Value[authority] {
	if file.Set && data.Set {
		if file.At.Line != problem.InEnvironment {
			c.Errorf(data.At, "stands beside caFile: write one of the two")
			return schema.Value[authority]{At: data.At, Set: true, Bad: true}
		}
		c.Warnf(data.At, "has no effect: the %s overrides it", file.At.Path)
	}
	if file.Set || !data.Set {
		return c.authorityFile(file)
	}
	v := schema.Value[authority]{At: data.At, Set: true, Bad: data.Bad}
	if data.Usable() && strings.TrimSpace(data.V) != check.SystemCA {
		data.Hidden = true
		inline := c.inline(data.V)
		v.Bad = c.reject(data, inline.wrong)
		v.V = authority{pem: inline.data}
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
	c.caData[data] = caFile{data: []byte(data), wrong: check.ParseAuthority(data)}
	return c.caData[data]
}

func (c *checker) authorityFile(path schema.Text) schema.Value[authority] {
	v := schema.Value[authority]{At: path.At, Set: path.Set, Bad: path.Bad}
	if !path.Usable() {
		return v
	}
	v.V.File = path.V
	if strings.Contains(path.V, check.BeginPEM) {
		v.Bad = c.reject(path, &check.Mistake{What: "is a certificate: write " + c.Words.InlineCA + "the path of a file that holds it"})
		return v
	}
	files := filepath.SplitList(path.V)
	if v.Bad = c.reject(path, check.ParseFiles(files)); v.Bad {
		return v
	}
	data, kept := c.lists[path.V]
	if !kept {
		data, v.Bad = c.listed(path, files)
	}
	v.V.pem = data
	return v
}

// listed returns the certificates of all files of a list, and whether some are bad. The
// list is not read again if none is.
func (c *checker) listed(path schema.Text, files []string) (data []byte, bad bool) {
	for i := range files {
		one, wrong := c.authorityOf(path, i, files)
		bad = bad || wrong
		c.caBytes += len(one)
		if c.caBytes > maxCABytes {
			c.Stop(path.At, "the CA files have more than %d bytes together: write fewer or smaller ones", maxCABytes)
		}
		data = append(data, one...)
	}
	if !bad {
		if c.lists == nil {
			c.lists = make(map[string][]byte)
		}
		c.lists[path.V] = slices.Clip(data)
	}
	return data, bad
}

// caFile reads a file of certificates, once.
func (c *checker) caFile(path string, at problem.Position) caFile {
	if file, read := c.caFiles[path]; read {
		return file
	}
	c.files = append(c.files, path)
	c.Bounded(at, len(c.files), maxCAFiles, "CA files")
	var file caFile
	if c.read != nil {
		file = readCA(c.read, path)
	}
	if c.caFiles == nil {
		c.caFiles = make(map[string]caFile)
	}
	c.caFiles[path] = file
	return file
}

// authorityOf returns the certificates of one of the files that a text names, and
// whether they are bad.
func (c *checker) authorityOf(path schema.Text, i int, files []string) (data []byte, bad bool) {
	if slices.Contains(files[:i], files[i]) {
		return nil, false
	}
	file := c.caFile(files[i], path.At)
	if c.read == nil {
		return nil, false
	}
	if file.wrong == nil {
		if i > 0 {
			return slices.Concat([]byte{'\n'}, file.data), false // the previous one may end without
		}
		return file.data, false
	}
	wrong := *file.wrong
	if file.absent && c.Dashed(path.At, "caFile") {
		wrong.What = "the file is not there: mount it, or remove the key: the vSphere CPI ignores ca-file in the YAML format"
	}
	var which []string
	if len(files) > 1 {
		which = append(which, fmt.Sprintf("file %d of %d", i+1, len(files)))
	}
	if !path.Hidden && isPath(files[i]) {
		which = append(which, quote.Value(files[i]))
	}
	if len(which) > 0 {
		wrong.What = strings.Join(which, ", ") + ": " + wrong.What
	}
	if len(files) > 1 && file.absent {
		wrong.What += fmt.Sprintf("; %c separates two paths, and cannot be in one", filepath.ListSeparator)
	}
	c.reject(path, &wrong)
	c.Errors[len(c.Errors)-1].Path = files[i]
	return nil, true
}

// isPath reports whether a text is a path for certain, and not a secret at the wrong place: it
// leads into a directory that is there, or from the root to what is called a certificate.
func isPath(s string) bool {
	if filepath.IsAbs(s) && slices.Contains([]string{".pem", ".crt", ".cer"}, filepath.Ext(s)) {
		return true
	}
	dir := filepath.Dir(s)
	info, err := os.Stat(dir)
	return err == nil && info.IsDir() && dir != "." && dir != string(filepath.Separator)
}

// readCA reads a file of PEM certificates.
func readCA(read Reader, path string) caFile {
	const limit = 4 << 20
	data, err := read(path, limit)
	if errors.Is(err, readfile.ErrNotRegular) || errors.Is(err, readfile.ErrTooLarge) {
		return caFile{wrong: &check.Mistake{What: "is not a file of certificates: write the path of a PEM file"}}
	}
	if err != nil {
		return caFile{wrong: unreadable(err), absent: errors.Is(err, fs.ErrNotExist)}
	}
	sound, damaged := check.Certificates(data)
	switch {
	case damaged > 0:
		return caFile{wrong: &check.Mistake{What: fmt.Sprintf("certificate %d of the file is damaged: write the path of a sound one", damaged)}}
	case len(sound) == 0:
		return caFile{wrong: &check.Mistake{What: "the file has no PEM certificate: write the path of one with " + check.BeginCertificate}}
	}
	return caFile{data: data}
}

func unreadable(err error) *check.Mistake {
	reason := err
	if pathError, ok := errors.AsType[*fs.PathError](err); ok {
		reason = pathError.Err
	}
	return &check.Mistake{What: "the file cannot be read: " + reason.Error() + ": write the path of a PEM file"}
}

// user takes a name, or a certificate for a login with a SAML token.
func (c *checker) user(user *schema.Text) {
	switch {
	case !user.Usable():
	case !check.IsPEM(user.V):
		user.Bad = c.reject(*user, check.ParseName(user.V))
	default:
		user.V, user.Hidden = strings.TrimSpace(user.V), true
		_, wrong := c.leaf(user.V)
		user.Bad = c.reject(*user, wrong)
	}
}

func (c *checker) password(password *schema.Secret) {
	switch {
	case !password.Usable():
	case check.IsPEM(password.V.Reveal()):
		password.V = config.NewPassword(strings.TrimSpace(password.V.Reveal()))
	case strings.HasSuffix(password.V.Reveal(), "\n"):
		c.Warnf(password.At, "ends with a line break, which counts as part of the password: %s", c.Words.NoBreak)
	}
}

// leaf returns the certificate that stands for a user's name.
func (c *checker) leaf(user string) (*x509.Certificate, *check.Mistake) {
	sound, damaged := check.Certificates([]byte(user))
	first, _ := pem.Decode([]byte(user))
	switch {
	case strings.Contains(user, check.PrivateKey+"-----"):
		return nil, &check.Mistake{What: "holds a private key: write the certificate here, and its key as the password alone"}
	case damaged > 0:
		return nil, &check.Mistake{What: fmt.Sprintf("certificate %d is damaged: write it as it is in its file, %s", damaged, c.Words.Lines)}
	case len(sound) == 0:
		return nil, &check.Mistake{What: "is neither a name nor a certificate: write a user name, or a certificate with " + check.BeginCertificate}
	case first.Type != "CERTIFICATE":
		return nil, &check.Mistake{What: "has something else before its certificate: write what begins with " + check.BeginCertificate + " first"}
	}
	return sound[0], nil
}

// pair checks that a certificate and a private key belong together, where user or
// password is one.
func (c *checker) pair(user schema.Text, password schema.Secret) {
	key := password.V.Reveal()
	switch {
	case !user.Usable() || !password.Usable():
	case !check.IsPEM(user.V) && check.IsPEM(key):
		c.Errorf(user.At, "is not a certificate, but the password is PEM: write the certificate here that belongs to the private key")
	case check.IsPEM(user.V):
		leaf, _ := c.leaf(user.V) // It was checked.
		if wrong := check.ParseKey(key, leaf); wrong != "" {
			c.Errorf(password.At, "%s", wrong)
		}
		c.validity(user.At, leaf)
	}
}

// validity warns, since the clock here may be wrong and the certificate renewed.
func (c *checker) validity(at problem.Position, leaf *x509.Certificate) {
	switch now := time.Now(); {
	case now.After(leaf.NotAfter):
		c.Warnf(at, "is a certificate that expired on %s: the vCenter will reject it", leaf.NotAfter.UTC().Format(time.DateOnly))
	case now.Before(leaf.NotBefore):
		c.Warnf(at, "is a certificate that is not valid before %s: the vCenter will reject it until then",
			leaf.NotBefore.UTC().Format(time.DateOnly))
	}
}

// Bounds on what a configuration may cost.
const (
	// maxCAFiles is how many CA files are named, each of which is watched, and maxCABytes
	// how much is kept of them.
	maxCAFiles = 1000
	maxCABytes = 64 << 20
)
