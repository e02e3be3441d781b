#include "serving-node/identity/node_identity.h"

#include <utility>

#include "common/log.h"
#include "common/tls/identity.h"
#include "serving-node/identity/renewal.h"

namespace longshore::identity {
namespace {

constexpr size_t kFileBytesMax = size_t{1} << 20;
constexpr mode_t kOwnerOnly = 0600;

// What both ends of TLS make of it, so that nothing is taken that cannot be used.
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
                       : !kept.ParseFromString(*bytes) ? Status(DataLoss("it is damaged"))
                                                       : Hold(std::move(kept));
  if (taken) return;
  spdlog::warn("{}: the certificate for peers is not used: {}", options_.file.string(), taken.error().message);
}

std::optional<std::string> NodeIdentity::RequestIfDue() {
  const std::lock_guard lock(mutex_);
  if (!IsAskingDue()) return std::nullopt;
  auto request = tls::MakeRequest();
  if (!request) {
    spdlog::error("no request for a certificate: {}", request.error().message);
    return std::nullopt;
  }
  asked_ = std::move(*request);
  asked_at_ = timer_.Now();
  return asked_.request;
}

bool NodeIdentity::IsAskingDue() {
  const MonotonicPoint now = timer_.Now();
  if (asked_at_ && now - *asked_at_ < options_.ask_again) return false;
  if (!shown_) return true;
  if (looked_at_ && now - *looked_at_ < options_.look_every) return false;
  looked_at_ = now;
  const std::string authorities_now = AuthoritiesNow();
  if (authorities_now == held_.certificate().authorities()) authorities_then_.clear();
  return IsDue({.validity = validity_,
                .authorities = held_.certificate().authorities(),
                .authorities_now = authorities_now,
                .authorities_then = authorities_then_},
               clock_.Now());
}

std::string NodeIdentity::AuthoritiesNow() const { return ReadFile(options_.ca_file, kFileBytesMax).value_or(""); }

Status NodeIdentity::Take(const control::Certificate& answer) {
  const std::lock_guard lock(mutex_);
  if (!answer.error().empty()) return FailedPrecondition("the controller gives none: {}", answer.error());
  control::NodeIdentity next;
  next.set_key(asked_.key);
  *next.mutable_certificate() = answer;
  const std::string& authorities = held_.certificate().authorities();
  if (authorities != answer.authorities()) next.set_authorities_before(authorities);
  RETURN_IF_ERROR(Hold(next));
  asked_ = {};
  authorities_then_ = AuthoritiesNow();
  const Status kept = WriteFileAtomically(options_.file, next.SerializeAsString(), kOwnerOnly);
  if (!kept) spdlog::error("the certificate for peers is not kept: {}", kept.error().message);
  return {};
}

Status NodeIdentity::Hold(control::NodeIdentity next) {
  const control::Certificate& certificate = next.certificate();
  auto identity = std::make_shared<PeerIdentity>();
  identity->own = {certificate.certificate(), next.key()};
  identity->authorities = certificate.authorities();
  identity->fleet_name = certificate.fleet_name();
  ASSIGN_OR_RETURN(const tls::Validity validity, tls::ValidityOf(identity->own));
  if (validity.until <= clock_.Now()) return FailedPrecondition("its time is over");
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
