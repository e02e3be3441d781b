#include "serving-node/identity/node_identity.h"

#include <utility>

#include "common/net/tls/identity.h"
#include "common/os/file.h"
#include "common/os/log.h"
#include "serving-node/identity/renewal.h"

namespace longshore::identity {
namespace {

constexpr size_t kFileBytesMax = size_t{1} << 20;
constexpr mode_t kOwnerOnly = 0600;

// Checks that TLS accepts the certificate, the key and the authorities.
Status CheckUsable(const PeerIdentity& identity) {
  if (identity.fleet_name.empty()) return InvalidArgument("the certificate comes without the name of the fleet");
  return tls::MakeServerContext(
             {identity.own.certificate, identity.own.key, identity.authorities, /*verify_client=*/true})
      .map([](const auto&) {});
}

}  // namespace

NodeIdentity::NodeIdentity(Options options, const Clock& clock, const MonotonicClock& timer)
    : options_(std::move(options)), clock_(clock), timer_(timer) {
  const auto bytes = ReadFile(options_.file, kFileBytesMax);
  if (!bytes && bytes.error().code == Code::kNotFound) return;
  control::NodeIdentity kept;
  const Status taken = !bytes                          ? tl::make_unexpected(bytes.error())
                       : !kept.ParseFromString(*bytes) ? Status(DataLoss("the file is damaged"))
                                                       : Hold(std::move(kept));
  if (taken) return;
  spdlog::warn("{}: the stored certificate for peers cannot be used: {}", options_.file.string(),
               taken.error().message);
}

std::optional<std::string> NodeIdentity::RequestIfDue() {
  const std::lock_guard lock(mutex_);
  if (!IsAskingDue()) return std::nullopt;
  auto request = tls::MakeRequest();
  if (!request) {
    spdlog::error("cannot create a request for a certificate: {}", request.error().message);
    return std::nullopt;
  }
  request_ = std::move(*request);
  requested_at_ = timer_.Now();
  return request_.request;
}

bool NodeIdentity::IsAskingDue() {
  const MonotonicPoint now = timer_.Now();
  if (requested_at_ && now - *requested_at_ < options_.ask_again) return false;
  if (!shown_) return true;
  if (checked_at_ && now - *checked_at_ < options_.check_every) return false;
  checked_at_ = now;
  const std::string authorities_trusted = AuthoritiesTrusted();
  if (authorities_trusted == held_.certificate().authorities()) authorities_at_issue_.clear();
  return IsDue({.validity = validity_,
                .authorities = held_.certificate().authorities(),
                .authorities_trusted = authorities_trusted,
                .authorities_at_issue = authorities_at_issue_},
               clock_.Now());
}

std::string NodeIdentity::AuthoritiesTrusted() const { return ReadFile(options_.ca_file, kFileBytesMax).value_or(""); }

Status NodeIdentity::Take(const control::Certificate& answer) {
  const std::lock_guard lock(mutex_);
  if (!answer.error().empty())
    return FailedPrecondition("the controller refused to sign a certificate: {}", answer.error());
  control::NodeIdentity next;
  next.set_key(request_.key);
  *next.mutable_certificate() = answer;
  const std::string& authorities = held_.certificate().authorities();
  if (authorities != answer.authorities()) next.set_authorities_before(authorities);
  RETURN_IF_ERROR(Hold(std::move(next)));
  request_ = {};
  authorities_at_issue_ = AuthoritiesTrusted();
  Write();
  return {};
}

void NodeIdentity::Write() {
  health_.Report(WriteFileAtomically(options_.file, held_.SerializeAsString(), kOwnerOnly));
}

void NodeIdentity::WriteAgain() {
  const std::lock_guard lock(mutex_);
  Write();
}

Status NodeIdentity::Hold(control::NodeIdentity next) {
  const control::Certificate& certificate = next.certificate();
  auto identity = std::make_shared<PeerIdentity>();
  identity->own = {certificate.certificate(), next.key()};
  identity->authorities = certificate.authorities();
  identity->fleet_name = certificate.fleet_name();
  ASSIGN_OR_RETURN(const tls::Validity validity, tls::ValidityOf(identity->own));
  if (validity.until <= clock_.Now()) return FailedPrecondition("the certificate has expired");
  RETURN_IF_ERROR(CheckUsable(*identity));
  if (!next.authorities_before().empty()) identity->authorities += "\n" + next.authorities_before();
  Show(std::move(identity), !next.authorities_before().empty());
  held_ = std::move(next);
  validity_ = validity;
  return {};
}

void NodeIdentity::Show(std::shared_ptr<const PeerIdentity> next, bool is_of_another_authority) {
  next_ = nullptr;
  const bool shows_a_good_one = shown_ && clock_.Now() < validity_.until && shown_->fleet_name == next->fleet_name;
  if (!is_of_another_authority || !shows_a_good_one) {
    shown_ = std::move(next);
    return;
  }
  PeerIdentity meanwhile = *next;
  meanwhile.own = shown_->own;
  shown_ = std::make_shared<const PeerIdentity>(std::move(meanwhile));
  next_ = std::move(next);
  next_at_ = timer_.Now() + options_.show_after;
}

std::shared_ptr<const PeerIdentity> NodeIdentity::current() {
  const std::lock_guard lock(mutex_);
  if (next_ && timer_.Now() >= next_at_) shown_ = std::exchange(next_, nullptr);
  return shown_;
}

std::optional<TimePoint> NodeIdentity::until() const {
  const std::lock_guard lock(mutex_);
  return shown_ ? std::optional(validity_.until) : std::nullopt;
}

}  // namespace longshore::identity
