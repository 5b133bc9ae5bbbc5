package schema

import (
	"slices"

	"vzones/config/problem"
)

// csiKeys are the keys of the CSI driver's file beside those of the schema, of several of its releases.
// They have no effect: see neighborKeys.
func (s *Section) csiKeys(global bool) []Field {
	fields := slices.Concat(
		withoutEffect(ForVolumes, "targetvSANFileShareDatastoreURLs", "targetvSANFileShareClusters", "migration-datastore-url"),
		withoutEffect(ForDriver, "filevolumeactivated"))
	if global {
		fields = withoutEffect(ForDriver, "cluster-id", "supervisor-id", "cluster-distribution",
			"cnsregistervolumes-cleanup-intervalinmin", "cnspvcprotection-cleanup-intervalinmin",
			"cnsvolumeoperationrequest-cleanup-intervalinmin", "volumemigration-cr-cleanup-intervalinmin", "vc-client-timeout",
			"csi-auth-check-intervalinmin", "csi-fetch-preferred-datastores-intervalinmin", "query-limit", "list-volume-threshold")
	}
	return append(fields, Field{Name: sessionURL, Into: OfSession{sessionURL, &s.Session}}, Field{Name: sessionToken, Into: OfSession{sessionToken, &s.Session}})
}

// The keys of a session manager. The token is a secret.
const (
	sessionURL   = "vc-session-manager-url"
	sessionToken = "vc-session-manager-token"
)

// OfSession is a key of a session manager, which has no effect in this file.
type OfSession struct {
	Key string
	// At becomes the position of the key.
	At *problem.Position
}

// Why says why the key has no effect.
func (o OfSession) Why() string {
	return "has no effect: vzones reads a session manager's address and token from a Secret or a directory: " +
		"write it there, under the server's address with ." + o.Key + " behind it"
}

// Take warns of a value that asks for something.
func (o OfSession) Take(from Source) {
	if from.Asks() {
		*o.At = from.Place()
		from.Problems().Warnf(from.Place(), "%s", o.Why())
	}
}

// MaxCategories is how many the CSI driver takes.
const MaxCategories = 5

// Why a key of a neighbor has no effect.
const (
	ForVolumes = "has no effect: it is about volumes, which are the CSI driver's"
	ForDriver  = "has no effect: it is the CSI driver's"
)
