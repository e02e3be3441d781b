#include "controller/cli/command/get_or_hint.h"

#include <string>
#include <vector>

namespace longshore::cli::command {
namespace {

constexpr size_t kNamesInHintMax = 10;

}  // namespace

Result<store::Object> GetOrHint(store::Store& store, const api::Key& key) {
  auto object = store.Get(key);
  if (object || object.error().code != Code::kNotFound) return object;
  ASSIGN_OR_RETURN(const store::Listing listing, store.List(key.kind));
  const std::vector<store::Object>& all = listing.objects;
  std::string names;
  for (size_t i = 0; i < all.size() && i < kNamesInHintMax; ++i) {
    names += (i == 0 ? "" : ", ") + all[i].metadata.name + " -n " + all[i].metadata.namespace_;
  }
  if (all.size() > kNamesInHintMax) names += ", ...";
  const std::string none =
      fmt::format("namespace {} has no {}", key.namespace_, key.kind == api::kModelKind ? "models" : "fleets");
  return NotFound("{} does not exist; {}", api::ToString(key), names.empty() ? none : "these exist: " + names);
}

}  // namespace longshore::cli::command
