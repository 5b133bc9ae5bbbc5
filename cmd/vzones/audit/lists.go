package audit

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"vzones/topology/quote"
)

// The groups of the custom resources.
const (
	csiGroup     = "cns.vmware.com"
	machineGroup = "cluster.x-k8s.io"
	vsphereGroup = "infrastructure.cluster.x-k8s.io"
)

// pageSize is how many objects are listed at a time.
const pageSize = 1000

// A Count is how many objects of a kind were compared.
type Count struct {
	Kind  string `json:"kind"`
	Count int    `json:"count"`
}

// A Denied is a kind that the account may not list.
type Denied struct {
	Kind   string `json:"kind"`
	Reason string `json:"reason"`
}

// lists reads what the cluster has.
type lists struct {
	core kubernetes.Interface
	dyn  dynamic.Interface
	// audited, absent and denied are the kinds that were listed, that the cluster does not have, and
	// that the account may not list.
	audited []Count
	absent  []string
	denied  []Denied
	// groups are what the API server has in each version of a group.
	groups map[string][]*metav1.APIResourceList
}

func newLists(cfg *rest.Config) (*lists, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.QPS = -1 // pages come one after the other
	dyn, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("making a client of the cluster: %w", err)
	}
	cfg.ContentType, cfg.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf+","+runtime.ContentTypeJSON
	core, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("making a client of the cluster: %w", err)
	}
	return &lists{core: core, dyn: dyn, groups: map[string][]*metav1.APIResourceList{}}, nil
}

// A page is one answer of the API server: objects, and what has to be sent for the next ones.
type page[T any] func(ctx context.Context, opts metav1.ListOptions) (items []T, next string, err error)

// read lists all objects of a kind, and reports whether they could be. One that the cluster does not
// have, or that may not be listed, is noted and is no error.
func read[T any](ctx context.Context, l *lists, kind string, list page[T], each func(*T)) (bool, error) {
	opts := metav1.ListOptions{Limit: pageSize}
	count := 0
	for {
		items, next, err := list(ctx, opts)
		switch {
		case apierrors.IsForbidden(err):
			l.denied = append(l.denied, Denied{kind, quote.Text(err.Error())})
			return false, nil
		case apierrors.IsNotFound(err):
			l.absent = append(l.absent, kind)
			return false, nil
		case err != nil:
			return false, fmt.Errorf("listing the objects of kind %s: %w", kind, err)
		}
		for i := range items {
			each(&items[i])
		}
		count += len(items)
		if opts.Continue = next; next == "" {
			l.audited = append(l.audited, Count{kind, count})
			return true, nil
		}
	}
}

// custom lists all objects of a kind that a CustomResourceDefinition makes, in the version that the
// API server prefers of those that have it.
func (l *lists) custom(ctx context.Context, group, resource, kind string, each func(*unstructured.Unstructured)) (bool, error) {
	versions, err := l.group(ctx, group)
	if err != nil {
		return false, err
	}
	i := slices.IndexFunc(versions, func(v *metav1.APIResourceList) bool {
		return slices.ContainsFunc(v.APIResources, func(r metav1.APIResource) bool { return r.Name == resource })
	})
	if i < 0 {
		l.absent = append(l.absent, kind)
		return false, nil
	}
	version, err := schema.ParseGroupVersion(versions[i].GroupVersion)
	if err != nil {
		return false, fmt.Errorf("group %s: %w", group, err)
	}
	client := l.dyn.Resource(version.WithResource(resource))
	return read(ctx, l, kind, func(ctx context.Context, opts metav1.ListOptions) ([]unstructured.Unstructured, string, error) {
		page, err := client.List(ctx, opts)
		if err != nil {
			return nil, "", err
		}
		return page.Items, page.GetContinue(), nil
	}, each)
}

// group returns what the API server has in each version of a group, the preferred one first, and nothing
// if it does not have the group. Of a group that several providers of Cluster API share, the preferred
// version need not have the kinds of vSphere.
func (l *lists) group(ctx context.Context, group string) ([]*metav1.APIResourceList, error) {
	if versions, ok := l.groups[group]; ok {
		return versions, nil
	}
	client := l.core.Discovery().RESTClient()
	var found metav1.APIGroup
	err := client.Get().AbsPath("/apis", group).Do(ctx).Into(&found)
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("reading what API group %s has: %w", group, err)
	}
	var versions []*metav1.APIResourceList
	for _, v := range slices.Insert(found.Versions, 0, found.PreferredVersion) {
		if v.GroupVersion == "" || slices.ContainsFunc(versions, func(l *metav1.APIResourceList) bool { return l.GroupVersion == v.GroupVersion }) {
			continue
		}
		in := &metav1.APIResourceList{}
		if err := client.Get().AbsPath("/apis", v.GroupVersion).Do(ctx).Into(in); apierrors.IsNotFound(err) {
			continue
		} else if err != nil {
			return nil, fmt.Errorf("reading what version %s of an API group has: %w", v.GroupVersion, err)
		}
		versions = append(versions, in)
	}
	l.groups[group] = versions
	return versions, nil
}
