package inventory

import (
	"encoding/hex"
	"fmt"
	"strings"

	"vzones/topology/quote"
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
	var u UUID
	if len(s) > MaxUUIDLength {
		return UUID{}, fmt.Errorf("%s is not a UUID", quote.Value(s))
	}
	digits := strings.TrimSpace(s)
	if strings.HasPrefix(digits, "{") && strings.HasSuffix(digits, "}") {
		digits = strings.TrimSpace(digits[1 : len(digits)-1])
	}
	if len(digits) == 36 && digits[8] == '-' && digits[13] == '-' && digits[18] == '-' && digits[23] == '-' {
		digits = strings.ReplaceAll(digits, "-", "")
	}
	if len(digits) != 32 {
		return UUID{}, fmt.Errorf("%s is not a UUID", quote.Value(s))
	}
	if _, err := hex.Decode(u[:], []byte(digits)); err != nil {
		return UUID{}, fmt.Errorf("%s is not a UUID", quote.Value(s))
	}
	zeros, ones := true, true
	for _, b := range u {
		zeros = zeros && b == 0
		ones = ones && b == 0xff
	}
	if zeros || ones {
		return UUID{}, fmt.Errorf("%s identifies no machine", quote.Value(s))
	}
	return u, nil
}

// IsZero reports whether u identifies no machine.
func (u UUID) IsZero() bool { return u == UUID{} }

// String is the form that vSphere and provider IDs use: lower case, dashes.
func (u UUID) String() string {
	h := hex.EncodeToString(u[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// Swapped returns u with its first three fields in the other byte order. The
// SMBIOS specification changed that order, so some guests show a machine's
// UUID as 56492e42-22ad-3911-… that vSphere knows as 422e4956-ad22-1139-….
func (u UUID) Swapped() UUID {
	s := u
	s[0], s[1], s[2], s[3] = u[3], u[2], u[1], u[0]
	s[4], s[5] = u[5], u[4]
	s[6], s[7] = u[7], u[6]
	return s
}
