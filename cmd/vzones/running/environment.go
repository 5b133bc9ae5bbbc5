package running

import (
	"context"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"vzones/config/parse"
)

// readEnvironment reads the variables of the container, and returns all that were read. Those whose
// value comes from elsewhere are read only if they concern the configuration or are in an argument.
func (d *Daemon) readEnvironment(ctx context.Context) (map[string]string, error) {
	known := parse.Variables()
	args := strings.Join(slices.Concat(d.container.Command, d.container.Args), " ")
	wanted := func(name string) bool {
		return slices.Contains(known, name) || strings.HasPrefix(name, "VSPHERE_") || strings.Contains(args, "$("+name+")")
	}
	variables := map[string]string{}
	for i := range d.container.EnvFrom {
		data, err := d.readEnvFrom(ctx, &d.container.EnvFrom[i])
		if err != nil {
			return nil, err
		}
		for key, value := range data {
			variables[d.container.EnvFrom[i].Prefix+key] = string(value)
		}
	}
	for i := range d.container.Env {
		e := &d.container.Env[i]
		switch {
		case e.ValueFrom == nil:
			variables[e.Name] = expand(e.Value, variables)
		case wanted(e.Name):
			value, there, err := d.readValue(ctx, e.ValueFrom)
			if err != nil {
				return nil, fmt.Errorf("environment variable %s: %w", e.Name, err)
			}
			if there {
				variables[e.Name] = value
			}
		}
	}
	for name, value := range variables {
		if slices.Contains(known, name) || strings.HasPrefix(name, "VSPHERE_") {
			d.Environ = append(d.Environ, name+"="+value)
		}
	}
	slices.Sort(d.Environ)
	return variables, nil
}

// readEnvFrom reads all variables of a ConfigMap or a Secret.
func (d *Daemon) readEnvFrom(ctx context.Context, from *v1.EnvFromSource) (map[string][]byte, error) {
	switch {
	case from.ConfigMapRef != nil:
		return optional(from.ConfigMapRef.Optional)(d.configMap(ctx, from.ConfigMapRef.Name))
	case from.SecretRef != nil:
		return optional(from.SecretRef.Optional)(d.secret(ctx, from.SecretRef.Name))
	}
	return nil, nil
}

// readValue reads the value of one variable, if there is one.
func (d *Daemon) readValue(ctx context.Context, from *v1.EnvVarSource) (value string, there bool, err error) {
	var data map[string][]byte
	var key, of string
	var may *bool
	switch {
	case from.SecretKeyRef != nil:
		key, of, may = from.SecretKeyRef.Key, "Secret "+from.SecretKeyRef.Name, from.SecretKeyRef.Optional
		data, err = optional(may)(d.secret(ctx, from.SecretKeyRef.Name))
	case from.ConfigMapKeyRef != nil:
		key, of, may = from.ConfigMapKeyRef.Key, "ConfigMap "+from.ConfigMapKeyRef.Name, from.ConfigMapKeyRef.Optional
		data, err = optional(may)(d.configMap(ctx, from.ConfigMapKeyRef.Name))
	default:
		return "", false, nil // a field of the Pod, which no setting of the daemon is
	}
	text, there := data[key]
	if err == nil && !there && (may == nil || !*may) {
		err = fmt.Errorf("%s has no key %q", of, key)
	}
	return string(text), there, err
}

// optional lets something be absent that may be.
func optional(may *bool) func(map[string][]byte, error) (map[string][]byte, error) {
	return func(data map[string][]byte, err error) (map[string][]byte, error) {
		if may != nil && *may && apierrors.IsNotFound(err) {
			return nil, nil
		}
		return data, err
	}
}

// expand puts the values of variables in the place of $(NAME), as the kubelet does: $$ is $, and a
// variable that is not known stays.
func expand(text string, variables map[string]string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "$")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		switch name, behind, closed := strings.Cut(strings.TrimPrefix(rest, "("), ")"); {
		case strings.HasPrefix(rest, "$"):
			b.WriteString("$")
			text = rest[1:]
		case strings.HasPrefix(rest, "(") && closed:
			if value, known := variables[name]; known {
				b.WriteString(value)
			} else {
				b.WriteString("$(" + name + ")")
			}
			text = behind
		default:
			b.WriteString("$")
			text = rest
		}
	}
}
