package lies

import (
	v1 "k8s.io/api/core/v1"
)

// A gain is a possible benefit of a lie.
type gain string

const (
	deletion  gain = "deletes another Node"
	keeping   gain = "keeps a dead Node"
	waiting   gain = "keeps a Node uninitialized"
	zone      gain = "another Node's zone"
	addresses gain = "another Node's addresses"
	identity  gain = "another Node's VM"
	ownZone   gain = "a zone of its choice"
	flood     gain = "floods the log"
)

// A moment is the phase in which a kubelet lies. It decides which writes the API server permits.
type moment string

const (
	// registering: the kubelet creates its Node with the lie.
	registering moment = "registers"
	// before: the Node exists and stays uninitialized because its VM is not found.
	before moment = "is uninitialized"
	// running: the Node is initialized with its own VM.
	running moment = "runs"
)

// An outcome is the final state of the liar's Node.
type outcome string

const (
	// honest: the same as without the lie.
	honest outcome = "as without the lie"
	// waits: the Node stays uninitialized.
	waits outcome = "stays uninitialized"
	// unlabeled: the Node has no taint and gets no labels from vzones.
	unlabeled outcome = "gets no labels"
	// ignored: vzones writes nothing to the Node.
	ignored outcome = "is not written to"
	// reported: the Node keeps the label of its choice, and an Event reports it.
	reported outcome = "is reported"
	// impostor: the Node is initialized with the VM that it names.
	impostor outcome = "is initialized with the VM that it names"
)

// A lie is a forged value, played at one or more moments.
type lie struct {
	about   string // field of the Node, or a name for several fields
	value   string
	moments []moment
	// send writes the lie to the Node.
	send func(w *world, n *v1.Node)
	// named is the Node's name, if the lie requires one.
	named string
	// homeless means that no VM has the kubelet's own system UUID.
	homeless bool
	// certain means that the lie is played without unreadable VMs, which matches by name require.
	certain bool
	// becomes is the expected outcome.
	becomes outcome
	// accepted maps accepted gains to the reason.
	accepted map[gain]string
}
