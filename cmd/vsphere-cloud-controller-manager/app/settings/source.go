// Package settings reads the daemon's flags, configuration and credentials, for the daemon and the
// operator's tool. It applies nothing.
package settings

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"vzones/config"
	"vzones/config/load"
)

const csiKey = "csi-vsphere.conf"

// A Source is the location of the configuration: a file, or a key of a Secret.
type Source struct {
	// File is empty for a Secret.
	File   string
	Secret config.SecretRef
	// key is empty for csiKey or the only key of the Secret.
	key     string
	environ []string
	// labels are from --node-labels, and warnings are about them.
	labels   map[string]string
	warnings []config.Warning
	// readFile is nil for the local file system.
	readFile func(path string, limit int64) ([]byte, error)
}

// NewSource parses the flags for the source.
func NewSource(file, secret string, environ []string) (Source, error) {
	switch {
	case file != "" && secret != "":
		return Source{}, errors.New("--cloud-config and --cloud-config-secret are both set: set only one of them")
	case file != "":
		return Source{File: file, environ: environ}, nil
	case secret == "":
		return Source{}, errors.New("--cloud-config is not set: set it to the path of the configuration file, " +
			"or set --cloud-config-secret to a Secret that contains it")
	}
	where, key, _ := strings.Cut(secret, ":")
	namespace, name, ok := strings.Cut(where, "/")
	if !ok || len(validation.IsDNS1123Label(namespace)) > 0 || len(validation.IsDNS1123Subdomain(name)) > 0 {
		return Source{}, fmt.Errorf("--cloud-config-secret is %q: write NAMESPACE/NAME or NAMESPACE/NAME:KEY, such as vmware-system-csi/vsphere-config-secret", secret)
	}
	return Source{Secret: config.SecretRef{Namespace: namespace, Name: name}, key: key, environ: environ}, nil
}

// AddLabels adds the values of --node-labels.
func (s *Source) AddLabels(flag []string) error {
	const name = "--node-labels"
	labels, warnings, err := config.ParseNodeLabels(flag...)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	s.labels = labels
	for _, w := range warnings {
		s.warnings = append(s.warnings, config.Warning{Field: name, Message: w})
	}
	return nil
}

// ReadFilesBy sets the function that reads files, see load.Options.ReadFile.
func (s *Source) ReadFilesBy(read func(path string, limit int64) ([]byte, error)) { s.readFile = read }

// InSecret reports whether the source is a Secret.
func (s *Source) InSecret() bool { return s.File == "" }

// Secrets reads Secrets.
type Secrets interface {
	Get(context.Context, config.SecretRef) (*v1.Secret, error)
}

// Revision returns the modification time of the file or the resource version of the Secret, or "" if it
// cannot be read.
func (s *Source) Revision(ctx context.Context, secrets Secrets) string {
	if info, err := os.Stat(s.File); err == nil {
		return info.ModTime().String()
	}
	if secret, err := secrets.Get(ctx, s.Secret); err == nil {
		return secret.ResourceVersion
	}
	return ""
}

// Read reads the configuration. A Secret is read through secrets.
func (s *Source) Read(ctx context.Context, secrets Secrets) (*config.Config, error) {
	cfg, err := s.parse(ctx, secrets)
	if err != nil {
		return nil, err
	}
	cfg.Warnings = append(cfg.Warnings, s.warnings...)
	if len(s.labels) == 0 {
		return cfg, nil
	}
	for _, label := range cfg.Topology.Policy.Labels() {
		if _, isGiven := s.labels[label]; isGiven {
			return nil, fmt.Errorf("--node-labels sets label %s on every Node, but the configuration has a rule for it: remove one of them", label)
		}
	}
	labels := make(map[string]string, len(cfg.NodeLabels)+len(s.labels))
	maps.Copy(labels, cfg.NodeLabels)
	maps.Copy(labels, s.labels)
	cfg.NodeLabels = labels
	return cfg, nil
}

func (s *Source) parse(ctx context.Context, secrets Secrets) (*config.Config, error) {
	o := load.Options{Environ: s.environ, ReadFile: s.readFile}
	if !s.InSecret() {
		return o.Read(s.File)
	}
	secret, err := secrets.Get(ctx, s.Secret)
	if err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	key, err := s.keyOf(secret.Data)
	if err != nil {
		return nil, err
	}
	return o.Parse(fmt.Sprintf("Secret %s/%s %s", s.Secret.Namespace, s.Secret.Name, key), secret.Data[key])
}

func (s *Source) keyOf(data map[string][]byte) (string, error) {
	keys := slices.Sorted(maps.Keys(data))
	switch {
	case s.key != "" && data[s.key] != nil:
		return s.key, nil
	case s.key == "" && data[csiKey] != nil:
		return csiKey, nil
	case s.key == "" && len(keys) == 1:
		return keys[0], nil
	case s.key != "":
		return "", fmt.Errorf("the Secret %s/%s has no key %q: use one of %q in --cloud-config-secret",
			s.Secret.Namespace, s.Secret.Name, s.key, keys)
	}
	return "", fmt.Errorf("the Secret %s/%s has the keys %q, but not %s: set --cloud-config-secret=%s/%s:KEY",
		s.Secret.Namespace, s.Secret.Name, keys, csiKey, s.Secret.Namespace, s.Secret.Name)
}

// String returns the path of the file or the name of the Secret.
func (s *Source) String() string {
	if s.InSecret() {
		return "Secret " + s.Secret.Namespace + "/" + s.Secret.Name
	}
	return s.File
}
