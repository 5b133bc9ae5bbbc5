package schema

import "vzones/config/internal/problem"

// CSIKey is a key of the driver's file that vzones has no use for.
type CSIKey struct {
	Name string
	// Why says why it has no effect here, if not because it is the driver's.
	Why string
	// Whole and yes say that gcfg, with which the driver reads its file, wants a whole
	// number or a truth value.
	Whole, Yes bool
	// Most is how many bytes the driver takes, if not any number.
	Most int
	// Words are what the driver takes alone, besides nothing.
	Words []string
	// Beside is what to say of one that is carried over and does not count everywhere.
	Beside string
}

// The keys of the driver's file beside those of the schema, of several of its releases: see
// neighborKeys.
var (
	csiGlobalKeys = []CSIKey{
		{Name: "cluster-id", Most: MaxCSIName},
		{Name: "supervisor-id", Most: MaxCSIName},
		{Name: "cluster-distribution"},
		{Name: "cnsregistervolumes-cleanup-intervalinmin", Whole: true},
		{Name: "cnspvcprotection-cleanup-intervalinmin", Whole: true},
		{Name: "cnsvolumeoperationrequest-cleanup-intervalinmin", Whole: true},
		{Name: "volumemigration-cr-cleanup-intervalinmin", Whole: true},
		{Name: "vc-client-timeout", Whole: true},
		{Name: "csi-auth-check-intervalinmin", Whole: true},
		{Name: "csi-fetch-preferred-datastores-intervalinmin", Whole: true},
		{Name: "query-limit", Whole: true},
		{Name: "list-volume-threshold", Whole: true},
		{Name: sessionURL, Why: NoSession + sessionURL + " behind it", Beside: someReleases},
		{Name: sessionToken, Why: NoSession + sessionToken + " behind it"},
	}
	csiVCenterKeys = []CSIKey{
		{Name: "targetvSANFileShareDatastoreURLs", Why: ForVolumes},
		{Name: "targetvSANFileShareClusters", Why: ForVolumes},
		{Name: "migration-datastore-url", Why: ForVolumes},
		{Name: "filevolumeactivated", Yes: true},
		{Name: sessionURL, Why: NoSession + sessionURL + " behind it", Beside: someReleases},
		{Name: sessionToken, Why: NoSession + sessionToken + " behind it"},
	}
	CSINetPermissionKeys = []CSIKey{
		{Name: "ips"},
		{Name: "permissions", Words: []string{"READ_WRITE", "READ_ONLY", "NO_ACCESS"}},
		{Name: "rootsquash", Yes: true},
	}
	CSISnapshotKeys = []CSIKey{
		{Name: "global-max-snapshots-per-block-volume", Whole: true},
		{Name: "granular-max-snapshots-per-block-volume-vsan", Whole: true},
		{Name: "granular-max-snapshots-per-block-volume-vvol", Whole: true},
	}
)

// The keys of a session manager. What the token is is a secret.
const (
	sessionURL   = "vc-session-manager-url"
	sessionToken = "vc-session-manager-token"
)

const someReleases = "is written, but not every release of the CSI driver reads it: 3.6 does, and 3.7 does not and logs in with the user and the password"

// OfCSI is a key of the driver's file, which has no effect here. Own gets what it is set to.
type OfCSI struct {
	*CSIKey
	Own *[]CSIValue
	// Session becomes where it is, if it is a session manager's.
	Session *problem.Position
}

// CSIValue is a key with its value.
type CSIValue struct {
	*CSIKey
	Value string
	At    problem.Position
}

// Take keeps the value for the driver's file, and warns of one that asks for something.
func (o OfCSI) Take(from Source) {
	if value, ok := from.Single(o.Yes); ok {
		*o.Own = append(*o.Own, CSIValue{o.CSIKey, value, from.Place()})
	}
	if !from.Asks() {
		return
	}
	if o.Session != nil {
		*o.Session = from.Place()
	}
	why := o.Why
	if why == "" {
		why = ForDriver
	}
	from.Problems().Warnf(from.Place(), "%s", why)
}

// MaxCategories is how many the CSI driver takes.
const MaxCategories = 5

// MaxCSIName is how many bytes the CSI driver takes for cluster-id and supervisor-id.
const MaxCSIName = 64

// Why a key of a neighbor has no effect.
const (
	ForVolumes = "has no effect: it is about volumes, which are the CSI driver's"
	ForDriver  = "has no effect: it is the CSI driver's"
	NoSession  = "has no effect: vzones reads a session manager's address and token from a Secret or a directory: " +
		"write it there, under the server's address with ."
)
