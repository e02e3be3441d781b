#include "common/net/grpc/bytes.h"

#include <memory>
#include <utility>
#include <vector>

namespace longshore::rpc {
namespace {

using ::grpc::Slice;

void Add(Slice slice, Pieces* pieces) {
  const auto owner = std::make_shared<const Slice>(std::move(slice));
  pieces->Add({reinterpret_cast<const char*>(owner->begin()), owner->size()}, owner);
}

// Returns a slice that refers to the piece. gRPC copies the bytes of a small slice into the slice itself.
Slice ToSlice(const Pieces::Piece& piece) {
  if (piece.bytes.size() < PiecesBuilder::kReferredBytesMin) return Slice(piece.bytes.data(), piece.bytes.size());
  using Owner = std::shared_ptr<const void>;
  const auto release = [](void* owner) { delete static_cast<Owner*>(owner); };
  return Slice(const_cast<char*>(piece.bytes.data()), piece.bytes.size(), release, new Owner(piece.owner));
}

}  // namespace

Pieces ToPieces(const ::grpc::ByteBuffer& buffer) {
  Pieces pieces;
  if (!buffer.Valid()) return pieces;
  if (Slice all; buffer.TrySingleSlice(&all).ok()) {
    Add(std::move(all), &pieces);
    return pieces;
  }
  std::vector<Slice> slices;
  if (!buffer.Dump(&slices).ok()) return pieces;
  for (Slice& slice : slices) Add(std::move(slice), &pieces);
  return pieces;
}

::grpc::ByteBuffer ToByteBuffer(const Pieces& bytes) {
  std::vector<Slice> slices;
  slices.reserve(bytes.all().size());
  for (const Pieces::Piece& piece : bytes.all()) slices.push_back(ToSlice(piece));
  return ::grpc::ByteBuffer(slices.data(), slices.size());
}

}  // namespace longshore::rpc
