package cluster

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const testManifest = `# a comment is no object
---
apiVersion: v1
kind: Namespace
metadata:
  name: there
---
---
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: one, namespace: there}, data: {key: value}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: two}}
---
apiVersion: v1
kind: Secret
metadata:
  name: unwanted
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: racks.test.vzones
spec:
  group: test.vzones
  scope: Namespaced
  names: {plural: racks, singular: rack, kind: Rack}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
---
apiVersion: test.vzones/v1
kind: Rack
metadata:
  name: a
`

func testApply(t *testing.T, c *Cluster) {
	ctx := t.Context()
	wanted := func(kind string) bool { return kind != "Secret" }
	for _, manifest := range []string{testManifest, strings.ReplaceAll(testManifest, "value", "other")} {
		if err := c.Apply(ctx, []byte(manifest), wanted); err != nil {
			t.Fatal(err)
		}
	}
	one, err := c.Client().CoreV1().ConfigMaps("there").Get(ctx, "one", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if one.Data["key"] != "other" {
		t.Errorf("data %v, want those of the second manifest", one.Data)
	}
	if _, err := c.Client().CoreV1().ConfigMaps("default").Get(ctx, "two", metav1.GetOptions{}); err != nil {
		t.Errorf("without a namespace: %v", err)
	}
	if _, err := c.Client().CoreV1().Secrets("default").Get(ctx, "unwanted", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("filtered out: error %v, want not found", err)
	}
	racks := schema.GroupVersionResource{Group: "test.vzones", Version: "v1", Resource: "racks"}
	if _, err := c.objects.Resource(racks).Namespace("default").Get(ctx, "a", metav1.GetOptions{}); err != nil {
		t.Errorf("of the kind that the manifest defines: %v", err)
	}

	err = c.Apply(ctx, []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, namespace: nowhere}"), nil)
	if !apierrors.IsNotFound(err) || !strings.Contains(err.Error(), `ConfigMap "x"`) {
		t.Errorf("into a namespace that is not there: error %v, want not found and the object's name", err)
	}
}

func TestAManifestThatIsNone(t *testing.T) {
	for manifest, want := range map[string]string{
		"kind: ConfigMap":                "document 1 of the manifest: an object without apiVersion or kind",
		"# nothing\n---\n- a\n- b\n":     "document 2 of the manifest",
		"---\napiVersion: v1\n\tkind: x": "of the manifest",
	} {
		if err := new(Cluster).Apply(t.Context(), []byte(manifest), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q in it", manifest, err, want)
		}
	}
}
