// The catalog of what this node's ModelStore holds.
#pragma once

#include <vector>

#include "serving-node/frontend/catalog.h"
#include "serving-node/models/model_store.h"

namespace longshore::frontend {

// The store outlives it.
class StoreCatalog final : public Catalog {
 public:
  // of_fleet: a model that is wanted here and has no version ready is Unavailable, as other nodes may have one, and not
  // NotFound as from a node that is alone; and a model that has left this node has no versions, wherever it is now.
  StoreCatalog(const models::ModelStore& store, bool of_fleet) : store_(store), of_fleet_(of_fleet) {}

  Result<Described> Describe(const tensorflow::serving::ModelSpec& spec) const override;
  Result<std::vector<models::VersionStatus>> Versions(const std::string& model) const override;

 private:
  Result<models::Handle> Find(const tensorflow::serving::ModelSpec& spec) const;

  const models::ModelStore& store_;
  const bool of_fleet_;
};

}  // namespace longshore::frontend
