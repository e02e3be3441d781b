// The catalogs of a node in a fleet: what it holds itself, and versions and signatures of what only other nodes hold.
#pragma once

#include <functional>
#include <vector>

#include "serving-node/frontend/catalog.h"
#include "serving-node/routing/forwarder.h"
#include "serving-node/routing/router.h"

namespace longshore::frontend {

// For the doors of clients. A holder answers by what it holds itself, a home as HomeCatalog: a question makes one hop,
// or two by way of a home. What it is built with outlives it and its questions.
class FleetCatalog final : public Catalog {
 public:
  static constexpr size_t kPeersAskedMax = 3;  // For one question, while they turn out not to answer.

  FleetCatalog(const Catalog& here, const routing::Router& router, routing::Forwarder& forwarder)
      : here_(here), router_(router), forwarder_(forwarder) {}

  // Without a version stable is described, as requests most likely get it, not the highest version held.
  Result<Described> Describe(const tensorflow::serving::ModelSpec& spec) const override;
  // A version that a peer has ready is available, whatever it is here: this node answers for it.
  Result<std::vector<models::VersionStatus>> Versions(const std::string& model) const override;
  void DescribeElsewhere(const tensorflow::serving::ModelSpec& spec, std::chrono::steady_clock::time_point deadline,
                         const DescribeDone& done) const override;
  void StatusElsewhere(const tensorflow::serving::ModelSpec& spec, std::chrono::steady_clock::time_point deadline,
                       const StatusDone& done) const override;

 private:
  void AskHolders(const tensorflow::serving::ModelSpec& spec, routing::Holders holders,
                  std::chrono::steady_clock::time_point deadline, const DescribeDone& done) const;
  void AskHomes(const tensorflow::serving::ModelSpec& spec, std::chrono::steady_clock::time_point deadline,
                const DescribeDone& done) const;

  const Catalog& here_;
  const routing::Router& router_;
  routing::Forwarder& forwarder_;
};

// For nodes that ask this one as a home: as FleetCatalog, but no other home is asked, and errors are those of
// routing/hop.h. What it is built with outlives it and its questions.
class HomeCatalog final : public Catalog {
 public:
  HomeCatalog(const FleetCatalog& fleet, const routing::Router& router) : fleet_(fleet), router_(router) {}

  Result<Described> Describe(const tensorflow::serving::ModelSpec& spec) const override;
  Result<std::vector<models::VersionStatus>> Versions(const std::string& model) const override;
  void DescribeElsewhere(const tensorflow::serving::ModelSpec& spec, std::chrono::steady_clock::time_point deadline,
                         const DescribeDone& done) const override;
  void StatusElsewhere(const tensorflow::serving::ModelSpec& spec, std::chrono::steady_clock::time_point deadline,
                       const StatusDone& done) const override;

 private:
  const FleetCatalog& fleet_;
  const routing::Router& router_;
};

}  // namespace longshore::frontend
