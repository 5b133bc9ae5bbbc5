package check

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"vzones/cmd/vzones/cli"
	"vzones/cmd/vzones/world"
	"vzones/config"
	"vzones/config/load"
	"vzones/vcenter/credentials"
)

func validate(t *cli.Tool, files []string, o load.Options) error {
	var result error
	for _, file := range files {
		err := validateFile(t, file, o)
		switch {
		case err == nil:
		case errors.Is(err, cli.ErrFindings):
			if result == nil {
				result = err
			}
		default:
			fmt.Fprintf(t.Stderr, "Error: %v\n", err)
			result = cli.ErrReported
		}
	}
	return result
}

func validateFile(t *cli.Tool, file string, o load.Options) error {
	data, err := t.Read(file)
	if err != nil {
		return err
	}
	var report bytes.Buffer
	if world.IsManifest(data) {
		err = validateManifest(&report, file, data, o)
	} else {
		_, err = validateData(&report, file, data, o, func(e config.Error) config.Error { return e })
	}
	// If the report cannot be written, that error takes precedence.
	return cmp.Or(t.Write(report.Bytes()), err)
}

func validateManifest(report io.Writer, file string, data []byte, o load.Options) error {
	objects, err := world.ReadManifests(file, data)
	if err != nil {
		return err
	}
	var configs []*config.Config
	found := false
	for _, object := range objects {
		for _, v := range object.Values {
			if !isConfiguration(v.Key) {
				continue
			}
			found = true
			c, wrong := validateData(report, file, []byte(v.Content.Reveal()), o, func(e config.Error) config.Error { return place(e, v) })
			if wrong != nil {
				err = wrong
				continue
			}
			configs = append(configs, c)
		}
	}
	for _, object := range objects {
		if object.Kind != world.KindSecret {
			continue
		}
		read, wrong := validateCredentials(report, file, object, configs)
		found = found || read
		if wrong != nil {
			err = wrong
		}
	}
	if !found {
		return fmt.Errorf("%s: the manifests contain neither a configuration nor credentials: "+
			"add a ConfigMap or Secret with the configuration under the key config or cloud-config, or a key that ends in .yaml, .yml or .conf", file)
	}
	return err
}

// validateData validates a configuration, and returns it if it has no errors. moved maps the position of an
// error in the configuration to its position in the file.
func validateData(report io.Writer, file string, data []byte, o load.Options, moved func(config.Error) config.Error) (*config.Config, error) {
	c, err := o.Parse(file, data)
	if configErrors, ok := errors.AsType[config.Errors](err); ok {
		for i, e := range configErrors {
			configErrors[i] = moved(e)
		}
	}
	if err != nil {
		return nil, cli.PrintConfigErrors(report, err)
	}
	for i, w := range c.Warnings {
		c.Warnings[i] = moved(w)
	}
	cli.PrintWarnings(report, "warning", c.Warnings)
	return c, nil
}

// isConfiguration reports whether a key contains a configuration. OpenShift's ConfigMap uses the key
// config, and the ConfigMaps of other installers use cloud-config.
func isConfiguration(key string) bool {
	return key == "config" || key == "cloud-config" || slices.Contains([]string{".yaml", ".yml", ".conf"}, filepath.Ext(key))
}

// validateCredentials reads the credentials in a Secret as the daemon does: for the vCenters whose
// configuration references the Secret, and for every other server in it. found reports whether it has
// credentials.
func validateCredentials(report io.Writer, file string, secret world.Manifest, configs []*config.Config) (found bool, err error) {
	data := map[string][]byte{}
	for _, v := range secret.Values {
		data[v.Key] = []byte(v.Content.Reveal())
	}
	servers := serversIn(data)
	for _, c := range configs {
		for _, v := range c.VCenters {
			isReferenced := v.Secret.Name != "" && v.Secret.Name == secret.Ref.Name && (secret.Ref.Namespace == "" || v.Secret.Namespace == secret.Ref.Namespace)
			if isReferenced && v.User == "" && !slices.ContainsFunc(servers, func(s string) bool { return credentials.SameAddress(s, v.Server) }) {
				servers = append(servers, v.Server)
			}
		}
	}
	for _, server := range servers {
		if _, wrong := credentials.Find(data, server); wrong != nil {
			fmt.Fprintf(report, "%s:%d: %s: %v\n", file, secret.Line, secret, wrong)
			err = cli.ErrFindings
		}
	}
	return len(servers) > 0, err
}

func serversIn(data map[string][]byte) []string {
	servers := map[string]bool{}
	for key, value := range data {
		for _, kind := range []string{".username", ".password", ".vc-session-manager-url", ".vc-session-manager-token"} {
			if server, ok := strings.CutSuffix(key, kind); ok && server != "" {
				servers[server] = true
			}
		}
		if server := strings.TrimSpace(string(value)); strings.HasPrefix(key, "server_") && server != "" {
			servers[server] = true
		}
	}
	return slices.Sorted(maps.Keys(servers))
}

// place moves an error to its line in the file. Errors about environment variables have no line.
func place(e config.Error, v world.ManifestValue) config.Error {
	switch {
	case e.Line == 0:
	case v.First > 0:
		e.Line += v.First - 1
	default:
		location := fmt.Sprintf("line %d of %s", e.Line, v.Key)
		if e.Field != "" {
			location += ", " + e.Field
		}
		e.Line = v.Line
		e.Field = location
	}
	return e
}
