#include "tests/bench/control/fake_state.h"

#include <algorithm>
#include <utility>

#include "common/base/error.h"
#include "common/node_contract/peers_change.h"
#include "common/node_contract/state_digest.h"

namespace longshore::bench::control {
namespace {

constexpr size_t kKnownMax = 1000;  // Above this number, parts that no node has any more are removed.
constexpr std::chrono::milliseconds kReportAgain{1000};
constexpr int kRunTimeBucket = 80;  // The bucket of (891 us, 972 us], see Evidence.run_time_buckets.
constexpr double kRunTimeUs = 930;
constexpr int64_t kAllWeight = 10'000;

FleetPartPtr PartOf(longshore::control::FleetState fleet) {
  auto part = std::make_shared<FleetPart>();
  part->fleet = std::move(fleet);
  part->digest = node_contract::DigestOfPart(node_contract::SerializePart(part->fleet));
  return part;
}

}  // namespace

FleetPartPtr FleetParts::Find(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto found = known_.find(key);
  return found == known_.end() ? nullptr : found->second.lock();
}

// Stores the part under the key. If another thread has stored one in the meantime, returns that one.
FleetPartPtr FleetParts::Keep(const std::string& key, FleetPartPtr part) {
  const std::lock_guard lock(mutex_);
  if (known_.size() >= kKnownMax) std::erase_if(known_, [](const auto& entry) { return entry.second.expired(); });
  auto& known = known_[key];
  if (auto there = known.lock()) return there;
  known = part;
  return part;
}

FleetPartPtr FleetParts::Of(const longshore::control::FleetState& fleet) {
  const std::string digest = node_contract::DigestOfPart(node_contract::SerializePart(fleet));
  const auto known = Find(digest);
  return known ? known : Keep(digest, PartOf(fleet));
}

FleetPartPtr FleetParts::After(const FleetPart& before, const longshore::control::PeersChange& change) {
  const std::string key = before.digest + node_contract::DigestOfPart(change.SerializeAsString());
  if (auto known = Find(key)) return known;
  longshore::control::FleetState fleet = before.fleet;
  CHECK(node_contract::ApplyPeers(change, &fleet));
  FleetPartPtr part = PartOf(std::move(fleet));
  return Keep(key, Keep(part->digest, part));
}

FakeState::Model FakeState::ModelOf(const longshore::control::ModelState& state) const {
  Model model{.digest = node_contract::DigestOfPart(node_contract::SerializePart(state)), .loaded = {}};
  for (const longshore::control::VersionState& version : state.versions()) {
    model.has_candidate = model.has_candidate || version.role() == longshore::control::CANDIDATE;
    if (!version.load()) continue;
    longshore::control::VersionReport& said = model.loaded.emplace_back();
    said.set_served_name(state.served_name());
    said.set_version(version.version());
    said.set_state(longshore::control::VersionReport::READY);
    said.set_digest(version.digest().empty() ? digest_of_files_ : version.digest());
    said.set_weight_bp(version.weight_bp());
  }
  return model;
}

// Replaces the model's state and keeps the evidence of the versions that remain.
void FakeState::Put(const longshore::control::ModelState& state) {
  Model model = ModelOf(state);
  Model& known = models_[state.served_name()];
  for (const longshore::control::VersionReport& before : known.loaded) {
    const auto has_weight = [&](const longshore::control::VersionReport& now) {
      return now.version() == before.version() && now.weight_bp() > 0;
    };
    if (before.weight_bp() > 0 && std::ranges::none_of(model.loaded, has_weight))
      left_.push_back({state.served_name(), before.version()});
  }
  for (longshore::control::VersionReport& version : model.loaded) {
    for (longshore::control::VersionReport& before : known.loaded) {
      if (before.version() == version.version() && before.has_evidence())
        version.mutable_evidence()->Swap(before.mutable_evidence());
    }
  }
  candidates_ += (model.has_candidate ? 1 : 0) - (known.has_candidate ? 1 : 0);
  known = std::move(model);
}

void FakeState::Remove(const std::string& served_name) {
  const auto known = models_.extract(served_name);
  if (known && known.mapped().has_candidate) --candidates_;
}

void FakeState::Answer(int64_t requests) {
  for (auto& [_, model] : models_) {
    if (!model.has_candidate) continue;
    for (longshore::control::VersionReport& version : model.loaded) {
      const int64_t its = requests * version.weight_bp() / kAllWeight;
      if (its == 0) continue;
      longshore::control::Evidence& evidence = *version.mutable_evidence();
      evidence.set_requests(evidence.requests() + its);
      evidence.mutable_run_time_buckets()->Resize(kRunTimeBucket + 1, 0);
      evidence.set_run_time_buckets(kRunTimeBucket, evidence.requests());
      evidence.set_run_time_sum_us(static_cast<double>(evidence.requests()) * kRunTimeUs);
    }
  }
}

bool FakeState::Apply(const longshore::control::FromController& message) {
  switch (message.message_case()) {
    case longshore::control::FromController::kSnapshot:
      fleet_ = parts_.Of(message.snapshot().state().fleet());
      models_.clear();
      candidates_ = 0;
      for (const auto& model : message.snapshot().state().models()) Put(model);
      break;
    case longshore::control::FromController::kChange:
      if (message.change().has_model()) {
        Put(message.change().model());
      } else {
        Remove(message.change().served_name());
      }
      break;
    case longshore::control::FromController::kFleet: fleet_ = parts_.Of(message.fleet()); break;
    case longshore::control::FromController::kPeers: fleet_ = parts_.After(*fleet_, message.peers()); break;
    case longshore::control::FromController::kDrain: return true;
    case longshore::control::FromController::kHeartbeat:
    case longshore::control::FromController::kCertificate:
    case longshore::control::FromController::kMoveConnections:
    case longshore::control::FromController::MESSAGE_NOT_SET: return false;
  }
  epoch_ = message.epoch();
  revision_ = message.revision();
  return true;
}

std::string FakeState::Digest() const {
  if (epoch_ == 0) return "";
  node_contract::StateDigest digest(epoch_, revision_, fleet_->digest);
  for (const auto& [name, model] : models_) digest.Add(model.digest);
  return digest.Hex();
}

longshore::control::Report FakeState::Report() const {
  longshore::control::Report report;
  report.set_epoch(epoch_);
  report.set_revision(revision_);
  for (const auto& [name, model] : models_) report.mutable_versions()->Add(model.loaded.begin(), model.loaded.end());
  return report;
}

std::chrono::milliseconds FakeState::report_again() const {
  const int64_t wanted_ms = fleet_->fleet.report_again_ms();
  return wanted_ms > 0 ? std::chrono::milliseconds(wanted_ms) : kReportAgain;
}

}  // namespace longshore::bench::control
