#include "serving-node/frontend/fleet_catalog.h"

#include <algorithm>
#include <string>
#include <utility>

#include "common/binary_proto/binary_proto.h"
#include "serving-node/routing/hop.h"

namespace longshore::frontend {
namespace {

constexpr const char* kMetadataMethod = "/tensorflow.serving.PredictionService/GetModelMetadata";
constexpr const char* kStatusMethod = "/tensorflow.serving.ModelService/GetModelStatus";
constexpr const char* kField = "signature_def";

// A query that is sent to one peer after the other until one of them answers.
struct Query {
  routing::Forwarder& forwarder;
  routing::ForwardCall call;
  std::string model;
  routing::Holders holders;
  DescribeDone done;
};

Result<Described> Read(const Pieces& bytes) {
  tensorflow::serving::GetModelMetadataResponse response;
  tensorflow::serving::SignatureDefMap map;
  if (!ParseBinaryProto(bytes, &response) || !response.metadata().contains(kField) ||
      !response.metadata().at(kField).UnpackTo(&map)) {
    return Internal("the answer of a peer is not a GetModelMetadataResponse with signatures");
  }
  return Described{.version = response.model_spec().version().value(),
                   .signatures = std::make_shared<const Signatures>(std::move(*map.mutable_signature_def()))};
}

routing::ForwardCall MetadataCall(const tensorflow::serving::ModelSpec& spec,
                                  std::chrono::steady_clock::time_point deadline) {
  tensorflow::serving::GetModelMetadataRequest request;
  *request.mutable_model_spec() = spec;
  request.add_metadata_field(kField);
  routing::ForwardCall call;
  call.method = kMetadataMethod;
  call.serialized = Pieces(request.SerializeAsString());
  call.deadline = deadline;
  return call;
}

void AskNext(const std::shared_ptr<Query>& query) {
  auto& peers = query->holders.peers;
  if (peers.empty()) {
    return query->done(Unavailable(
        "model \"{}\" version {}: no node of the fleet that has it ready answered a query for its signatures",
        query->model, query->holders.version));
  }
  query->call.target = peers.back();
  peers.pop_back();
  query->forwarder.Forward(query->call, [query](const Result<Pieces>& reply) {
    const bool other_may_know =
        !reply && (reply.error().code == Code::kUnavailable || reply.error().code == Code::kNotFound);
    if (other_may_know) return AskNext(query);
    query->done(reply ? Read(*reply) : tl::make_unexpected(reply.error()));
  });
}

}  // namespace

Result<Described> FleetCatalog::Describe(const tensorflow::serving::ModelSpec& spec) const {
  const auto holders = spec.has_version() ? std::nullopt : router_.HoldersOf(spec);
  if (!holders) return here_.Describe(spec);
  tensorflow::serving::ModelSpec exact;
  exact.set_name(spec.name());
  exact.mutable_version()->set_value(holders->version);
  return here_.Describe(exact);
}

Result<Described> FleetCatalog::DescribeSimilar(const tensorflow::serving::ModelSpec& spec) const {
  auto exact = Describe(spec);
  if (exact || !router_.HoldersOf(spec)) return exact;
  tensorflow::serving::ModelSpec any;
  any.set_name(spec.name());
  auto other = Describe(any);
  return other ? other : exact;
}

Result<std::vector<models::VersionStatus>> FleetCatalog::Versions(const std::string& model) const {
  auto here = here_.Versions(model);
  const std::vector<int64_t> elsewhere = router_.VersionsAtPeers(model);
  if (elsewhere.empty()) return here;
  std::vector<models::VersionStatus> all = here ? std::move(*here) : std::vector<models::VersionStatus>();
  for (const int64_t version : elsewhere) {
    std::erase_if(all, [version](const auto& status) { return status.version == version; });
    all.push_back({.version = version,
                   .state = models::State::kAvailable,
                   .error = {Code::kOk, ""},
                   .memory_bytes = 0,
                   .digest = "",
                   .base_path = {}});
  }
  std::ranges::sort(all, std::greater<>(), &models::VersionStatus::version);
  return all;
}

void FleetCatalog::DescribeElsewhere(const tensorflow::serving::ModelSpec& spec,
                                     std::chrono::steady_clock::time_point deadline, const DescribeDone& done) const {
  auto holders = router_.HoldersOf(spec);
  if (holders) return AskHolders(spec, std::move(*holders), deadline, done);
  router_.Knows(spec.name()) ? done(here_.Describe(spec)) : AskHomes(spec, deadline, done);
}

void FleetCatalog::AskHolders(const tensorflow::serving::ModelSpec& spec, routing::Holders holders,
                              std::chrono::steady_clock::time_point deadline, const DescribeDone& done) const {
  holders.peers.resize(std::min(holders.peers.size(), kPeersAskedMax));
  tensorflow::serving::ModelSpec exact;
  exact.set_name(spec.name());
  exact.mutable_version()->set_value(holders.version);
  AskNext(
      std::make_shared<Query>(Query{forwarder_, MetadataCall(exact, deadline), spec.name(), std::move(holders), done}));
}

void FleetCatalog::AskHomes(const tensorflow::serving::ModelSpec& spec, std::chrono::steady_clock::time_point deadline,
                            const DescribeDone& done) const {
  router_.AskHomes(spec.name(), MetadataCall(spec, deadline), [this, spec, done](const Result<Pieces>& reply) {
    if (reply) return done(Read(*reply));
    const bool unknown = reply.error().code == routing::kHopUnknown;
    done(unknown ? here_.Describe(spec) : tl::make_unexpected(reply.error()));
  });
}

void FleetCatalog::StatusElsewhere(const tensorflow::serving::ModelSpec& spec,
                                   std::chrono::steady_clock::time_point deadline, const StatusDone& done) const {
  if (router_.Knows(spec.name())) return Catalog::StatusElsewhere(spec, deadline, done);
  tensorflow::serving::GetModelStatusRequest request;
  *request.mutable_model_spec() = spec;
  routing::ForwardCall call;
  call.method = kStatusMethod;
  call.serialized = Pieces(request.SerializeAsString());
  call.deadline = deadline;
  router_.AskHomes(spec.name(), std::move(call), [this, spec, deadline, done](const Result<Pieces>& reply) {
    tensorflow::serving::GetModelStatusResponse response;
    if (reply && !ParseBinaryProto(*reply, &response))
      return done(Internal("the answer of a peer is not a GetModelStatusResponse"));
    if (reply) return done(std::move(response));
    if (reply.error().code == routing::kHopUnknown) return Catalog::StatusElsewhere(spec, deadline, done);
    done(tl::make_unexpected(reply.error()));
  });
}

Result<Described> HomeCatalog::Describe(const tensorflow::serving::ModelSpec& spec) const {
  return fleet_.Describe(spec);
}

Result<std::vector<models::VersionStatus>> HomeCatalog::Versions(const std::string& model) const {
  return fleet_.Versions(model);
}

void HomeCatalog::DescribeElsewhere(const tensorflow::serving::ModelSpec& spec,
                                    std::chrono::steady_clock::time_point deadline, const DescribeDone& done) const {
  if (!router_.Knows(spec.name())) return done(tl::make_unexpected(routing::UnknownModel(spec.name())));
  fleet_.DescribeElsewhere(spec, deadline,
                           [done](Result<Described> found) { done(routing::ToPeer(std::move(found))); });
}

void HomeCatalog::StatusElsewhere(const tensorflow::serving::ModelSpec& spec,
                                  std::chrono::steady_clock::time_point deadline, const StatusDone& done) const {
  if (!router_.Knows(spec.name())) return done(tl::make_unexpected(routing::UnknownModel(spec.name())));
  fleet_.StatusElsewhere(spec, deadline, done);
}

}  // namespace longshore::frontend
