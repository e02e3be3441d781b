#include "tests/load/keys.h"

namespace longshore::load {

std::string KeyName(KeyIndex key) { return "user-" + std::to_string(key); }

std::optional<KeyIndex> Keys::Next(Arrivals& random) {
  if (options_.share <= 0 || random.NextUniform() >= options_.share) return std::nullopt;
  if (!options_.once) return static_cast<KeyIndex>(random.NextBelow(options_.distinct));
  if (exhausted()) return std::nullopt;
  return static_cast<KeyIndex>(next_++);
}

}  // namespace longshore::load
