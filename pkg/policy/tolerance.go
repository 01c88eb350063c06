package policy

import (
	"regexp"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/dashpot-project/dashpot/pkg/metadata"
)

// plainQuantity is a quantity that can be computed with. Kubernetes' own reader accepts
// more: without a digit, which is 0, and with an exponent of any length, over which it
// thinks for minutes.
var plainQuantity = regexp.MustCompile(`^[+-]?([0-9]{1,30}\.?[0-9]{0,30}|\.[0-9]{1,30})([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]{1,2})?$`)

// parseTolerance reads a fraction as the HPA controller does, to the last bit: what
// it sees has been through the API server, which stores 0.57 as 570m, and 570 x 0.001
// is not the float nearest to 0.57. A ratio at the edge of the band tells them apart.
func parseTolerance(m *metadata.Map) float64 {
	text := m.Text(toleranceKey)
	if !plainQuantity.MatchString(text) {
		m.Problem(toleranceKey, "")
		return 0
	}
	given, err := resource.ParseQuantity(text)
	if err != nil || given.Sign() < 0 || given.CmpInt64(maxCount) > 0 {
		m.Problem(toleranceKey, "")
		return 0
	}
	stored, err := resource.ParseQuantity(given.String())
	if err != nil {
		m.Problem(toleranceKey, err.Error())
	}
	return stored.AsApproximateFloat64()
}
