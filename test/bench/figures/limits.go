package figures

import "fmt"

// A Quantity is a figure of a case that has a limit.
type Quantity string

// The quantities, as they are printed.
const (
	TotalRequests      Quantity = "requests"
	RequestsPerVCenter Quantity = "requests/vCenter"
	RequestsPerMinute  Quantity = "requests/minute/vCenter"
	Seconds            Quantity = "seconds"
	TimesFloor         Quantity = "time / floor"
	TimesFloorCPU      Quantity = "CPU / floor"
	TimesHealthy       Quantity = "time / healthy"
	// LaterThanHealthy are the seconds that the daemon's time is more than that of the
	// healthy run.
	LaterThanHealthy Quantity = "seconds - healthy"
	PeakMiB          Quantity = "MiB"
	// APIWrites are requests to the API server that change something.
	APIWrites Quantity = "API writes"
	// OtherRequests are those to vCenters that are neither the long poll nor the
	// reading of tags.
	OtherRequests Quantity = "other requests"
	// The growths compare with what was measured beside no machines that are no Nodes: ratios,
	// and mebibytes more.

	RequestsGrowth Quantity = "requests / of none"
	CPUGrowth      Quantity = "CPU / of none"
	MemoryGrowth   Quantity = "MiB - of none"
	// LogPerMinute are megabytes of the daemon's log.
	LogPerMinute Quantity = "log MB/minute"
	// LogLinesPerMinute are lines of the daemon's log in a window in which nothing changes.
	LogLinesPerMinute Quantity = "log lines/minute"
	// Unserved are Nodes that do not have what their machines give them, Deleted are
	// those that were deleted although their machines may exist.
	Unserved Quantity = "Nodes unserved"
	Deleted  Quantity = "Nodes deleted"
)

// A Bound is what a quantity may be at most.
type Bound struct {
	Of  Quantity
	Max float64
}

// A Limit is a bound and what was measured.
type Limit struct {
	Of    Quantity `json:"of"`
	Max   float64  `json:"max"`
	Value float64  `json:"value"`
	OK    bool     `json:"ok"`
}

// Compare divides the daemon's time by that of the floor and of the healthy run.
func (c *Case) Compare() {
	c.ToFloor = ratio(c.Daemon, c.Floor)
	c.ToHealthy = ratio(c.Daemon, c.Healthy)
}

// Check compares the case with bounds. A quantity that was not measured is an
// error.
func (c *Case) Check(bounds []Bound) error {
	c.Limits = nil
	for _, b := range bounds {
		value, ok := c.value(b.Of)
		if !ok {
			return fmt.Errorf("%s: no figure for %q", c.Name, b.Of)
		}
		c.Limits = append(c.Limits, Limit{Of: b.Of, Max: b.Max, Value: value, OK: value <= b.Max})
	}
	return nil
}

func ratio(a, b *Reading) float64 {
	if a == nil || b == nil || b.Seconds == 0 {
		return 0
	}
	return a.Seconds / b.Seconds
}

// value returns the figure of a quantity, and whether it was measured.
func (c *Case) value(q Quantity) (value float64, ok bool) {
	d := c.Daemon
	if d == nil {
		return 0, false
	}
	switch q {
	case Seconds:
		return d.Seconds, true
	case PeakMiB:
		return mebibytes(d.PeakBytes), true
	case TimesFloor:
		return c.ToFloor, c.ToFloor > 0
	case TimesFloorCPU:
		if c.Floor == nil || c.Floor.CPUSeconds <= 0 {
			return 0, false
		}
		return d.CPUSeconds / c.Floor.CPUSeconds, true
	case TimesHealthy:
		return c.ToHealthy, c.ToHealthy > 0
	case LaterThanHealthy:
		if c.Healthy == nil {
			return 0, false
		}
		return d.Seconds - c.Healthy.Seconds, true
	case RequestsGrowth, CPUGrowth, MemoryGrowth:
		return c.growth(q)
	case LogPerMinute:
		return float64(d.LogBytes) / 1e6 / (d.LogSeconds / 60), d.LogSeconds > 0
	case Unserved, Deleted:
		if d.Harm == nil {
			return 0, false
		}
		if q == Deleted {
			return float64(d.Harm.Deleted), true
		}
		return float64(d.Harm.Unserved), true
	case LogLinesPerMinute:
		if d.LogLines == nil || d.Seconds <= 0 {
			return 0, false
		}
		return float64(*d.LogLines) * 60 / d.Seconds, true
	case APIWrites:
		if d.APIWrites == nil {
			return 0, false
		}
		return float64(*d.APIWrites), true
	}
	return d.requests(q)
}

// requests returns the figure of a quantity of requests to the vCenters, and whether it was
// measured.
func (r *Reading) requests(q Quantity) (value float64, ok bool) {
	if r.Requests == nil {
		return 0, false
	}
	switch q {
	case TotalRequests:
		return float64(r.Requests.Total), true
	case RequestsPerVCenter:
		return float64(r.Requests.MaxPerVCenter), true
	case OtherRequests:
		return float64(r.Requests.other()), true
	case RequestsPerMinute:
		return float64(r.Requests.MaxPerVCenter) * 60 / r.Seconds, r.Seconds > 0
	}
	return 0, false
}

// growth compares a figure of the daemon with that beside no machines that are no Nodes.
func (c *Case) growth(q Quantity) (value float64, ok bool) {
	if c.Daemon == nil || c.Smaller == nil {
		return 0, false
	}
	now, before := c.Daemon.CPUSeconds, c.Smaller.CPUSeconds
	switch {
	case q == MemoryGrowth:
		return mebibytes(c.Daemon.RestBytes - c.Smaller.RestBytes), c.Smaller.RestBytes > 0
	case q == RequestsGrowth && (c.Daemon.Requests == nil || c.Smaller.Requests == nil):
		return 0, false
	case q == RequestsGrowth:
		now, before = float64(c.Daemon.Requests.Total), float64(c.Smaller.Requests.Total)
	}
	return now / before, before > 0
}

func mebibytes(n int64) float64 { return float64(n) / (1 << 20) }
