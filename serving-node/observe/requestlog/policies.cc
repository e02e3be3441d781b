#include "serving-node/observe/requestlog/policies.h"

namespace longshore::requestlog {
namespace {

using tensorflow::serving::LoggingConfig;

Result<Policy> ToPolicy(const LoggingConfig& config) {
  if (config.has_custom_logging_config()) return Unimplemented("custom_logging_config is not supported");
  const auto& collector = config.log_collector_config();
  if (collector.type() != "file") {
    return InvalidArgument("the log collector \"{}\" is not supported: only \"file\" is", collector.type());
  }
  Policy policy{.prefix = collector.filename_prefix(), .sampling_rate = config.sampling_config().sampling_rate()};
  RETURN_IF_ERROR(Check(policy));
  return policy;
}

}  // namespace

Status Check(const Policy& policy) {
  if (!(policy.sampling_rate >= 0 && policy.sampling_rate <= 1)) {
    return InvalidArgument("the sampling rate {} is not between 0 and 1", policy.sampling_rate);
  }
  if (!policy.prefix.is_absolute() || !policy.prefix.has_filename()) {
    return InvalidArgument("the prefix \"{}\" is not an absolute path such as /folder/name", policy.prefix.string());
  }
  return {};
}

Result<Policies> PoliciesOf(const tensorflow::serving::ModelServerConfig& config) {
  Policies policies;
  for (const auto& model : config.model_config_list().config()) {
    if (!model.has_logging_config()) continue;
    auto policy = ToPolicy(model.logging_config());
    if (!policy) return Prefixed(policy.error(), fmt::format("model \"{}\": logging_config", model.name()));
    policies[model.name()] = std::move(*policy);
  }
  return policies;
}

}  // namespace longshore::requestlog
