package inventory

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"vzones/internal/quote"
)

// A UUID is a VM's BIOS or instance UUID as vSphere writes it.
type UUID [16]byte

// MaxUUIDLength is the maximum length in bytes of the text of a UUID, including surrounding characters.
const MaxUUIDLength = 64

// ParseUUID accepts any case, braces, missing dashes and surrounding blanks. It rejects all zeros and all ones, which
// firmware without a UUID reports.
func ParseUUID(s string) (UUID, error) {
	if len(s) > MaxUUIDLength {
		return UUID{}, fmt.Errorf("%s is not a UUID", quote.Value(s))
	}
	digits := strings.TrimSpace(s)
	if strings.HasPrefix(digits, "{") && strings.HasSuffix(digits, "}") {
		digits = strings.TrimSpace(digits[1 : len(digits)-1])
	}
	u, err := uuid.Parse(digits)
	// uuid.Parse also accepts a URN and a second pair of braces.
	if err != nil || len(digits) != 32 && len(digits) != 36 {
		return UUID{}, fmt.Errorf("%s is not a UUID", quote.Value(s))
	}
	if u == uuid.Nil || u == uuid.Max {
		return UUID{}, fmt.Errorf("%s identifies no VM", quote.Value(s))
	}
	return UUID(u), nil
}

// IsZero reports whether u identifies no VM.
func (u UUID) IsZero() bool { return u == UUID{} }

// String returns the form of vSphere and of provider IDs.
func (u UUID) String() string { return uuid.UUID(u).String() }

// Swapped returns u with its first three fields in the other byte order. SMBIOS encodes them as little-endian since
// version 2.6 (DSP0134), so some guests report 56492e42-22ad-3911-… where vSphere has 422e4956-ad22-1139-….
func (u UUID) Swapped() UUID {
	s := u
	slices.Reverse(s[0:4])
	slices.Reverse(s[4:6])
	slices.Reverse(s[6:8])
	return s
}
