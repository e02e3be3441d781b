#include "common/net/grpc/bytes.h"

#include <grpcpp/impl/codegen/slice.h>
#include <gtest/gtest.h>

#include <array>

namespace longshore::rpc {
namespace {

TEST(Bytes, AreTheSlicesInTheirOrder) {
  const std::array slices = {::grpc::Slice("one "), ::grpc::Slice("two")};
  EXPECT_EQ(ToPieces(::grpc::ByteBuffer(slices.data(), slices.size())).ToString(), "one two");
  EXPECT_EQ(ToPieces(ToByteBuffer(Pieces(std::string("a\0b", 3)))).ToString(), std::string("a\0b", 3));
}

TEST(Bytes, AreEmptyForABufferWithoutAMessage) { EXPECT_TRUE(ToPieces(::grpc::ByteBuffer()).empty()); }

TEST(Bytes, OfALargePieceAreNotCopiedAndStayAliveInTheBuffer) {
  auto large = std::make_shared<const std::string>(PiecesBuilder::kReferredBytesMin, 'l');
  Pieces pieces("head");
  pieces.Add(*large, large);
  ::grpc::ByteBuffer buffer = ToByteBuffer(pieces);
  pieces = {};
  EXPECT_EQ(large.use_count(), 2);
  EXPECT_EQ(ToPieces(buffer).all().at(1).bytes.data(), large->data());
  buffer.Clear();
  EXPECT_EQ(large.use_count(), 1);
}

}  // namespace
}  // namespace longshore::rpc
