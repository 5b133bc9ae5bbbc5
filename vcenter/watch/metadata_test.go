package watch

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"vzones/vcenter/watch/model"
)

// TestMetadataThatGoesOnChanging is read ever more seldom, and at once after a calm.
func TestMetadataThatGoesOnChanging(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tree, m := model.NewTree(rootFolder), newMetadataReader(nil)
		changes, read := 0, 0
		change := func() {
			changes++
			u := update(types.ObjectUpdateKindModify, model.GuestMetadata, fmt.Sprint(changes))
			tree.Apply(&u)
			if m.request(tree); m.busy {
				m.busy = false
				<-m.parser.texts
				read++
			}
		}
		for began := time.Now(); time.Since(began) < 10*time.Minute; time.Sleep(10 * time.Millisecond) {
			change()
		}
		if read < 15 || read > 40 {
			t.Errorf("read %d times in ten minutes", read)
		}
		time.Sleep(metadataAtOnce * metadataPause)
		before := read
		if change(); read == before || len(m.paces) != 1 {
			t.Errorf("not read after a calm: %d paces", len(m.paces))
		}
	})
}
