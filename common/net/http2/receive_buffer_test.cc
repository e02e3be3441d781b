#include "common/net/http2/receive_buffer.h"

#include <gtest/gtest.h>

namespace longshore::http2 {
namespace {

constexpr size_t kUsedBytes = 10000;

TEST(ReceiveBuffer, PinnedBytesAreNotOverwritten) {
  ReceiveBuffers buffers(std::make_shared<http::BytePool>(1000000), 1);
  auto buffer = buffers.Take();
  const char* const pinned = buffer->room().data();
  const auto pin = buffer->Pin();
  buffers.Return(std::move(buffer), kUsedBytes);
  EXPECT_EQ(buffers.Take()->room().data(), pinned + kUsedBytes);
}

TEST(ReceiveBuffer, AnUnusedBufferReturnsItsMemory) {
  const auto pool = std::make_shared<http::BytePool>(ReceiveBuffer::kBytes);
  ReceiveBuffers buffers(pool, 1);
  auto buffer = buffers.Take();
  auto first = buffer->Pin();
  auto second = buffer->Pin();
  EXPECT_NE(second, nullptr);
  buffers.Return(std::move(buffer), kUsedBytes);
  first.reset();
  EXPECT_EQ(pool->taken(), ReceiveBuffer::kBytes);
  second.reset();
  EXPECT_EQ(pool->taken(), 0);
  EXPECT_NE(buffers.Take()->Pin(), nullptr);
}

TEST(ReceiveBuffer, WithoutMemoryPartsAreCopied) {
  ReceiveBuffers buffers(std::make_shared<http::BytePool>(ReceiveBuffer::kBytes - 1), 1);
  auto buffer = buffers.Take();
  const char* const room = buffer->room().data();
  EXPECT_EQ(buffer->Pin(), nullptr);
  buffers.Return(std::move(buffer), kUsedBytes);
  EXPECT_EQ(buffers.Take()->room().data(), room);
}

}  // namespace
}  // namespace longshore::http2
