//go:build e2e

package chart

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/dashpot-project/dashpot/internal/redistest/child"
)

// token is one of a ServiceAccount, as a pod gets it.
func token(t *testing.T, namespace, account string) string {
	t.Helper()
	issued, err := env.cluster.Client.CoreV1().ServiceAccounts(namespace).CreateToken(t.Context(), account, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return issued.Status.Token
}

// kubeconfig is the path of one that has a ServiceAccount's token and nothing else.
func kubeconfig(t *testing.T, namespace, account string) string {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: env.cluster.Config.Host, CertificateAuthorityData: env.cluster.Config.CAData}
	config.AuthInfos["a"] = &clientcmdapi.AuthInfo{Token: token(t, namespace, account)}
	config.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "a"}
	config.CurrentContext = "x"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// adapterProcess is an adapter on this machine.
type adapterProcess struct {
	address, log string
	authority    []byte
}

// startAdapter runs the adapter as the chart's pod would be run, with its certificate.
func startAdapter(t *testing.T, program, redis string) adapterProcess {
	t.Helper()
	files, authority := secretFiles(t)
	a := adapterProcess{address: free(t), log: filepath.Join(t.TempDir(), "log"), authority: authority}
	args := deployed(t, "dashpot-adapter")
	mounted := strings.NewReplacer("/etc/dashpot/tls", files, delegatesMount, delegateFiles(t))
	for i := range args {
		args[i] = mounted.Replace(args[i])
	}
	log, err := os.Create(a.log)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command(program, append(args, "--https-address="+a.address, "--http-address="+free(t), "--allow-address=127.0.0.0/8",
		"--redis-url="+redis, "--kubeconfig="+kubeconfig(t, namespace, "dashpot-adapter"))...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = append(os.Environ(), "POD_NAMESPACE="+namespace, "NO_PROXY=*", "no_proxy=*")
	process, err := child.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		process.Stop(30 * time.Second)
		if t.Failed() {
			t.Log(read(t, a.log))
		}
	})
	eventually(t, "the adapter", func() error {
		conn, err := net.Dial("tcp", a.address)
		if err == nil {
			_ = conn.Close()
		}
		return err
	})
	return a
}

// delegatesMount is where the chart's pods have the delegates file and its authorities.
const delegatesMount = "/etc/dashpot/delegates"

// delegateFiles writes the adapter's delegates file and its authorities into a directory;
// nothing if the chart made none.
func delegateFiles(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	found, err := env.cluster.Client.CoreV1().ConfigMaps(namespace).Get(t.Context(), "dashpot-adapter-delegates", metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	for name, content := range found.Data {
		content = strings.ReplaceAll(content, delegatesMount, dir)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// free is an address on loopback that nobody uses.
func free(t *testing.T) string {
	t.Helper()
	port, err := child.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
}
