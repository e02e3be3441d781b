#include "controller/cli/command/get_or_hint.h"

#include <string>
#include <vector>

namespace longshore::cli::command {
namespace {

constexpr size_t kNamesInHintMax = 10;

// Says that an object of the other kind has the name; "" if none has.
std::string OtherKindText(store::Store& store, const api::Key& key) {
  const bool is_model = key.kind == api::kModelKind;
  const api::Key other{is_model ? api::kServingFleetKind : api::kModelKind, key.namespace_, key.name};
  if (!store.Get(other)) return "";
  return fmt::format(", but {} does: longshore status {}/{}; ", api::ToString(other), is_model ? "fleet" : "model",
                     key.name);
}

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
  const std::string other = OtherKindText(store, key);
  return NotFound("{} does not exist{}{}", api::ToString(key), other.empty() ? "; " : other,
                  names.empty() ? none : "these exist: " + names);
}

}  // namespace longshore::cli::command
