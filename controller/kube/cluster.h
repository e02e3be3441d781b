// Where an API server is, and who we are to it.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "common/error.h"
#include "common/file.h"
#include "common/tls/identity.h"

namespace longshore::kube {

// What a request shows of who sends it. Thread-safe.
class Credentials {
 public:
  virtual ~Credentials() = default;
  // For the Authorization header; "" when the certificate says it all. `refused`: the last one was, with a 401.
  virtual Result<std::string> Token(bool refused) = 0;
  // For a new connection: whom to trust, and our certificate where there is one.
  virtual Result<tls::ClientIdentity> Identity() = 0;
};

struct Cluster {
  std::string server;      // "https://10.0.0.1:6443".
  std::string namespace_;  // Ours where nothing else is said.
  std::shared_ptr<Credentials> credentials;
};

// Of a kubeconfig file, in the given context or, when that is "", in the current one. Files that it names are read
// again when they are needed, and its credential plugin (`exec`) is run again when its answer expires. NotFound, or
// InvalidArgument naming the file and the entry; what cannot be obeyed (insecure-skip-tls-verify, a proxy,
// tls-server-name, passwords) is refused with its name.
Result<Cluster> FromKubeconfig(const Path& file, const std::string& context);

// Of a pod: its service account's token, CA and namespace, and the address in its environment. FailedPrecondition when
// this is no pod.
Result<Cluster> FromPod(const Path& service_account = "/var/run/secrets/kubernetes.io/serviceaccount");

}  // namespace longshore::kube
