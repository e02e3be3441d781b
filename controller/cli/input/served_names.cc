#include "controller/cli/input/served_names.h"

#include <fmt/format.h>

namespace longshore::cli::input {

api::Key FleetOfModel(const api::Key& model, const api::ModelSpec& spec) {
  api::Metadata metadata;
  metadata.namespace_ = model.namespace_;
  return api::FleetKey(api::FleetOf(metadata, spec));
}

std::string ServedNames::Add(const api::Key& model, const api::ModelSpec& spec, const std::string& place) {
  const std::pair name(FleetOfModel(model, spec), spec.served_name);
  const auto [owner, is_new] = first_.emplace(name, Owner{model, place});
  if (is_new || owner->second.model == model) return "";
  return fmt::format("the name \"{}\" is also that of {}{}; on one fleet each Model needs its own servedName",
                     spec.served_name, api::ToString(owner->second.model), owner->second.place);
}

}  // namespace longshore::cli::input
