package check

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	versions "k8s.io/apimachinery/pkg/util/version"

	"vzones/cmd/vzones/cli"
	"vzones/cmd/vzones/world"
	"vzones/internal/quote"
	"vzones/provider/nodeinfo"
	"vzones/provider/report"
)

// Daemon is the summary of the daemon in the cluster.
type Daemon struct {
	// Skipped is the reason that the daemon was not checked, or "". The other fields are zero then.
	Skipped  string `json:"skippedReason,omitempty"`
	Workload string `json:"workload,omitempty"`
	Image    string `json:"image,omitempty"`
	// Desired is the number of Pods that the workload should have.
	Desired int         `json:"desired"`
	Ready   int         `json:"ready"`
	Pods    []DaemonPod `json:"pods,omitempty"`
	Lease   *Lease      `json:"lease,omitempty"`
	// Missing are the permissions that the ServiceAccount lacks.
	Missing []string `json:"missingPermissions,omitempty"`
}

// DaemonPod is the summary of a Pod of the daemon.
type DaemonPod struct {
	Name        string `json:"name"`
	Node        string `json:"node,omitempty"`
	Ready       bool   `json:"ready"`
	Restarts    int    `json:"restarts"`
	LastMessage string `json:"lastMessage,omitempty"`
}

// Lease is the summary of the Lease of the leader election.
type Lease struct {
	Name   string `json:"name"`
	Holder string `json:"holder"`
	// Age is the number of seconds since the last renewal.
	Age int `json:"ageSeconds"`
	// Held reports whether a Pod of the daemon holds the Lease and renews it.
	Held bool `json:"heldByDaemon"`
}

// startTime is the time after which a Pod that is not ready is reported.
const startTime = 2 * time.Minute

// daemonCheck reports problems of the daemon itself.
type daemonCheck struct {
	daemon *world.Daemon
	// state is nil with the reason in skipped.
	state   *world.DaemonState
	skipped string
	// version is the tool's version.
	version string
	now     time.Time
}

func readDaemon(ctx context.Context, w *world.World, version string) *daemonCheck {
	c := &daemonCheck{daemon: w.Daemon, version: version, now: time.Now()}
	switch {
	case w.Recording != nil:
		c.skipped = "not checked, because the configuration is from " + quote.Text(w.Source)
	case w.Daemon == nil:
		c.skipped = "not checked, because the configuration is a file"
	case w.Daemon.IsIncumbent():
		c.skipped = "vzones is not installed; the vSphere CPI is " + w.Daemon.Workload() + " in namespace " + quote.Name(w.Daemon.Namespace)
	default:
		c.state = w.ReadDaemonState(ctx)
	}
	return c
}

func (c *daemonCheck) summary() Daemon {
	if c.state == nil {
		return Daemon{Skipped: c.skipped}
	}
	s := Daemon{Workload: c.daemon.Workload(), Image: c.daemon.Image(), Desired: c.state.Desired, Ready: c.state.Ready}
	for i := range c.state.Pods {
		p := &c.state.Pods[i]
		s.Pods = append(s.Pods, DaemonPod{
			Name: p.Name, Node: p.Spec.NodeName, Ready: p.IsReady(), Restarts: int(p.Status.RestartCount), LastMessage: p.LastMessage,
		})
	}
	if l := c.state.Lease; l != nil {
		s.Lease = &Lease{Name: l.Namespace + "/" + l.Name, Holder: l.Holder, Age: int(l.Age.Seconds()), Held: l.IsHeld && l.IsOwn}
	}
	for i := range c.state.Missing {
		s.Missing = append(s.Missing, c.state.Missing[i].String())
	}
	return s
}

// line returns the summary on one line.
func (d *Daemon) line() string {
	if d.Skipped != "" {
		return d.Skipped
	}
	text := fmt.Sprintf("%s, %d of %s ready", d.Workload, d.Ready, cli.Count(d.Desired, "Pod"))
	restarts := 0
	for i := range d.Pods {
		restarts += d.Pods[i].Restarts
	}
	if restarts > 0 {
		text += ", " + cli.Count(restarts, "restart")
	}
	switch {
	case d.Lease == nil:
	case d.Lease.Holder == "":
		text += ", Lease not held"
	default:
		holder := quote.Plain(d.Lease.Holder)
		if d.Lease.Held {
			holder, _, _ = strings.Cut(holder, "_") // The rest is random.
		}
		text += ", Lease held by " + holder
	}
	return text
}

// find returns the findings about the daemon. others are the findings of all other checks.
func (c *daemonCheck) find(nodes nodeList, others []Finding) []Finding {
	if c.state == nil {
		return nil
	}
	return slices.Concat(c.permissions(), c.scheduling(nodes), c.pods(), c.lease(nodes), c.neighbors(), c.reported(nodes, others), c.versions(), c.unread())
}

// permissions reports the permissions that the ServiceAccount lacks.
func (c *daemonCheck) permissions() (found []Finding) {
	account := "ServiceAccount " + c.daemon.Namespace + "/" + quote.Plain(c.daemon.ServiceAccount())
	if len(c.state.Missing) > 0 && len(c.state.Missing) == c.state.Reviewed {
		text := fmt.Sprintf("it has none of the daemon's %d permissions: no role is bound to it", c.state.Reviewed)
		return []Finding{{ID: "VZ180", Object: account, Text: text}}
	}
	texts := map[bool][]string{}
	for i := range c.state.Missing {
		p := &c.state.Missing[i]
		texts[p.IsMinor] = append(texts[p.IsMinor], p.String()+" ("+p.Without+")")
	}
	ids := map[bool]string{false: "VZ180", true: "VZ181"}
	for isMinor, missing := range texts {
		found = append(found, Finding{ID: ids[isMinor], Object: account, Text: "it may not " + quote.Some(missing, quote.Most)})
	}
	return found
}

// scheduling reports a workload without Pods.
func (c *daemonCheck) scheduling(nodes nodeList) []Finding {
	if len(c.state.Pods) > 0 {
		return nil
	}
	finding := Finding{ID: "VZ182", Object: c.daemon.Workload(), HasAdvice: true}
	isDeployment := strings.HasPrefix(finding.Object, "Deployment ")
	switch {
	case isDeployment && c.state.Desired == 0:
		finding.Text = "it is scaled to 0: scale it to at least 1"
		_, name, _ := strings.Cut(finding.Object, "/")
		finding.Command = cli.Shell("kubectl", "-n", c.daemon.Namespace, "scale", "deployment", name, "--replicas=2")
	case isDeployment || c.state.Desired > 0:
		finding.Text = "its Pods were not created"
		if event := c.lastEvent(""); event != "" {
			finding.Text += ": " + event
		}
		finding.HasAdvice = false
	default:
		finding.Text = whyNoNode(c.daemon.PodSpec(), nodes)
	}
	return []Finding{finding}
}

// lastEvent returns the reason and message of the newest Warning about a Pod, or about the workload if the name is "".
func (c *daemonCheck) lastEvent(pod string) string {
	i := slices.IndexFunc(c.state.Events, func(e v1.Event) bool {
		return (e.InvolvedObject.Kind == "Pod") == (pod != "") && (pod == "" || e.InvolvedObject.Name == pod)
	})
	if i < 0 {
		return ""
	}
	text, _ := reportedText(c.state.Events[i].Reason, c.state.Events[i].Message)
	return text
}

// pods reports Pods that are not ready, except while they start.
func (c *daemonCheck) pods() (found []Finding) {
	for i := range c.state.Pods {
		p := &c.state.Pods[i]
		text, short := c.whyNotReady(p)
		if text == "" {
			continue
		}
		words := []string{"kubectl", "-n", p.Namespace, "logs", p.Name}
		switch {
		case p.Status.RestartCount > 0:
			words = append(words, "--previous")
		case p.Status.State.Running == nil:
			words = []string{"kubectl", "-n", p.Namespace, "describe", "pod", p.Name}
		}
		found = append(found, Finding{ID: "VZ183", Object: "Pod " + p.Name, Text: text, Short: short, Command: cli.Shell(words...)})
	}
	return found
}

// whyNotReady returns the reason that a Pod is not ready, and the part that other Pods may have in common. It returns ""
// for a Pod that is ready or still starts.
func (c *daemonCheck) whyNotReady(p *world.DaemonPod) (text, short string) {
	if p.IsReady() {
		return "", ""
	}
	status := &p.Status
	ended := cmp.Or(status.State.Terminated, status.LastTerminationState.Terminated)
	waiting := status.State.Waiting
	unscheduled := slices.IndexFunc(p.Pod.Status.Conditions, func(c v1.PodCondition) bool {
		return c.Type == v1.PodScheduled && c.Status == v1.ConditionFalse
	})
	switch {
	case unscheduled >= 0:
		return "no Node is suitable: " + quote.Line(p.Pod.Status.Conditions[unscheduled].Message), ""
	case ended != nil || status.RestartCount > 0:
		short = "the last run ended"
		if ended != nil {
			short += fmt.Sprintf(" with exit code %d", ended.ExitCode)
			if ended.Reason != "" && ended.Reason != "Error" {
				short += " (" + quote.Text(ended.Reason) + ")"
			}
		}
		if p.LastMessage != "" {
			short += ": " + p.LastMessage
		}
		return cli.Count(int(status.RestartCount), "restart") + ", " + short, short
	case waiting != nil && waiting.Reason != "" && waiting.Reason != "ContainerCreating" && waiting.Reason != "PodInitializing":
		return strings.TrimSuffix(quote.Text(waiting.Reason)+": "+quote.Line(waiting.Message), ": "), ""
	}
	since := p.CreationTimestamp.Time
	if status.State.Running != nil {
		since = status.State.Running.StartedAt.Time
	}
	if c.now.Sub(since) < startTime {
		return "", ""
	}
	text = "it has not been ready for " + ago(c.now.Sub(since))
	if event := c.lastEvent(p.Name); event != "" {
		text += ": " + event
	}
	return text, ""
}

// lease reports that the daemon has no leader.
func (c *daemonCheck) lease(nodes nodeList) []Finding {
	flags := c.daemon.CommandLine
	object := "Lease " + quote.Plain(flags.LeaseNamespace) + "/" + quote.Plain(flags.LeaseName)
	l := c.state.Lease
	isUnread := slices.ContainsFunc(c.state.Unread, func(err error) bool { return strings.HasPrefix(err.Error(), "the Lease: ") })
	isAnyReady := slices.ContainsFunc(c.state.Pods, func(p world.DaemonPod) bool { return p.IsReady() })
	switch {
	case !flags.LeaderElect || c.state.IsElsewhere || isUnread:
		return nil
	case c.isLeaseTaken():
		text := fmt.Sprintf("its holder %s is no Pod of %s, and renewed it %s ago for %v", quote.Value(l.Holder), c.daemon.Workload(), ago(l.Age), l.Duration)
		if owner := c.leaseOwner(nodes); owner != "" {
			text += "; " + owner
		}
		return []Finding{{
			ID: "VZ184", Object: object, Text: text,
			Command: cli.Shell("kubectl", "-n", l.Namespace, "get", "lease", l.Name, "-o", "yaml"),
		}}
	case l != nil && l.IsHeld, !isAnyReady:
		// Without a ready Pod, another finding has the cause.
		return nil
	case l == nil:
		return []Finding{{ID: "VZ185", Object: object, Text: "it does not exist"}}
	case l.Holder == "":
		return []Finding{{ID: "VZ185", Object: object, Text: "it has no holder"}}
	}
	return []Finding{{ID: "VZ185", Object: object, Text: fmt.Sprintf("its holder %s renewed it %s ago for %v, so it has expired", quote.Value(l.Holder), ago(l.Age), l.Duration)}}
}

// isLeaseTaken reports whether a program other than the daemon leads.
func (c *daemonCheck) isLeaseTaken() bool {
	l := c.state.Lease
	return c.daemon.LeaderElect && !c.state.IsElsewhere && l != nil && l.IsHeld && !l.IsOwn
}

// leaseOwner names the cloud controller manager that probably holds the Lease: a workload or else the providers of Nodes.
func (c *daemonCheck) leaseOwner(nodes nodeList) string {
	var names []string
	for _, n := range c.state.Neighbors {
		if n.SharesLease {
			names = append(names, n.Workload)
		}
	}
	if len(names) > 0 {
		return "it is probably held by " + quote.Some(names, quote.Most)
	}
	for _, n := range nodes {
		if id := n.Node.Spec.ProviderID; nodeinfo.IsOtherProviders(id) {
			names = append(names, nodeinfo.Scheme(id))
		}
	}
	if len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	return fmt.Sprintf("it may be held by the cloud controller manager of %s with provider IDs of %s", cli.Count(len(names), "Node"), quote.Some(slices.Compact(names), quote.Most))
}

// neighbors reports other cloud controller managers in the cluster.
func (c *daemonCheck) neighbors() (found []Finding) {
	for _, n := range c.state.Neighbors {
		finding := Finding{ID: "VZ188", Object: n.Workload, Text: "its image is " + quote.Value(n.Image)}
		if n.SharesLease {
			if c.isLeaseTaken() {
				continue
			}
			finding.ID = "VZ189"
			finding.Text = "it uses Lease " + quote.Plain(c.daemon.LeaseNamespace) + "/" + quote.Plain(c.daemon.LeaseName) + ", as the daemon does"
		}
		found = append(found, finding)
	}
	return found
}

// reported reports the daemon's Warnings and conditions about objects without another finding.
func (c *daemonCheck) reported(nodes nodeList, others []Finding) (found []Finding) {
	known := map[string]bool{}
	for _, f := range others {
		if !Lookup(f.ID).Severity.AtLeast(Warning) {
			continue
		}
		for _, name := range f.Nodes {
			known["Node "+name] = true
		}
		if f.VCenter != "" {
			known[strconv.Quote(f.VCenter)] = true
		}
	}
	for i := range c.state.Events {
		e := &c.state.Events[i]
		vcenter := world.VCenterIn(e.Message)
		key := e.InvolvedObject.Name + " " + e.Reason + " " + vcenter
		if e.Source.Component != report.Source || known[vcenter] || known[key] {
			continue
		}
		known[key] = true
		text, _ := reportedText(e.Reason, e.Message)
		found = append(found, Finding{ID: "VZ186", Object: e.InvolvedObject.Kind + " " + quote.Plain(e.InvolvedObject.Name), Text: text})
	}
	for _, n := range nodes {
		condition := report.ConditionOf(n.Node)
		event, hasEvent := c.state.NodeEvents[n.name()]
		finding := n.newFinding("VZ186", "")
		switch {
		case known["Node "+n.name()] || condition.Status == v1.ConditionTrue:
			continue
		case condition.Status != "":
			finding.Text, finding.Short = reportedText(condition.Reason, condition.Message)
		case hasEvent && n.Uninitialized:
			finding.Text, finding.Short = reportedText(event.Reason, event.Message)
		default:
			continue
		}
		found = append(found, finding)
	}
	return found
}

// reportedText returns the text of a reason and a message, and the part from the vCenter on, which Nodes have in common.
func reportedText(reason, message string) (text, short string) {
	text = quote.Text(reason) + ": " + quote.Line(message)
	if i := strings.Index(text, "vCenter "+world.VCenterIn(text)); world.VCenterIn(text) != "" {
		short = quote.Text(reason) + ": " + text[i:]
	}
	return text, short
}

// versions reports that the daemon and the tool have different versions.
func (c *daemonCheck) versions() []Finding {
	text := imageDiffers(c.daemon.Image(), c.version)
	if text == "" {
		return nil
	}
	return []Finding{{ID: "VZ187", Object: c.daemon.Workload(), Text: text}}
}

// imageDiffers compares the tag of an image with the tool's version, if both are versions. It returns "" unless they
// differ.
func imageDiffers(image, toolVersion string) string {
	image, _, _ = strings.Cut(image, "@")
	_, tag, _ := strings.Cut(image[strings.LastIndex(image, "/")+1:], ":")
	daemon, err := versions.ParseSemantic(tag)
	if err != nil {
		return ""
	}
	tool, err := versions.ParseSemantic(toolVersion)
	// A build without a release has the version 0.0.0.
	if err != nil || tool.Major() == 0 || daemon.EqualTo(tool) {
		return ""
	}
	return fmt.Sprintf("its image has the version %s, and this command %s", daemon, tool)
}

// unread reports the parts that were not read.
func (c *daemonCheck) unread() (found []Finding) {
	for _, err := range c.state.Unread {
		finding := Finding{ID: "VZ125", Object: "daemon", Text: quote.Text(err.Error())}
		found = append(found, finding)
	}
	return found
}

func ago(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%.0fs", max(d, 0).Seconds())
	}
	return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
}
