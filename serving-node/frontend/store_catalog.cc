#include "serving-node/frontend/store_catalog.h"

#include <algorithm>

namespace longshore::frontend {

Result<models::Handle> StoreCatalog::Find(const tensorflow::serving::ModelSpec& spec) const {
  if (spec.name().empty()) return InvalidArgument("ModelSpec has no name specified.");
  if (spec.has_version()) return store_.Find(spec.name(), spec.version().value());
  if (!spec.version_label().empty()) return store_.FindLabel(spec.name(), spec.version_label());
  return store_.Find(spec.name());
}

Result<Described> StoreCatalog::Describe(const tensorflow::serving::ModelSpec& spec) const {
  const Result<models::Handle> found = Find(spec);
  if (found) {
    const auto& loaded = (*found)->loaded;
    return Described{.version = (*found)->version, .signatures = {loaded, &loaded->signatures()}};
  }
  const auto names = store_.Names();
  const bool wanted = std::binary_search(names.begin(), names.end(), spec.name());
  const bool any = !spec.has_version() && spec.version_label().empty();
  if (of_fleet_ && found.error().code == Code::kNotFound && wanted && any) {
    return Unavailable("model \"{}\": no version of it is ready on this node", spec.name());
  }
  return tl::make_unexpected(found.error());
}

Result<std::vector<models::VersionStatus>> StoreCatalog::Versions(const std::string& model) const {
  auto versions = store_.Statuses(model);
  const auto has_ended = [](const auto& status) { return status.state == models::State::kEnd; };
  const bool may_be_elsewhere = of_fleet_ && std::ranges::all_of(versions, has_ended);
  if (versions.empty() || may_be_elsewhere) return NotFound("Could not find any versions of model {}", model);
  return versions;
}

}  // namespace longshore::frontend
