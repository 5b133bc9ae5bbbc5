package stack

import (
	"os"
	"runtime"
	"testing"
	"time"
)

// TestUsage measures this process itself.
func TestUsage(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("left out: only Linux shows it")
	}
	block := make([]byte, 32<<20)
	for i := range block {
		block[i] = 1
	}
	before, err := usageOf(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if before.Resident < int64(len(block)) || before.Resident > before.Peak+1<<20 {
		t.Errorf("%d bytes are resident in a process that holds %d, of a peak of %d", before.Resident, len(block), before.Peak)
	}
	if before.Peak < int64(len(block)) {
		t.Errorf("a peak of %d bytes in a process that holds %d", before.Peak, len(block))
	}
	for began := time.Now(); time.Since(began) < 10*time.Second; {
		now, err := usageOf(os.Getpid())
		if err != nil {
			t.Fatal(err)
		}
		if now.CPU >= before.CPU+50*time.Millisecond {
			if now.Peak < before.Peak {
				t.Errorf("the peak sank from %d to %d bytes", before.Peak, now.Peak)
			}
			return
		}
	}
	t.Errorf("no CPU time in 10 s of work, still %v", before.CPU)
}

func TestUsageOfNobody(t *testing.T) {
	if u, err := usageOf(-1); err == nil {
		t.Errorf("%+v of a process that cannot be", u)
	}
}
