#include "controller/store/kube/old_kinds.h"

#include <fmt/ranges.h>

#include "common/json/json.h"
#include "common/os/log.h"
#include "controller/api/apply_crds.h"

namespace longshore::store::kube {
namespace {

constexpr size_t kFieldsNamedMax = 5;

// Returns the fields of `wanted` that `stored` lacks: "acceptedCommands". Looks into objects, but not into lists, whose
// order the server may change.
void AddDropped(const Json& wanted, const Json& stored, const std::string& path, std::set<std::string>& dropped) {
  for (const auto& [name, value] : wanted.items()) {
    if (value.is_null()) continue;  // Means that the field is absent.
    if (!stored.contains(name)) {
      dropped.insert(path + name);
    } else if (value.is_object() && stored.at(name).is_object()) {
      AddDropped(value, stored.at(name), path + name + ".", dropped);
    }
  }
}

}  // namespace

Result<Object> OldKinds::PutStatus(const api::Key& key, const std::string& uid, const std::string& resource_version,
                                   const Json& status) {
  bool is_written = false;
  {
    const std::lock_guard lock(mutex_);
    const auto found = written_.find(key);
    is_written = found != written_.end() && found->second.resource_version == resource_version &&
                 clock_.Now() - found->second.at < kPause && found->second.status == DumpJson(status);
  }
  if (is_written) return Get(key);
  auto stored = ForwardingStore::PutStatus(key, uid, resource_version, status);
  if (stored) {
    Note(key, status, *stored);
  } else if (stored.error().code == Code::kNotFound) {
    Forget(key);
  }
  return stored;
}

Result<Object> OldKinds::Get(const api::Key& key) {
  auto object = ForwardingStore::Get(key);
  if (!object && object.error().code == Code::kNotFound) Forget(key);
  return object;
}

void OldKinds::Forget(const api::Key& key) {
  const std::lock_guard lock(mutex_);
  written_.erase(key);
}

void OldKinds::Note(const api::Key& key, const Json& wanted, const Object& stored) {
  std::set<std::string> dropped;
  if (wanted.is_object())
    AddDropped(wanted, stored.status.is_object() ? stored.status : Json::object(), key.kind + " status.", dropped);
  const std::lock_guard lock(mutex_);
  written_.erase(key);
  if (dropped.empty()) return;
  written_[key] = {stored.metadata.resource_version, DumpJson(wanted), std::move(dropped), clock_.Now()};
  if (!is_logged_) spdlog::warn("{}", MessageLocked());
  is_logged_ = true;
}

std::string OldKinds::problem() const {
  const std::lock_guard lock(mutex_);
  return written_.empty() ? "" : MessageLocked();
}

std::string OldKinds::MessageLocked() const {
  std::set<std::string> all;
  for (const auto& [_, written] : written_) all.insert(written.dropped.begin(), written.dropped.end());
  const std::string more = all.size() > kFieldsNamedMax ? ", ..." : "";
  while (all.size() > kFieldsNamedMax) all.erase(std::prev(all.end()));
  return fmt::format("the CRDs are older than the controller, so the API server drops fields of statuses ({}{}): {}",
                     fmt::join(all, ", "), more, api::kApplyCrds);
}

}  // namespace longshore::store::kube
