package inventory

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"vzones/internal/quote"
)

// A UUID is a machine's BIOS UUID as vSphere writes it (config.uuid). It is
// not unique: clones, restored machines and machines in the middle of a move
// between vCenters carry the same one.
type UUID [16]byte

// MaxUUIDLength is how many bytes the text of a UUID may have, with all that may be around
// it.
const MaxUUIDLength = 64

// ParseUUID reads a UUID in any case, with or without braces, blanks around it
// and dashes. All zeros and all ones, which firmware without a UUID shows, are
// errors, and so is a text that is too long to be one, however much of it is blank.
func ParseUUID(s string) (UUID, error) {
	if len(s) > MaxUUIDLength {
		return UUID{}, fmt.Errorf("%s is not a UUID", quote.Value(s))
	}
	digits := strings.TrimSpace(s)
	if strings.HasPrefix(digits, "{") && strings.HasSuffix(digits, "}") {
		digits = strings.TrimSpace(digits[1 : len(digits)-1])
	}
	u, err := uuid.Parse(digits)
	// Other lengths that it accepts are a URN and a second pair of braces.
	if err != nil || len(digits) != 32 && len(digits) != 36 {
		return UUID{}, fmt.Errorf("%s is not a UUID", quote.Value(s))
	}
	if u == uuid.Nil || u == uuid.Max {
		return UUID{}, fmt.Errorf("%s identifies no machine", quote.Value(s))
	}
	return UUID(u), nil
}

// IsZero reports whether u identifies no machine.
func (u UUID) IsZero() bool { return u == UUID{} }

// String is the form that vSphere and provider IDs use: lower case, dashes.
func (u UUID) String() string { return uuid.UUID(u).String() }

// Swapped returns u with its first three fields in the other byte order. The
// SMBIOS specification changed that order, so some guests show a machine's
// UUID as 56492e42-22ad-3911-… that vSphere knows as 422e4956-ad22-1139-….
func (u UUID) Swapped() UUID {
	s := u
	slices.Reverse(s[0:4])
	slices.Reverse(s[4:6])
	slices.Reverse(s[6:8])
	return s
}
