#include "common/net/grpc_server/message_reader.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/net/http/deflate.h"

namespace longshore::grpc_server {
namespace {

std::string Framed(const std::string& message) {
  const auto prefix = MessagePrefix(message.size());
  return std::string(prefix.data(), prefix.size()) + message;
}

TEST(MessageReader, FindsTheMessagesWhereverTheBodyIsSplit) {
  const std::string large(10000, 'l');
  const auto body = std::make_shared<const std::string>(Framed("") + Framed("ab") + Framed(large));
  for (const size_t step : {1, 2, 6, 4999, 100000}) {
    MessageReader reader;
    std::vector<std::string> messages;
    for (size_t at = 0; at < body->size(); at += step) {
      std::string_view bytes = std::string_view(*body).substr(at, step);
      while (!bytes.empty()) {
        auto message = reader.Take(bytes, body, 10000);
        ASSERT_TRUE(message);
        if (*message) messages.push_back((*message)->bytes.ToString());
      }
    }
    EXPECT_EQ(messages, (std::vector<std::string>{"", "ab", large}));
    EXPECT_TRUE(reader.is_between_messages());
  }
}

TEST(MessageReader, DoesNotCopyLargeParts) {
  const auto body = std::make_shared<const std::string>(Framed(std::string(10000, 'l')));
  std::string_view bytes = *body;
  MessageReader reader;
  const auto message = reader.Take(bytes, body, 10000);
  EXPECT_EQ((*message)->bytes.all().front().bytes.data(), body->data() + 5);
}

TEST(MessageReader, RefusesWrongPrefixes) {
  std::string_view too_large("\0\0\0\1\0", 5);
  EXPECT_EQ(MessageReader().Take(too_large, nullptr, 255).error().code, Code::kResourceExhausted);
  std::string_view flags("\2\0\0\0\0", 5);
  EXPECT_EQ(MessageReader().Take(flags, nullptr, 255).error().code, Code::kInternal);
}

TEST(Decompress, RefusesDamagedMessages) {
  const auto pool = std::make_shared<http::BytePool>(1000);
  EXPECT_EQ(Decompress(Pieces(std::string("abc")), 100, pool).error().code, Code::kInternal);
}

TEST(Decompress, TakesAMessageOfExactlyTheLimitAndCountsItWhileItIsKept) {
  const std::string plain(100, 'a');
  const Pieces compressed(http::Gzip(plain));
  const auto pool = std::make_shared<http::BytePool>(1000);
  {
    const auto message = Decompress(compressed, plain.size(), pool);
    ASSERT_TRUE(message);
    EXPECT_EQ(message->ToString(), plain);
    EXPECT_GE(pool->taken(), plain.size());
  }
  EXPECT_EQ(pool->taken(), 0);
  EXPECT_EQ(Decompress(compressed, 99, pool).error().message, "Received message larger than max (100 vs. 99)");
  const auto small = std::make_shared<http::BytePool>(50);
  EXPECT_EQ(Decompress(compressed, 100, small).error().code, Code::kResourceExhausted);
}

}  // namespace
}  // namespace longshore::grpc_server
