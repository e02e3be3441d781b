#include "common/node_contract/state_digest.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include "common/base/error.h"
#include "common/base/sha256.h"

namespace longshore::node_contract {
namespace {

std::string SerializeInOrder(const google::protobuf::MessageLite& message) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    CHECK(message.SerializeToCodedStream(&coded));
  }
  return bytes;
}

}  // namespace

std::string SerializePart(const control::ModelState& model) { return SerializeInOrder(model); }
std::string SerializePart(const control::FleetState& fleet) { return SerializeInOrder(fleet); }

std::string DigestOfPart(std::string_view bytes) {
  const auto digest = Sha256(bytes);
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

StateDigest::StateDigest(int64_t epoch, int64_t revision, std::string_view digest_of_fleet)
    : text_(fmt::format("{}/{}\n", epoch, revision)) {
  text_ += digest_of_fleet;
}

std::string StateDigest::Hex() const { return ToHex(Sha256(text_)); }

std::string DigestOf(const control::DesiredState& state) {
  StateDigest digest(state.epoch(), state.revision(), DigestOfPart(SerializePart(state.fleet())));
  for (const control::ModelState& model : state.models()) digest.Add(DigestOfPart(SerializePart(model)));
  return digest.Hex();
}

}  // namespace longshore::node_contract
