package session

import (
	"net/url"

	"vzones/vcenter/credentials"
)

// isShared reports whether a session with these credentials is a clone of a session
// manager's. Its session of the REST API is the SOAP session itself.
func isShared(creds credentials.Credentials) bool { return creds.SessionManagerURL != "" }

// userinfo returns user and password as they are sent.
func userinfo(creds credentials.Credentials) *url.Userinfo {
	return url.UserPassword(creds.User, creds.Password.Reveal())
}
