package cluster

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
)

const (
	fieldManager = "vzones-test"
	// discoveryLag bounds the wait for a kind that the API server does not know yet, for example
	// just after its CustomResourceDefinition was applied.
	discoveryLag = 10 * time.Second
)

// Apply applies the objects of a YAML manifest in order, with their status, by server-side apply as
// an administrator. It unpacks lists. An optional filter selects objects by kind. Namespaced objects
// without a namespace go into default.
func (c *Cluster) Apply(ctx context.Context, manifest []byte, filter func(kind string) bool) error {
	objects, err := decode(manifest)
	if err != nil {
		return err
	}
	for _, object := range objects {
		if filter != nil && !filter(object.GetKind()) {
			continue
		}
		if err := c.apply(ctx, object); err != nil {
			return fmt.Errorf("applying %s %q: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return nil
}

func (c *Cluster) apply(ctx context.Context, object *unstructured.Unstructured) error {
	client, err := c.clientFor(ctx, object)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	opts := metav1.ApplyOptions{FieldManager: fieldManager, Force: true}
	if _, err = client.Apply(ctx, object.GetName(), object, opts); err != nil {
		return err
	}
	if _, hasStatus := object.Object["status"]; !hasStatus {
		return nil
	}
	// A kind without a status subresource already has its status.
	if _, err = client.ApplyStatus(ctx, object.GetName(), object, opts); apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) {
		return nil
	}
	return err
}

// Delete deletes the objects of a manifest in reverse order, without grace periods or finalizers.
func (c *Cluster) Delete(ctx context.Context, manifest []byte) error {
	objects, err := decode(manifest)
	if err != nil {
		return err
	}
	for _, object := range slices.Backward(objects) {
		client, err := c.clientFor(ctx, object)
		if err != nil {
			return fmt.Errorf("deleting %s %q: %w", object.GetKind(), object.GetName(), err)
		}
		// The controller of a finalizer may not be running.
		_, err = client.Patch(ctx, object.GetName(), types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		if err == nil {
			now := int64(0)
			err = client.Delete(ctx, object.GetName(), metav1.DeleteOptions{GracePeriodSeconds: &now})
		}
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("deleting %s %q: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return nil
}

func (c *Cluster) clientFor(ctx context.Context, object *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	var mapping *meta.RESTMapping
	kind := object.GroupVersionKind()
	err := c.await(ctx, discoveryLag, func(ctx context.Context) (err error) {
		if mapping, err = c.mapper.RESTMappingWithContext(ctx, kind.GroupKind(), kind.Version); err != nil {
			c.mapper.ResetWithContext(ctx)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	resource := c.objects.Resource(mapping.Resource)
	if mapping.Scope.Name() != meta.RESTScopeNameNamespace {
		return resource, nil
	}
	namespace := object.GetNamespace()
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	return resource.Namespace(namespace), nil
}

// decode returns the objects of a manifest and ignores empty documents.
func decode(manifest []byte) ([]*unstructured.Unstructured, error) {
	documents := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(manifest)))
	var objects []*unstructured.Unstructured
	for n := 1; ; n++ {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("document %d of the manifest: %w", n, err)
		}
		found, err := decodeDocument(document)
		if err != nil {
			return nil, fmt.Errorf("document %d of the manifest: %w", n, err)
		}
		objects = append(objects, found...)
	}
}

func decodeDocument(document []byte) ([]*unstructured.Unstructured, error) {
	object := new(unstructured.Unstructured)
	if err := yaml.Unmarshal(document, &object.Object); err != nil {
		return nil, err
	}
	if len(object.Object) == 0 {
		return nil, nil
	}
	if object.GetKind() == "" || object.GetAPIVersion() == "" {
		return nil, errors.New("an object without apiVersion or kind")
	}
	if !object.IsList() {
		return []*unstructured.Unstructured{object}, nil
	}
	list, err := object.ToList()
	if err != nil {
		return nil, err
	}
	var objects []*unstructured.Unstructured
	for i := range list.Items {
		objects = append(objects, &list.Items[i])
	}
	return objects, nil
}
