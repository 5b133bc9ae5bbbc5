package model

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"vzones/vcenter/guestinfo"
)

// zipped is a text as deployment tools leave it: gzip, then base64.
func zipped(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

// costly is metadata that takes a YAML parser as long as a text of its length can.
func costly(t *testing.T, length int) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("network: {ethernets: {a: {addresses: [10.0.0.7]}}}\nx: [")
	for i := 0; b.Len() < length-20; i++ {
		fmt.Fprintf(&b, "&a%d b,", i)
	}
	b.WriteString("]\n")
	return zipped(t, b.String())
}

// TestCostlyMetadataDoesNotHoldUpTheWatch: what the watch's goroutine does with
// metadata takes as long for a text that is costly to read as for one of the same
// length that is not.
func TestCostlyMetadataDoesNotHoldUpTheWatch(t *testing.T) {
	bomb := costly(t, 250<<10)
	noise := make([]byte, len(bomb)/2)
	for i := range noise {
		noise[i] = "0123456789abcdef"[rand.N(16)]
	}
	harmless := "network: {ethernets: {a: {addresses: [10.0.0.7]}}}\nx: " + string(noise) + string(noise)
	took := func(text string) time.Duration {
		best := time.Hour
		for range 5 {
			tree := NewTree(types.ManagedObjectReference{})
			update := &types.ObjectUpdate{Obj: MachineRef("vm-1"), ChangeSet: []types.PropertyChange{
				{Name: GuestMetadata, Val: types.OptionValue{Key: guestinfo.Key, Value: text}}}}
			began := time.Now()
			tree.Apply(update)
			best = min(best, time.Since(began))
		}
		return best
	}
	slow, fast := took(bomb), took(harmless)
	t.Logf("%d bytes of costly metadata take %s, %d harmless ones %s", len(bomb), slow, len(harmless), fast)
	if ratio := float64(slow) / float64(max(fast, 20*time.Microsecond)); ratio > 10 {
		t.Errorf("costly metadata takes the watch %.0f times as long as harmless", ratio)
	}
}
