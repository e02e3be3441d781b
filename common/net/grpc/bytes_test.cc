#include "common/net/grpc/bytes.h"

#include <grpcpp/impl/codegen/slice.h>
#include <gtest/gtest.h>

#include <array>

namespace longshore::rpc {
namespace {

TEST(Bytes, AreJoinedFromSeveralSlicesInOrder) {
  const std::array slices = {::grpc::Slice("one "), ::grpc::Slice("two")};
  EXPECT_EQ(ToBytes(::grpc::ByteBuffer(slices.data(), slices.size())), "one two");
  EXPECT_EQ(ToBytes(ToByteBuffer(std::string_view("a\0b", 3))), std::string("a\0b", 3));
}

TEST(Bytes, AreEmptyForABufferWithoutAMessage) { EXPECT_EQ(ToBytes(::grpc::ByteBuffer()), ""); }

}  // namespace
}  // namespace longshore::rpc
