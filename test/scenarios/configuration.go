package scenarios

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/vmware/govmomi/vim25/soap"

	"gopkg.in/yaml.v3"

	"vzones/test/fleet"
)

// A configuration is what a section gives the daemon.
type configuration struct {
	// parts are merged into the configuration of the fleet that the harness makes.
	parts map[string]any
	// text is the whole file instead, if parts is nil.
	text string
	line int
	used bool
}

const (
	mergedSuffix = ".yaml"
	wholeSuffix  = ".conf"
)

// readConfiguration reads a section. Its name says of which kind it is.
func readConfiguration(name string, data []byte, vcenters []string) (*configuration, error) {
	c := &configuration{text: string(data)}
	if strings.HasSuffix(name, mergedSuffix) {
		c.parts = map[string]any{}
		if err := yaml.Unmarshal(data, &c.parts); err != nil {
			return nil, err
		}
	}
	for _, found := range placeholder.FindAllStringSubmatch(c.text, -1) {
		vcenter, what, _ := strings.Cut(found[1], ".")
		known := found[1] == directoryPlaceholder ||
			slices.Contains(vcenters, vcenter) && (slices.Contains(placeholders(), what) || strings.HasPrefix(what, idPlaceholder))
		if !known {
			return nil, fmt.Errorf("%s stands for nothing; there are ${%s} and ${VCENTER.WHAT} with %s and %sOBJECT",
				found[0], directoryPlaceholder, strings.Join(placeholders(), ", "), idPlaceholder)
		}
	}
	return c, nil
}

var placeholder = regexp.MustCompile(`\$\{([^}]*)\}`)

// directoryPlaceholder stands for the path of the directory that the command
// credentials writes to.
const directoryPlaceholder = "credentials"

// idPlaceholder stands for the managed object ID of the object behind it.
const idPlaceholder = "id:"

// placeholders are the placeholders for values of a vCenter.
func placeholders() []string {
	return []string{"host", "port", "user", "password", "ca", "sha1", "sha256"}
}

// placeholderValue returns the value of a placeholder now.
func (w *world) placeholderValue(name string) (string, error) {
	if name == directoryPlaceholder {
		return w.credentials.Path(""), nil
	}
	vcenter, what, _ := strings.Cut(name, ".")
	v := w.stack.Fleet.VCenter(vcenter)
	if v == nil {
		return "", fmt.Errorf("the fleet has no vCenter %q", vcenter)
	}
	if object, ok := strings.CutPrefix(what, idPlaceholder); ok {
		return v.ID(object)
	}
	switch what {
	case "host":
		return v.Host(), nil
	case "port":
		return strconv.Itoa(v.Port()), nil
	case "user":
		return v.User(), nil
	case "password":
		return v.Password(), nil
	case "ca":
		return w.stack.CAFile(v), nil
	}
	return fingerprint(v, what)
}

// fingerprint returns that of a vCenter's certificate as it is now.
func fingerprint(v *fleet.VCenter, hash string) (string, error) {
	block, _ := pem.Decode(v.Certificate())
	if block == nil {
		return "", errors.New("the certificate is not PEM")
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return "", err
	}
	if hash == "sha1" {
		return soap.ThumbprintSHA1(cert), nil
	}
	return soap.ThumbprintSHA256(cert), nil
}

// fill replaces placeholders with their values.
func (w *world) fill(text string) (string, error) {
	var errs []error
	filled := placeholder.ReplaceAllStringFunc(text, func(found string) string {
		value, err := w.placeholderValue(strings.TrimSuffix(strings.TrimPrefix(found, "${"), "}"))
		if err != nil {
			errs = append(errs, err)
		}
		return value
	})
	return filled, errors.Join(errs...)
}

// fillAll does that in every text of a value, so that YAML quotes what needs it.
func (w *world) fillAll(value any) (any, error) {
	var err error
	switch value := value.(type) {
	case string:
		text, err := w.fill(value)
		if port, isNumber := strconv.Atoi(text); isNumber == nil && strings.HasSuffix(value, ".port}") {
			return port, err
		}
		return text, err
	case []any:
		value = slices.Clone(value)
		for i := range value {
			if value[i], err = w.fillAll(value[i]); err != nil {
				return nil, err
			}
		}
		return value, nil
	case map[string]any:
		value = maps.Clone(value)
		for key := range value {
			if value[key], err = w.fillAll(value[key]); err != nil {
				return nil, err
			}
		}
		return value, nil
	}
	return value, nil
}

// render returns a configuration file for the fleet as it is now.
func (w *world) render(c *configuration) ([]byte, error) {
	if c.parts == nil {
		text, err := w.fill(c.text)
		return []byte(text), err
	}
	var all map[string]any
	if err := yaml.Unmarshal(w.stack.Config(), &all); err != nil {
		return nil, err
	}
	parts, err := w.fillAll(merged(all, c.parts))
	if err != nil {
		return nil, err
	}
	return yaml.Marshal(parts)
}

// merged returns base with what is in more, map by map. What is null there is
// taken out.
func merged(base, more map[string]any) map[string]any {
	all := maps.Clone(base)
	if all == nil {
		all = map[string]any{}
	}
	for key, value := range more {
		if value == nil {
			delete(all, key)
			continue
		}
		inner, ok := value.(map[string]any)
		under, both := all[key].(map[string]any)
		if ok && both {
			value = merged(under, inner)
		}
		all[key] = value
	}
	return all
}
