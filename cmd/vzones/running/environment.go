package running

import (
	"context"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"vzones/config/load"
)

// readEnvironment reads the variables of the container, and returns all that were read. Those whose
// value comes from elsewhere are read only if something depends on them.
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
		if isSetting(name) {
			d.Environ = append(d.Environ, name+"="+value)
		}
	}
	slices.Sort(d.Environ)
	return variables, nil
}

// isSetting reports whether a variable concerns the configuration.
func isSetting(name string) bool {
	return slices.Contains(load.Variables(), name) || strings.HasPrefix(name, "VSPHERE_")
}

// wantedVariables returns the names of the variables that arguments, mounts or the configuration depend
// on, also by way of others. A variable can name only those before it.
func wantedVariables(c *v1.Container) map[string]bool {
	wanted := map[string]bool{}
	want := func(text string) {
		for _, name := range references(text) {
			wanted[name] = true
		}
	}
	for _, arg := range slices.Concat(c.Command, c.Args) {
		want(arg)
	}
	for i := range c.VolumeMounts {
		want(c.VolumeMounts[i].SubPathExpr)
	}
	for _, e := range slices.Backward(c.Env) {
		if wanted[e.Name] = wanted[e.Name] || isSetting(e.Name); wanted[e.Name] {
			want(e.Value)
		}
	}
	return wanted
}

// readEnvFrom reads all variables of a ConfigMap or a Secret.
func (d *Daemon) readEnvFrom(ctx context.Context, from *v1.EnvFromSource) (map[string][]byte, error) {
	switch {
	case from.ConfigMapRef != nil:
		return d.configMap(ctx, from.ConfigMapRef.Name, from.ConfigMapRef.Optional)
	case from.SecretRef != nil:
		return d.secret(ctx, from.SecretRef.Name, from.SecretRef.Optional)
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
		data, err = d.secret(ctx, from.SecretKeyRef.Name, may)
	case from.ConfigMapKeyRef != nil:
		key, of, may = from.ConfigMapKeyRef.Key, "ConfigMap "+from.ConfigMapKeyRef.Name, from.ConfigMapKeyRef.Optional
		data, err = d.configMap(ctx, from.ConfigMapKeyRef.Name, may)
	case from.FieldRef != nil:
		value, err = d.field(from.FieldRef.FieldPath)
		return value, err == nil, err
	case from.FileKeyRef != nil:
		return "", false, fmt.Errorf("its value is in a file of volume %s, which cannot be read from here: write --config with a local copy of the configuration", from.FileKeyRef.VolumeName)
	default:
		return "", false, nil // what the container may use, of which the daemon has no setting
	}
	text, there := data[key]
	if err == nil && !there && (may == nil || !*may) {
		err = fmt.Errorf("%s has no key %q", of, key)
	}
	return string(text), there, err
}

// field returns a field of the Pod, as the kubelet resolves a fieldRef.
func (d *Daemon) field(path string) (string, error) {
	p := d.pod
	if name, key, indexed := strings.Cut(path, "['"); indexed {
		switch key = strings.TrimSuffix(key, "']"); name {
		case "metadata.labels":
			return p.Labels[key], nil
		case "metadata.annotations":
			return p.Annotations[key], nil
		}
	}
	value, known := map[string]string{
		"metadata.name": p.Name, "metadata.namespace": p.Namespace, "metadata.uid": string(p.UID),
		"spec.nodeName": p.Spec.NodeName, "spec.serviceAccountName": p.Spec.ServiceAccountName,
		"status.hostIP": p.Status.HostIP, "status.podIP": p.Status.PodIP,
	}[path]
	if !known {
		return "", fmt.Errorf("the field %q of a Pod is not known", path)
	}
	return value, nil
}
