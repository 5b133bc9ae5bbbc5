// Package vcentertest contains helpers for the tests of vcenter's packages.
package vcentertest
