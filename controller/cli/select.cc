#include "controller/cli/select.h"

#include <algorithm>

namespace longshore::cli {
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
  return NotFound("{} does not exist; {}", api::ToString(key),
                  names.empty() ? "no objects of this kind exist" : "these exist: " + names);
}

Result<store::Listing> Select(const Options& options, const std::string& kind, store::Store& store) {
  if (!options.name.empty()) {
    ASSIGN_OR_RETURN(const store::Object object, GetOrHint(store, {kind, options.namespace_, options.name}));
    return store::Listing{{object}, {}};
  }
  ASSIGN_OR_RETURN(store::Listing listing, store.List(kind));
  if (!options.all_namespaces) {
    std::erase_if(listing.objects,
                  [&](const store::Object& object) { return object.metadata.namespace_ != options.namespace_; });
    std::erase_if(listing.unreadable,
                  [&](const store::Unreadable& object) { return object.key.namespace_ != options.namespace_; });
  }
  return listing;
}

Status CheckReadable(const store::Listing& listing) {
  if (listing.unreadable.empty()) return {};
  std::string all;
  for (const store::Unreadable& object : listing.unreadable) {
    all += fmt::format("{}{}: {}", all.empty() ? "" : "\n", ToString(object.key), object.why);
  }
  return DataLoss("some objects cannot be read:\n{}", all);
}

}  // namespace longshore::cli
