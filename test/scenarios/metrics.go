package scenarios

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func metricCommands() []command {
	return []command{
		{"metric METRIC COMPARE N [after DURATION] [within DURATION]",
			"waits until a metric of the daemon has this value; METRIC is a name, optionally with `{LABEL=VALUE,…}` to select series with these labels; the values of several series are added. " +
				"`METRIC = none`: checks immediately that the metric does not exist; `after`: fails if it takes less than DURATION", metricCommand},
	}
}

type metric struct {
	text   string
	name   string
	labels map[string]string
}

func (a *arguments) metric() metric {
	m := metric{text: a.word("METRIC"), labels: map[string]string{}}
	name, rest, braced := strings.Cut(m.text, "{")
	m.name = name
	list, closed := strings.CutSuffix(rest, "}")
	ok := name != "" && braced == closed
	if braced {
		for pair := range strings.SplitSeq(list, ",") {
			key, value, assigned := strings.Cut(pair, "=")
			ok = ok && assigned && key != ""
			m.labels[key] = value
		}
	}
	if !ok && m.text != "" {
		a.fail("%q is not a METRIC such as up or up{vcenter=east}", m.text)
	}
	return m
}

// read returns the metric's value, NaN if it does not exist.
func (m *metric) read(ctx context.Context, w *world) (float64, error) {
	if w.daemon == nil {
		return 0, errNoDaemon
	}
	samples, err := w.stack.Metrics(ctx, w.daemon)
	if err != nil {
		return math.NaN(), err
	}
	if sum, exists := samples.Sum(m.name, m.labels); exists {
		return sum, nil
	}
	return math.NaN(), nil
}

func written64(f float64) string {
	if math.IsNaN(f) {
		return "missing"
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}

func metricCommand(a *arguments) action {
	m := a.metric()
	if slices.Equal(a.words, []string{"=", none}) {
		a.words = nil
		return func(ctx context.Context, w *world) error {
			is, err := m.read(ctx, w)
			if err == nil && !math.IsNaN(is) {
				err = fmt.Errorf("%s is %s", m.text, written64(is))
			}
			return err
		}
	}
	sign, compare := a.compare()
	want := a.number()
	var least time.Duration
	if a.next("after") {
		least = a.duration()
	}
	timeout := a.timeout()
	return func(ctx context.Context, w *world) error {
		var actual float64
		var err error
		began := time.Now()
		failed := w.poll(ctx, timeout, func() bool {
			actual, err = m.read(ctx, w)
			return err == nil && !math.IsNaN(actual) && compare(int(actual), want)
		}, func() error {
			if err != nil {
				return err
			}
			return fmt.Errorf("%s is %s, want %s %d", m.text, written64(actual), sign, want)
		})
		if took := time.Since(began); failed == nil && took < least {
			return fmt.Errorf("%s is %s after %s, want at least %s", m.text, written64(actual), took.Round(time.Millisecond), least)
		}
		return failed
	}
}

// noMark is the error of conditions without a preceding mark.
const noMark = "`mark nodes` must precede this line"

// markNodes marks the current Nodes for the conditions unchanged and as-marked. First it waits until no Node was
// written for a second, for at most ten seconds: the last write to a joining Node patches its addresses. It also
// waits until the observer, which may lag behind, has seen the marked Nodes.
func markNodes(*arguments) action {
	return func(ctx context.Context, w *world) error {
		var list *corev1.NodeList
		for range 10 {
			previous := list
			var err error
			if list, err = w.stack.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{}); err != nil {
				return err
			}
			if previous != nil && slices.EqualFunc(previous.Items, list.Items, func(a, b corev1.Node) bool { return a.ResourceVersion == b.ResourceVersion }) {
				break
			}
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		for i := range list.Items {
			if n := w.nodes[list.Items[i].Name]; n != nil {
				n.marked = &list.Items[i]
			}
		}
		ctx, cancel := context.WithTimeout(ctx, defaultTimeout)
		defer cancel()
		return w.observer.await(ctx, nil, func(s view) bool {
			for _, n := range w.nodes {
				if n.marked != nil && !s.reached(n.marked) {
					return false
				}
			}
			return true
		})
	}
}

func version(s string) uint64 {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return 0
	}
	return n
}
