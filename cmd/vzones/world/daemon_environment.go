package world

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"vzones/config/load"
)

// readEnvironment sets Environ, and returns the container's variables. It reads a variable from another
// object only if the flags or the configuration depend on it.
func (d *Daemon) readEnvironment(ctx context.Context) (map[string]string, error) {
	wanted := wantedVariables(d.container)
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
			variables[e.Name], _ = expand(e.Value, variables)
		case wanted[e.Name]:
			value, ok, err := d.readValue(ctx, e.ValueFrom)
			if err != nil {
				return nil, fmt.Errorf("environment variable %s: %w", e.Name, err)
			}
			if ok {
				variables[e.Name] = value
			}
		}
	}
	for name, value := range variables {
		if isSetting(name) || load.IsProxy(name) {
			d.Environ = append(d.Environ, name+"="+value)
		}
	}
	slices.Sort(d.Environ)
	return variables, nil
}

func isSetting(name string) bool {
	return slices.Contains(load.Variables(), name) || strings.HasPrefix(name, "VSPHERE_")
}

// wantedVariables returns the variables that the arguments and the configuration depend on, directly or
// through other variables. A variable can reference only variables before it.
func wantedVariables(c *v1.Container) map[string]bool {
	wanted := map[string]bool{}
	addReferences := func(text string) {
		for _, name := range references(text) {
			wanted[name] = true
		}
	}
	for _, arg := range slices.Concat(c.Command, c.Args) {
		addReferences(arg)
	}
	for _, e := range slices.Backward(c.Env) {
		if wanted[e.Name] = wanted[e.Name] || isSetting(e.Name); wanted[e.Name] {
			addReferences(e.Value)
		}
	}
	return wanted
}

func (d *Daemon) readEnvFrom(ctx context.Context, source *v1.EnvFromSource) (map[string][]byte, error) {
	switch {
	case source.ConfigMapRef != nil:
		return d.configMap(ctx, source.ConfigMapRef.Name, source.ConfigMapRef.Optional)
	case source.SecretRef != nil:
		return d.secret(ctx, source.SecretRef.Name, source.SecretRef.Optional)
	}
	return nil, nil
}

func (d *Daemon) readValue(ctx context.Context, source *v1.EnvVarSource) (value string, exists bool, err error) {
	var data map[string][]byte
	var key, object string
	var optional *bool
	switch {
	case source.SecretKeyRef != nil:
		key = source.SecretKeyRef.Key
		object = "Secret " + source.SecretKeyRef.Name
		optional = source.SecretKeyRef.Optional
		data, err = d.secret(ctx, source.SecretKeyRef.Name, optional)
	case source.ConfigMapKeyRef != nil:
		key = source.ConfigMapKeyRef.Key
		object = "ConfigMap " + source.ConfigMapKeyRef.Name
		optional = source.ConfigMapKeyRef.Optional
		data, err = d.configMap(ctx, source.ConfigMapKeyRef.Name, optional)
	case source.FieldRef != nil:
		path := source.FieldRef.FieldPath
		value, exists = map[string]string{
			"metadata.name": d.pod.Name, "metadata.namespace": d.pod.Namespace, "spec.nodeName": d.pod.Spec.NodeName,
			"status.hostIP": d.pod.Status.HostIP, "status.podIP": d.pod.Status.PodIP,
		}[path]
		if !exists {
			err = fmt.Errorf("the Pod field %q is not supported: use --config with a local copy of the configuration", path)
		}
		return value, exists, err
	default:
		return "", false, errors.New("the value comes from neither a ConfigMap nor a Secret: use --config with a local copy of the configuration")
	}
	text, exists := data[key]
	if err == nil && !exists && (optional == nil || !*optional) {
		err = fmt.Errorf("%s has no key %q", object, key)
	}
	return string(text), exists, err
}

// expand replaces $(NAME) as the kubelet does: $$ is an escaped $, and references to unknown variables
// stay. missing contains their names.
func expand(text string, variables map[string]string) (expanded string, missing []string) {
	var b strings.Builder
	for {
		prefix, rest, found := strings.Cut(text, "$")
		b.WriteString(prefix)
		if !found {
			return b.String(), missing
		}
		name, behind, closed := strings.Cut(strings.TrimPrefix(rest, "("), ")")
		switch {
		case strings.HasPrefix(rest, "$"):
			b.WriteString("$")
			text = rest[1:]
		case strings.HasPrefix(rest, "(") && closed:
			if value, ok := variables[name]; ok {
				b.WriteString(value)
			} else {
				missing = append(missing, name)
				b.WriteString("$(" + name + ")")
			}
			text = behind
		default:
			b.WriteString("$")
			text = rest
		}
	}
}

func expandAll(texts []string, variables map[string]string) []string {
	expanded := make([]string, len(texts))
	for i := range texts {
		expanded[i], _ = expand(texts[i], variables)
	}
	return expanded
}

func references(text string) []string {
	_, names := expand(text, nil)
	return names
}
