// The catalog of the models in this node's ModelStore.
#pragma once

#include <vector>

#include "serving-node/frontend/catalog.h"
#include "serving-node/models/model_store.h"

namespace longshore::frontend {

// The store must outlive the catalog.
class StoreCatalog final : public Catalog {
 public:
  // If of_fleet, the node is in a fleet (cluster mode). Then a wanted model that has no available version is
  // Unavailable instead of NotFound, because other nodes may have one, and a model that was unloaded has no versions
  // here.
  StoreCatalog(const models::ModelStore& store, bool of_fleet) : store_(store), of_fleet_(of_fleet) {}

  Result<Described> Describe(const tensorflow::serving::ModelSpec& spec) const override;
  Result<std::vector<models::VersionStatus>> Versions(const std::string& model) const override;

 private:
  Result<models::Handle> Find(const tensorflow::serving::ModelSpec& spec) const;

  const models::ModelStore& store_;
  const bool of_fleet_;
};

}  // namespace longshore::frontend
