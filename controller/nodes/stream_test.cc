#include "controller/nodes/stream.h"

#include <gtest/gtest.h>

#include "common/heap_testing/heap.h"

namespace longshore::nodes {
namespace {

class Owner final : public StreamOwner {
 private:
  void Received(Stream&, const control::FromNode&) override {}
  void Ended(Stream&) override {}
};

// The lock sends in its destructor, from which no exception may leave.
TEST(NoMemory, AMessageThatCannotBeSentDoesNotEndTheProgram) {
  if (!heap_testing::kIsReplaced) GTEST_SKIP() << "the sanitizer's operator new cannot be made to fail";
  Owner owner;
  const auto call = std::make_shared<grpc_server::Call>(std::make_shared<const grpc_server::Service>(),
                                                        std::make_shared<const http2::Peer>());
  const auto stream = std::make_shared<Stream>(owner, call, std::nullopt, MonotonicPoint());
  control::FromController message;
  message.mutable_change()->set_served_name(std::string(1000, 'm'));
  std::optional<heap_testing::FailingNew> failing;
  {
    const Lock lock(owner);
    stream->Push(std::move(message));
    failing.emplace();
  }
  const int64_t failures = failing->failures();
  failing.reset();
  EXPECT_GT(failures, 0);
}

}  // namespace
}  // namespace longshore::nodes
