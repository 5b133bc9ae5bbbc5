package chart

import (
	"fmt"
	"reflect"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

type schema = map[string]any

// kubernetes lists the Kubernetes types that values contain, as named in the schema.
var kubernetes = []any{
	appsv1.DaemonSetUpdateStrategy{},
	appsv1.DeploymentStrategy{},
	corev1.Affinity{},
	corev1.EnvVar{},
	corev1.LocalObjectReference{},
	corev1.PodSecurityContext{},
	corev1.ResourceRequirements{},
	corev1.SecurityContext{},
	corev1.Toleration{},
	corev1.Volume{},
	corev1.VolumeMount{},
	rbacv1.Subject{},
}

// kubernetesTypes returns the schemas of these types and the types nested in them. Objects allow only
// the fields of the API.
func kubernetesTypes() (schema, error) {
	schemas := schema{}
	for _, v := range kubernetes {
		if _, err := describe(schemas, reflect.TypeOf(v)); err != nil {
			return nil, err
		}
	}
	return schemas, nil
}

// special lists types whose JSON differs from their fields.
var special = map[reflect.Type]schema{
	reflect.TypeFor[resource.Quantity]():   {"type": []any{"string", "number"}},
	reflect.TypeFor[intstr.IntOrString]():  {"type": []any{"string", "integer"}},
	reflect.TypeFor[metav1.Time]():         {"type": "string"},
	reflect.TypeFor[metav1.FieldsV1]():     {"type": "object"},
	reflect.TypeFor[corev1.ResourceName](): {"type": "string"},
}

// describe returns the schema of a type. The schema of a struct is added to all, and the result is a
// reference to it.
func describe(schemas schema, t reflect.Type) (schema, error) {
	if s, ok := special[t]; ok {
		return s, nil
	}
	switch t.Kind() {
	case reflect.Pointer:
		return describe(schemas, t.Elem())
	case reflect.Bool:
		return schema{"type": "boolean"}, nil
	case reflect.String:
		return schema{"type": "string"}, nil
	case reflect.Int, reflect.Int32, reflect.Int64:
		return schema{"type": "integer"}, nil
	case reflect.Slice:
		items, err := describe(schemas, t.Elem())
		return schema{"type": "array", "items": items}, err
	case reflect.Map:
		values, err := describe(schemas, t.Elem())
		return schema{"type": "object", "additionalProperties": values}, err
	case reflect.Struct:
		name := "kubernetes." + t.Name()
		if _, known := schemas[name]; !known {
			s := schema{"type": "object", "additionalProperties": false}
			schemas[name] = s // before its fields, for recursive types
			if err := describeFields(schemas, s, t); err != nil {
				return nil, err
			}
		}
		return schema{"$ref": "#/definitions/" + name}, nil
	default:
		return nil, fmt.Errorf("%s has no schema", t)
	}
}

// describeFields adds the fields of a struct to its schema. A field without omitempty is required, as
// in the API's OpenAPI description.
func describeFields(schemas, s schema, t reflect.Type) error {
	properties := schema{}
	required := []any{}
	var add func(t reflect.Type) error
	add = func(t reflect.Type) error {
		for i := range t.NumField() {
			f := t.Field(i)
			name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "" {
				if !f.Anonymous {
					return fmt.Errorf("%s.%s has no name in JSON", t, f.Name)
				}
				if err := add(f.Type); err != nil {
					return err
				}
				continue
			}
			described, err := describe(schemas, f.Type)
			if err != nil {
				return err
			}
			properties[name] = described
			if !strings.Contains(options, "omitempty") {
				required = append(required, name)
			}
		}
		return nil
	}
	if err := add(t); err != nil {
		return err
	}
	s["properties"] = properties
	if len(required) > 0 {
		s["required"] = required
	}
	return nil
}
