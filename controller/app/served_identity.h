// What the controller shows to the nodes that dial it: a certificate made here, by the authority of the installation.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "common/clock.h"
#include "common/error.h"
#include "common/file.h"
#include "common/tls/authority.h"
#include "common/tls/identity.h"

namespace longshore::app {

// The host of what gRPC dials: "longshore-nodes.ops.svc" of "dns:///longshore-nodes.ops.svc:8610". InvalidArgument when
// there is no host or no port in it.
Result<std::string> HostOf(const std::string& target);

// Reads both files. InvalidArgument when they are no authority, or its time is over.
Result<tls::KeyPair> ReadAuthority(const Path& cert_file, const Path& key_file, TimePoint now);

// Makes a certificate when there is none yet, once a day, and when the authority is another one: then not before nodes
// have had kShowAfter to hear of it. One thread at a time.
class ServedIdentity {
 public:
  // Of whom nodes are to trust what is shown: one authority, or while one takes over both, the new one first.
  using OnAuthority = std::function<void(const std::string& certificates)>;
  // A ConfigMap is in its pods about a minute after it was written.
  static constexpr std::chrono::minutes kShowAfter{5};

  // `on_authority` is told of the first one, and of every change.
  ServedIdentity(Path cert_file, Path key_file, std::string host, const Clock& clock, OnAuthority on_authority)
      : cert_file_(std::move(cert_file)),
        key_file_(std::move(key_file)),
        host_(std::move(host)),
        clock_(clock),
        on_authority_(std::move(on_authority)) {}

  // For tls::Identities.
  Result<tls::Identity> Read();

 private:
  bool IsTooEarlyFor(const tls::KeyPair& authority, TimePoint now);
  void StayWithTheOld();
  Result<tls::Identity> Make(tls::KeyPair authority, TimePoint now);

  const Path cert_file_;
  const Path key_file_;
  const std::string host_;
  const Clock& clock_;
  const OnAuthority on_authority_;
  std::optional<tls::KeyPair> authority_;  // Of what is shown.
  tls::Identity identity_;
  TimePoint made_at_;
  std::string next_;  // The certificate of the authority that takes over; empty: none does.
  TimePoint next_seen_at_;
};

}  // namespace longshore::app
