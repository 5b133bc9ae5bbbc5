package watch

import (
	"testing"
	"time"
)

// TestMetadataThatGoesOnChanging is read ever more seldom.
func TestMetadataThatGoesOnChanging(t *testing.T) {
	var p pace
	now, read := time.Now(), 0
	for began := now; now.Sub(began) < 10*time.Minute; now = now.Add(10 * time.Millisecond) {
		if !now.Before(p.next) {
			p = p.after(now)
			read++
		}
	}
	if read < 15 || read > 40 {
		t.Errorf("read %d times in ten minutes", read)
	}
	now = now.Add(2 * metadataMax)
	if p = p.after(now); p.delay != metadataMin {
		t.Errorf("a delay of %s after a calm", p.delay)
	}
}
