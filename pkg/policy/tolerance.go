package policy

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/dashpot-project/dashpot/pkg/metadata"
)

// parseTolerance reads a fraction as the HPA controller does, to the last bit: what
// it sees has been through the API server, which stores 0.57 as 570m, and 570 x 0.001
// is not the float nearest to 0.57. A ratio at the edge of the band tells them apart.
func parseTolerance(m *metadata.Map) float64 {
	text := m.Text(toleranceKey)
	given, err := resource.ParseQuantity(text)
	// To Kubernetes a quantity without a digit, such as m, is 0.
	if err != nil || !strings.ContainsAny(text, "0123456789") || given.Sign() < 0 || given.CmpInt64(maxCount) > 0 {
		m.Problem(toleranceKey, "")
		return 0
	}
	stored, err := resource.ParseQuantity(given.String())
	if err != nil {
		m.Problem(toleranceKey, err.Error())
	}
	return stored.AsApproximateFloat64()
}
