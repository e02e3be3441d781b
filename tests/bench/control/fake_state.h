// The desired state as a fake node keeps it: only as much as its digest and its reports need.
//
// A thousand nodes of one fleet are in one process, and each gets the list of a thousand peers. Nodes with the same
// list share one copy, and a list that did not change is not digested again.
//
// For a model with a candidate the node reports evidence of requests that all take the same short time.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "longshore/control.pb.h"

namespace longshore::bench::control {

struct FleetPart {
  longshore::control::FleetState fleet;
  std::string digest;
};
using FleetPartPtr = std::shared_ptr<const FleetPart>;

// Thread-safe. A part exists as long as a node holds it, and may outlive this object.
class FleetParts {
 public:
  FleetPartPtr Of(const longshore::control::FleetState& fleet);
  FleetPartPtr After(const FleetPart& before, const longshore::control::PeersChange& change);

 private:
  FleetPartPtr Find(const std::string& key);
  FleetPartPtr Keep(const std::string& key, FleetPartPtr part);

  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<const FleetPart>>
      // A key is either the digest of the part, or the digest of the part before a change and that of the change.
      known_;
};

// The digest that a fake node reports for the files of a version if the desired state has none.
inline constexpr const char* kFakeDigest = "0000000000000000000000000000000000000000000000000000000000000000";

// A version that had a weight before a message and has none after it.
struct LeftVersion {
  std::string served_name;
  int64_t version = 0;

  auto operator<=>(const LeftVersion&) const = default;
};

// Used by one thread at a time. `parts` must outlive this object.
class FakeState {
 public:
  explicit FakeState(FleetParts& parts, std::string digest = kFakeDigest)
      : parts_(parts), digest_of_files_(std::move(digest)), fleet_(parts.Of({})) {}

  // Returns false for a message that changes nothing and must not be acknowledged.
  bool Apply(const longshore::control::FromController& message);
  // Returns the versions that lost their weight by a change of their model since the last call.
  std::vector<LeftVersion> TakeLeft() { return std::exchange(left_, {}); }

  int64_t epoch() const { return epoch_; }
  int64_t revision() const { return revision_; }
  std::string Digest() const;  // "" before the first message.
  // Reports every version that the node should load as loaded.
  longshore::control::Report Report() const;
  // Whether the report changes with time.
  bool has_candidate() const { return candidates_ > 0; }
  // Counts `requests` answers for each model that has a candidate, divided among the versions on this node by weight.
  void Answer(int64_t requests);
  std::chrono::milliseconds report_again() const;

 private:
  struct Model {
    std::string digest;
    std::vector<longshore::control::VersionReport> loaded;
    bool has_candidate = false;
  };
  void Put(const longshore::control::ModelState& state);
  void Remove(const std::string& served_name);
  Model ModelOf(const longshore::control::ModelState& state) const;

  FleetParts& parts_;
  const std::string digest_of_files_;
  int64_t epoch_ = 0;
  int64_t revision_ = 0;
  FleetPartPtr fleet_;
  std::map<std::string, Model> models_;
  int candidates_ = 0;
  std::vector<LeftVersion> left_;
};

}  // namespace longshore::bench::control
