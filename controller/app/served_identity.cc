#include "controller/app/served_identity.h"

#include <arpa/inet.h>

#include <utility>

#include "common/os/file.h"

namespace longshore::app {
namespace {

constexpr size_t kFileMax = 1 << 20;
constexpr std::chrono::hours kLifetime{24 * 30};
constexpr std::chrono::hours kRenewAfter{24};

bool IsAddress(const std::string& host) {
  unsigned char address[sizeof(in6_addr)];
  return inet_pton(AF_INET, host.c_str(), address) == 1 || inet_pton(AF_INET6, host.c_str(), address) == 1;
}

}  // namespace

Result<std::string> HostOf(const std::string& target) {
  std::string host = target;
  for (const std::string_view scheme : {"dns:///", "ipv4:", "ipv6:", "dns:"}) {
    if (!target.starts_with(scheme)) continue;
    host = target.substr(scheme.size());
    break;
  }
  const size_t colon = host.rfind(':');
  const bool has_port = colon != std::string::npos && colon + 1 < host.size() &&
                        host.find_first_not_of("0123456789", colon + 1) == std::string::npos;
  if (has_port) host.resize(colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  const bool is_name = host.find_first_of("/:,") == std::string::npos;
  if (!has_port || host.empty() || (!is_name && !IsAddress(host)))
    return InvalidArgument(
        "\"{}\" is not a valid address to dial; expected for example dns:///longshore-nodes.longshore.svc:8610",
        target);
  return host;
}

Result<tls::KeyPair> ReadAuthority(const Path& cert_file, const Path& key_file, TimePoint now) {
  tls::KeyPair authority;
  ASSIGN_OR_RETURN(authority.certificate, ReadFile(cert_file, kFileMax));
  ASSIGN_OR_RETURN(authority.key, ReadFile(key_file, kFileMax));
  const auto validity = tls::ValidityOf(authority);
  if (!validity) return Prefixed(validity.error(), fmt::format("{} and {}", cert_file.string(), key_file.string()));
  if (validity->until <= now) return InvalidArgument("{}: this certificate has expired", cert_file.string());
  return authority;
}

Result<tls::Identity> ServedIdentity::Read() {
  const TimePoint now = clock_.Now();
  ASSIGN_OR_RETURN(tls::KeyPair authority, ReadAuthority(cert_file_, key_file_, now));
  if (!authority_) return Make(std::move(authority), now);
  if (authority_->certificate != authority.certificate) {
    if (IsTooEarlyFor(authority, now)) return identity_;
    return Make(std::move(authority), now);
  }
  if (!next_.empty()) KeepOldAuthority();
  if (now - made_at_ < kRenewAfter) return identity_;
  return Make(std::move(authority), now);
}

bool ServedIdentity::IsTooEarlyFor(const tls::KeyPair& authority, TimePoint now) {
  if (next_ != authority.certificate) {
    next_ = authority.certificate;
    next_seen_at_ = now;
    on_authority_(next_ + "\n" + authority_->certificate);
  }
  const auto shown = tls::ValidityOf(*authority_);
  const bool is_expired = !shown || shown->until <= now;
  return !is_expired && now - next_seen_at_ < kUseAfter;
}

void ServedIdentity::KeepOldAuthority() {
  next_.clear();
  on_authority_(authority_->certificate);
}

Result<tls::Identity> ServedIdentity::Make(tls::KeyPair authority, TimePoint now) {
  tls::Subject subject{.name = "longshore-controller"};
  for (const std::string& host : hosts_) (IsAddress(host) ? subject.addresses : subject.dns_names).push_back(host);
  ASSIGN_OR_RETURN(const tls::KeyPair made, tls::Issue(authority, subject, kLifetime));
  identity_.certificate = made.certificate;
  identity_.key = made.key;
  made_at_ = now;
  next_.clear();
  const bool is_another = !authority_ || authority_->certificate != authority.certificate;
  authority_ = std::move(authority);
  if (is_another) on_authority_(authority_->certificate);
  return identity_;
}

}  // namespace longshore::app
