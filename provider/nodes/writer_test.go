package nodes

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"vzones/config"
)

// TestARefusedPatchIsLogged: an admission policy that denies labels answers as for an invalid Node.
func TestARefusedPatchIsLogged(t *testing.T) {
	inWorld(t, topologyOf(config.DriftUpdate), func(w *world) {
		lines := w.logging(topologyOf(config.DriftUpdate))
		w.refusing(func(node string) error {
			return apierrors.NewInvalid(v1.SchemeGroupVersion.WithKind("Node").GroupKind(), node, nil)
		})
		w.source.place(at("r", "b", "r1"), nil, "east-1")
		w.pass(10 * time.Minute)
		if n := len(lines("Cannot write to the Node; it is tried again")); n < 5 || n > 30 {
			t.Errorf("logged %d times in ten minutes", n)
		}
	}, named("east-1", zoned("r", "a")...))
}
