// The certificate that the controller presents to the nodes that dial it, signed by the CA of the installation.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/path.h"
#include "common/net/tls/authority.h"
#include "common/net/tls/identity.h"

namespace longshore::app {

// Returns the host of a gRPC target: "longshore-nodes.ops.svc" for "dns:///longshore-nodes.ops.svc:8610". Returns
// InvalidArgument if the target has no host or no port.
Result<std::string> HostOf(const std::string& target);

// Reads both files. Returns InvalidArgument if they are not a certificate with its key, or if the certificate has
// expired.
Result<tls::KeyPair> ReadAuthority(const Path& cert_file, const Path& key_file, TimePoint now);

// Issues a new certificate when Read is first called, then once a day, and after the CA changed. A new CA
// is announced first, and used only after kUseAfter, when all nodes trust it. Read is called by one thread at a time.
class ServedIdentity {
 public:
  // `certificates` are the certificates of the CAs that nodes must trust. Usually there is one. During a change of the
  // CA there are two, and the new one is first.
  using OnAuthority = std::function<void(const std::string& certificates)>;
  // The time between the announcement of a new CA and its first use. Pods see a change of their ConfigMap after
  // about a minute.
  static constexpr std::chrono::minutes kUseAfter{5};

  // Calls `on_authority` with the first CA and after each change.
  ServedIdentity(Path cert_file, Path key_file, std::set<std::string> hosts, const Clock& clock,
                 OnAuthority on_authority)
      : cert_file_(std::move(cert_file)),
        key_file_(std::move(key_file)),
        hosts_(std::move(hosts)),
        clock_(clock),
        on_authority_(std::move(on_authority)) {}

  // The function with which tls::Identities reads the certificate.
  Result<tls::Identity> Read();

 private:
  bool IsTooEarlyFor(const tls::KeyPair& authority, TimePoint now);
  void KeepOldAuthority();
  Result<tls::Identity> Make(tls::KeyPair authority, TimePoint now);

  const Path cert_file_;
  const Path key_file_;
  const std::set<std::string> hosts_;  // The names and addresses under which clients dial the controller.
  const Clock& clock_;
  const OnAuthority on_authority_;
  std::optional<tls::KeyPair> authority_;  // The CA that signed `identity_`.
  tls::Identity identity_;
  TimePoint made_at_;
  std::string next_;  // The certificate of the CA that will take over; empty: the CA does not change.
  TimePoint next_seen_at_;
};

}  // namespace longshore::app
