#include "serving-node/config/model_config.h"

#include <algorithm>
#include <set>

namespace longshore::config {
namespace {

using models::ModelSource;
using models::VersionPolicy;
using tensorflow::serving::ModelConfig;

Status CheckPlatform(const ModelConfig& model) {
  if (model.model_type() == tensorflow::serving::OTHER) {
    return InvalidArgument("model \"{}\": model_type OTHER is not supported: only TensorFlow models are served",
                           model.name());
  }
  if (model.model_platform().empty() && model.model_type() == tensorflow::serving::MODEL_TYPE_UNSPECIFIED) {
    return InvalidArgument("model \"{}\": model_platform is missing: write model_platform: \"tensorflow\"",
                           model.name());
  }
  if (model.model_platform().empty() || model.model_platform() == "tensorflow") return {};
  return InvalidArgument("model \"{}\": model_platform \"{}\" is not supported: only \"tensorflow\" is", model.name(),
                         model.model_platform());
}

Result<VersionPolicy> ToPolicy(const ModelConfig& model) {
  const auto& policy = model.model_version_policy();
  if (policy.has_all()) return VersionPolicy{.kind = VersionPolicy::Kind::kAll};
  if (policy.has_specific()) {
    const auto& versions = policy.specific().versions();
    if (versions.empty())
      return InvalidArgument("model \"{}\": the version policy \"specific\" names no version", model.name());
    for (const int64_t version : versions) {
      if (version < 0) return InvalidArgument("model \"{}\": version {} is negative", model.name(), version);
    }
    return VersionPolicy{
        .kind = VersionPolicy::Kind::kSpecific, .latest = 0, .specific = {versions.begin(), versions.end()}};
  }
  // Without a policy, or with num_versions 0, the model serves its highest version.
  const auto latest = std::max<uint32_t>(1, policy.latest().num_versions());
  return VersionPolicy{.kind = VersionPolicy::Kind::kLatest,
                       .latest = static_cast<int>(std::min<uint32_t>(latest, 1 << 20))};
}

Result<ModelSource> ToSource(const ModelConfig& model) {
  if (model.name().empty()) return InvalidArgument("the model with base_path \"{}\" has no name", model.base_path());
  RETURN_IF_ERROR(CheckPlatform(model));
  if (model.base_path().empty()) return InvalidArgument("model \"{}\": base_path is missing", model.name());
  if (model.base_path().find("://") != std::string::npos) {
    return InvalidArgument("model \"{}\": base_path \"{}\" is not a directory: mount the bucket and give its path",
                           model.name(), model.base_path());
  }
  if (!model.base_path().starts_with('/')) {
    return InvalidArgument("model \"{}\": base_path \"{}\" is not absolute", model.name(), model.base_path());
  }
  ModelSource source{.name = model.name(), .base_path = model.base_path()};
  ASSIGN_OR_RETURN(source.policy, ToPolicy(model));
  for (const auto& [label, version] : model.version_labels()) {
    if (label.empty()) return InvalidArgument("model \"{}\": a version label has no name", model.name());
    if (version < 0)
      return InvalidArgument("model \"{}\": label \"{}\" points to version {}, which is negative", model.name(), label,
                             version);
    source.labels[label] = version;
  }
  return source;
}

}  // namespace

Result<std::vector<ModelSource>> ToSources(const tensorflow::serving::ModelServerConfig& config) {
  if (config.has_custom_model_config()) {
    return Unimplemented("custom_model_config is not supported: use model_config_list");
  }
  std::vector<ModelSource> sources;
  std::set<std::string> names;
  for (const ModelConfig& model : config.model_config_list().config()) {
    ASSIGN_OR_RETURN(ModelSource source, ToSource(model));
    if (!names.insert(source.name).second) return InvalidArgument("model \"{}\" is configured twice", source.name);
    sources.push_back(std::move(source));
  }
  return sources;
}

}  // namespace longshore::config
