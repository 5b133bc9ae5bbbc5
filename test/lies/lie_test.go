package lies

import (
	v1 "k8s.io/api/core/v1"
)

// A gain is what a lie might bring.
type gain string

const (
	deletion  gain = "deletes another Node"
	keeping   gain = "keeps a dead Node"
	waiting   gain = "keeps a Node waiting"
	zone      gain = "another's zone"
	addresses gain = "another's addresses"
	identity  gain = "another's VM"
	ownZone   gain = "a zone of its choice"
	flood     gain = "floods the log"
)

// A moment is when a kubelet tells its lie. What the API server lets it write differs.
type moment string

const (
	// registering: it creates its Node with the lie.
	registering moment = "registers"
	// before: its Node is there and waits, since its machine is not found.
	before moment = "waits"
	// running: its Node is initialized, as that of its machine.
	running moment = "runs"
)

// An outcome is what becomes of the Node whose kubelet lies.
type outcome string

const (
	// honest: it is what it would be without the lie.
	honest outcome = "as without the lie"
	// waits: it is not initialized.
	waits outcome = "waits"
	// unlabeled: it has no taint, and vzones gives it no labels.
	unlabeled outcome = "gets no labels"
	// alone: vzones writes nothing to it.
	alone outcome = "is left alone"
	// reported: it has the label that it chose, and an Event says so.
	reported outcome = "is reported"
	// impostor: it is initialized as the Node of the machine that it names.
	impostor outcome = "has what the VM has that it names"
)

// A lie is told at some moments. Each of them is played.
type lie struct {
	about string // a field of the Node, or what stands for several
	says  string
	at    []moment
	// send puts it into the Node.
	send func(w *world, n *v1.Node)
	// named is the Node's name, if it is not the test's to choose.
	named string
	// homeless says that the kubelet's own system UUID is of no machine.
	homeless bool
	// certain says that it is told where no machine is unreadable: matches by name need that.
	certain bool
	// becomes is what becomes of the liar's Node.
	becomes outcome
	// left is what is gained all the same, and why that is accepted.
	left map[gain]string
}
