// A digest with which a controller and a node find out whether they have the same desired state.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "longshore/control.pb.h"

namespace longshore::node_contract {

// Serializes one part of a state. The entries of maps are sorted, so that equal parts have equal bytes.
std::string SerializePart(const control::ModelState& model);
std::string SerializePart(const control::FleetState& fleet);

// The SHA-256 of a serialized part, 32 bytes.
std::string DigestOfPart(std::string_view bytes);

// The digest of a state: the SHA-256 of the text "EPOCH/REVISION\n" followed by the digest of the fleet's part and the
// digests of the models' parts, in the order of the models. The digests of unchanged parts can be reused.
class StateDigest {
 public:
  StateDigest(int64_t epoch, int64_t revision, std::string_view digest_of_fleet);
  void Add(std::string_view digest_of_model) { text_ += digest_of_model; }
  std::string Hex() const;

 private:
  std::string text_;
};

// The digest of a whole state, in hex.
std::string DigestOf(const control::DesiredState& state);

}  // namespace longshore::node_contract
