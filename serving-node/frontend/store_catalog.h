// The catalog of what this node's ModelStore holds.
#pragma once

#include <vector>

#include "serving-node/frontend/catalog.h"
#include "serving-node/models/model_store.h"

namespace longshore::frontend {

// The store outlives it.
class StoreCatalog final : public Catalog {
 public:
  explicit StoreCatalog(const models::ModelStore& store) : store_(store) {}

  Result<Described> Describe(const tensorflow::serving::ModelSpec& spec) const override;
  Result<std::vector<models::VersionStatus>> Versions(const std::string& model) const override;

 private:
  Result<models::Handle> Find(const tensorflow::serving::ModelSpec& spec) const;

  const models::ModelStore& store_;
};

}  // namespace longshore::frontend
