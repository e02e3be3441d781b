// What a node that serves nothing keeps of its desired state: what its digest and its reports are made of.
//
// A thousand nodes of one fleet live in one process, each of which hears of the thousand peers: the fleet's part is
// kept once for all that came to the same one, and a part that did not change is not digested again.
//
// Of a model with a candidate it reports evidence, of requests that all take the same short time.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "longshore/control.pb.h"

namespace longshore::bench {

struct FleetPart {
  control::FleetState fleet;
  std::string digest;
};
using FleetPartPtr = std::shared_ptr<const FleetPart>;

// Thread-safe. Outlives nobody: a part lives as long as nodes have it.
class FleetParts {
 public:
  FleetPartPtr Of(const control::FleetState& fleet);
  FleetPartPtr After(const FleetPart& before, const control::PeersChange& change);

 private:
  FleetPartPtr Find(const std::string& key);
  FleetPartPtr Keep(const std::string& key, FleetPartPtr part);

  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<const FleetPart>> known_;  // By digest, and by digest and change before it.
};

// Belongs to one thread at a time. `parts` outlives it.
class FakeState {
 public:
  explicit FakeState(FleetParts& parts) : parts_(parts), fleet_(parts.Of({})) {}

  // False for what is neither kept nor acknowledged.
  bool Apply(const control::FromController& message);

  int64_t epoch() const { return epoch_; }
  int64_t revision() const { return revision_; }
  std::string Digest() const;  // "" before the first message.
  // Everything that it should load is there at once.
  control::Report Report() const;
  // Whether the report says more with time.
  bool has_candidate() const { return candidates_ > 0; }
  // So many requests are answered by each model that has a candidate and has versions here with weight.
  void Answer(int64_t requests);
  std::chrono::milliseconds report_again() const;

 private:
  struct Model {
    std::string digest;
    std::vector<control::VersionReport> loaded;
    bool has_candidate = false;
  };
  void Put(const control::ModelState& state);
  void Remove(const std::string& served_name);
  static Model ModelOf(const control::ModelState& state);

  FleetParts& parts_;
  int64_t epoch_ = 0;
  int64_t revision_ = 0;
  FleetPartPtr fleet_;
  std::map<std::string, Model> models_;
  int candidates_ = 0;
};

}  // namespace longshore::bench
