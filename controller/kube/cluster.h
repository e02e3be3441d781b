// The address of an API server and the credentials for it.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "common/base/error.h"
#include "common/base/path.h"
#include "common/net/tls/identity.h"

namespace longshore::kube {

// The credentials that requests use. Thread-safe.
class Credentials {
 public:
  virtual ~Credentials() = default;
  // Returns the token for the Authorization header; "" if the client certificate is enough. `was_rejected`: the server
  // answered 401 to the last token.
  virtual Result<std::string> Token(bool was_rejected) = 0;
  // Returns the TLS settings for a new connection: the CA to trust, and the client certificate if there is one.
  virtual Result<tls::ClientIdentity> Identity() = 0;
};

struct Cluster {
  std::string server;      // "https://10.0.0.1:6443".
  std::string namespace_;  // The default namespace.
  std::shared_ptr<Credentials> credentials;
};

// Reads a kubeconfig file with the given context; "": the current one. Files that it names are read at each use, and
// its credential plugin (`exec`) runs again when its answer expires. Returns NotFound if the file or one of its entries
// does not exist. Returns InvalidArgument, which names the file and the entry, if the entry is not valid or has an
// unsupported setting (insecure-skip-tls-verify, a proxy, tls-server-name, passwords).
Result<Cluster> FromKubeconfig(const Path& file, const std::string& context);

// Reads the service account's token, CA and namespace of the pod in which this process runs, and the API server's
// address from the environment. Returns FailedPrecondition if this process does not run in a pod.
Result<Cluster> FromPod(const Path& service_account = "/var/run/secrets/kubernetes.io/serviceaccount");

}  // namespace longshore::kube
