#include "controller/cli/watch/seen.h"

#include <utility>

#include "controller/store/document.h"

namespace longshore::cli::watch {

Seen::Difference Seen::Update(const std::vector<store::Object>& objects) {
  Difference difference;
  std::map<api::Key, std::string> versions;
  for (const store::Object& object : objects) {
    const api::Key key = store::KeyOf(object);
    const auto before = versions_.find(key);
    if (before == versions_.end() || before->second != object.metadata.resource_version)
      difference.changed.push_back(object);
    versions.emplace(key, object.metadata.resource_version);
  }
  for (const auto& [key, version] : versions_) {
    if (!versions.contains(key)) difference.deleted.push_back(key);
  }
  versions_ = std::move(versions);
  return difference;
}

}  // namespace longshore::cli::watch
