// By which a controller and a node find out whether they speak of the same desired state.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "longshore/control.pb.h"

namespace longshore {

// Of one part of a state: its bytes, serialized with maps in order.
std::string SerializePart(const control::ModelState& model);
std::string SerializePart(const control::FleetState& fleet);

// SHA-256, 32 bytes.
std::string DigestOfPart(std::string_view bytes);

// SHA-256 over "EPOCH/REVISION\n", the digest of the fleet's part and those of the models', in their order: a part that
// did not change is not read again.
class StateDigest {
 public:
  StateDigest(int64_t epoch, int64_t revision, std::string_view digest_of_fleet);
  void Add(std::string_view digest_of_model) { text_ += digest_of_model; }
  std::string Hex() const;

 private:
  std::string text_;
};

// Of a whole state, in hex.
std::string DigestOf(const control::DesiredState& state);

}  // namespace longshore
