// The catalogs of a node in a fleet. They include the versions and signatures of models that only other nodes hold.
#pragma once

#include <functional>
#include <vector>

#include "serving-node/frontend/catalog.h"
#include "serving-node/routing/forwarder.h"
#include "serving-node/routing/router.h"

namespace longshore::frontend {

// The catalog for the listeners that clients use. If this node does not hold the model, asks another node: one that
// holds it answers from its own store, and a home node answers from its HomeCatalog. So a query makes one hop, or two
// hops through a home node. The constructor's arguments must outlive the catalog and its pending queries.
class FleetCatalog final : public Catalog {
 public:
  static constexpr size_t kPeersAskedMax = 3;  // The number of peers that are asked for one query, one after the other.

  FleetCatalog(const Catalog& here, const routing::Router& router, routing::Forwarder& forwarder)
      : here_(here), router_(router), forwarder_(forwarder) {}

  // If the spec names no version, describes the stable version, which requests most likely get, rather than the highest
  // version that this node holds.
  Result<Described> Describe(const tensorflow::serving::ModelSpec& spec) const override;
  Result<Described> DescribeSimilar(const tensorflow::serving::ModelSpec& spec) const override;
  // A version that is ready on a peer is reported as available, whatever its state on this node, because this node
  // forwards requests for it.
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

// The catalog for nodes that query this node as a home node. It is like FleetCatalog, but it asks no other home node,
// and it returns the errors that routing/hop.h defines. The constructor's arguments must outlive the catalog and its
// pending queries.
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
