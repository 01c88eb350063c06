//go:build e2e

package binaries

import (
	"os"
	"testing"
	"time"
)

func TestEnsure(t *testing.T) {
	set, err := Ensure(t.Context(), t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	files := append([]string{
		set.Etcd, set.KubeAPIServer, set.KubeControllerManager, set.Kubectl, set.Kwok,
		set.KedaOperator, set.KedaAdapter, set.KedaCRDs,
	}, set.KwokStages...)
	if len(set.KwokStages) != len(stageFiles) {
		t.Errorf("stages: %v", set.KwokStages)
	}
	for _, file := range files {
		if _, err := os.Stat(file); err != nil {
			t.Error(err)
		}
	}
	begin := time.Now()
	if _, err := Ensure(t.Context(), t.Logf); err != nil {
		t.Error(err)
	}
	t.Logf("the second time took %s", time.Since(begin))
}
