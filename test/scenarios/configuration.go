package scenarios

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/vmware/govmomi/vim25/soap"

	"gopkg.in/yaml.v3"
)

// setOutOfService adds nodes.outOfService: gone to each configuration. Then the condition exists is false for a Node with the
// taint.
var setOutOfService = flag.Bool("outofservice", false, "play only the scenarios with silent Nodes, with nodes.outOfService: gone")

type configuration struct {
	// parts are merged into the fleet's default configuration.
	parts map[string]any
	// text is the complete file, if parts is nil.
	text string
}

const (
	mergedSuffix = ".yaml"
	wholeSuffix  = ".conf"
)

// readConfiguration reads a section. The suffix of its name decides its kind.
func readConfiguration(name string, data []byte) (*configuration, error) {
	if strings.HasSuffix(name, wholeSuffix) {
		return &configuration{text: string(data)}, nil
	}
	c := &configuration{parts: map[string]any{}}
	return c, yaml.Unmarshal(data, &c.parts)
}

var placeholder = regexp.MustCompile(`\$\{([^}]*)\}`)

const directoryPlaceholder = "credentials"

// idPlaceholder precedes the object in a placeholder for a managed object ID.
const idPlaceholder = "id:"

func (w *world) placeholderValue(name string) (string, error) {
	if name == directoryPlaceholder {
		return w.credentials.Path(""), nil
	}
	vcenter, property, _ := strings.Cut(name, ".")
	v := w.stack.Fleet.VCenter(vcenter)
	if v == nil {
		return "", fmt.Errorf("the fleet has no vCenter %q", vcenter)
	}
	if object, ok := strings.CutPrefix(property, idPlaceholder); ok {
		return v.ID(object)
	}
	switch property {
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
	case "sha1":
		return soap.ThumbprintSHA1(v.Leaf()), nil
	case "sha256":
		return soap.ThumbprintSHA256(v.Leaf()), nil
	}
	return "", fmt.Errorf("unknown placeholder ${%s}", name)
}

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

// fillAll replaces placeholders in all strings of a value, so that YAML can quote the results.
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

func (w *world) render(c *configuration) ([]byte, error) {
	if c.parts == nil {
		text, err := w.fill(c.text)
		return []byte(text), err
	}
	var base map[string]any
	if err := yaml.Unmarshal(w.stack.Config(), &base); err != nil {
		return nil, err
	}
	if *setOutOfService {
		base["nodes"] = map[string]any{"outOfService": "gone"}
	}
	parts, err := w.fillAll(merged(base, c.parts))
	if err != nil {
		return nil, err
	}
	return yaml.Marshal(parts)
}

// merged returns base merged with more, map by map. A null value removes the key.
func merged(base, overrides map[string]any) map[string]any {
	result := maps.Clone(base)
	if result == nil {
		result = map[string]any{}
	}
	for key, value := range overrides {
		if value == nil {
			delete(result, key)
			continue
		}
		inner, ok := value.(map[string]any)
		outer, isMap := result[key].(map[string]any)
		if ok && isMap {
			value = merged(outer, inner)
		}
		result[key] = value
	}
	return result
}
