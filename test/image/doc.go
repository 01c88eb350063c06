// Package image builds the container images of a clean checkout, twice, looks into them and
// runs what is in them as a container would: as their user, in their root file system,
// which is read-only. Tests have the tag e2e, and need root, or sudo, to mount it.
package image
