// The users that requests come from. A request carries its user's key, by which a keyed assignment chooses the version.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tests/load/arrivals.h"

namespace longshore::load {

struct KeyOptions {
  double share = 0;  // Share of the requests that carry a key, 0..1.
  uint64_t distinct = 10'000;
  bool once = false;  // Sends each key exactly once, in turn, instead of at random; afterwards requests carry no key.
};

// The index of a key: 0 to distinct - 1.
using KeyIndex = uint32_t;
inline constexpr uint64_t kKeysMax = 10'000'000;

// "user-17".
std::string KeyName(KeyIndex key);

class Keys {
 public:
  // Requires: options.distinct in 1..kKeysMax.
  explicit Keys(const KeyOptions& options) : options_(options) {}

  // Draws the key of the next request; nullopt if it carries no key.
  std::optional<KeyIndex> Next(Arrivals& random);

  // Whether `once` is set and all keys were sent.
  bool exhausted() const { return options_.once && next_ >= options_.distinct; }

 private:
  KeyOptions options_;
  uint64_t next_ = 0;
};

}  // namespace longshore::load
