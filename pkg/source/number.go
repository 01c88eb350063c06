package source

import (
	"regexp"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/dashpot-project/dashpot/pkg/algorithm"
	"github.com/dashpot-project/dashpot/pkg/metadata"
)

// maxTarget keeps a count of replicas times a target far from overflow.
const maxTarget = 1e9

// targetKey describes a target.
func targetKey(name, meaning string) metadata.Key {
	return metadata.Key{Name: name, Kind: metadata.Number, Range: metadata.Range{Min: 0.001, Max: maxTarget}, Default: "5", Meaning: meaning}
}

// neededTargetKey describes a target without a default, which KEDA does not have either.
func neededTargetKey(name, of string) metadata.Key {
	return metadata.Key{
		Name: name, Kind: metadata.Number, Range: metadata.Range{Min: 0.001, Max: maxTarget}, Required: true,
		Meaning: "How much of the " + of + " one replica takes.",
	}
}

// activationKey describes an activation threshold.
func activationKey(name string) metadata.Key {
	return metadata.Key{
		Name: name, Kind: metadata.Number, Range: metadata.AtLeast(0), Default: "0",
		Meaning: "A reading must be above this to wake the workload or keep it awake; equal is not enough.",
	}
}

// target reads how much one replica takes.
func target(m *metadata.Map, k metadata.Key) algorithm.Milli {
	milli, err := algorithm.ToMilli(number(m, k))
	if err != nil {
		m.Problem(k, err.Error())
	}
	return milli
}

// number reads a number. It is no quantity, in KEDA neither: 70000m is an error, which
// says that 70 is meant.
func number(m *metadata.Map, k metadata.Key) float64 {
	if m.Has(k) {
		if n, ok := fromQuantity(m.Text(k)); ok {
			m.Problem(k, "not a quantity; write "+strconv.FormatFloat(n, 'f', -1, 64))
			return 0
		}
	}
	return m.Number(k)
}

// longExponent is one over which Kubernetes' own reader of quantities thinks for minutes, as
// that of 1e-99999999.
var longExponent = regexp.MustCompile(`[eE][+-]?[0-9]{3,}$`)

// quantityOf reads a quantity of Kubernetes. Its error quotes nothing.
func quantityOf(text string) (resource.Quantity, error) {
	if len(text) > 64 || longExponent.MatchString(text) {
		return resource.Quantity{}, resource.ErrFormatWrong
	}
	return resource.ParseQuantity(text)
}

// units are the suffixes of Kubernetes' quantities, the longer ones first.
var units = []struct {
	suffix string
	factor float64
}{
	{"Ki", 1 << 10}, {"Mi", 1 << 20}, {"Gi", 1 << 30}, {"Ti", 1 << 40}, {"Pi", 1 << 50}, {"Ei", 1 << 60},
	{"n", 1e-9}, {"u", 1e-6}, {"m", 1e-3}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}, {"P", 1e15}, {"E", 1e18},
}

// fromQuantity reads a number with a unit, and nothing else.
func fromQuantity(text string) (float64, bool) {
	for _, unit := range units {
		if digits, ok := strings.CutSuffix(text, unit.suffix); ok {
			n, err := strconv.ParseFloat(digits, 64)
			return n * unit.factor, err == nil
		}
	}
	return 0, false
}
