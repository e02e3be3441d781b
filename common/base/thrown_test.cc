#include "common/base/thrown.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "common/heap_testing/heap.h"

namespace longshore {
namespace {

template <typename Exception>
std::string ErrorOf(const Exception& exception) try {
  throw exception;
} catch (...) {
  return ToString(FromThrown("a run of signature \"x\"").value());
}

TEST(Thrown, NamesWhatFailedAndWhy) {
  EXPECT_EQ(ErrorOf(std::bad_alloc()), "RESOURCE_EXHAUSTED: memory does not suffice for a run of signature \"x\"");
  EXPECT_EQ(ErrorOf(std::length_error("too long")), "INTERNAL: a run of signature \"x\": too long");
  EXPECT_EQ(ErrorOf(7), "INTERNAL: a run of signature \"x\": an exception without a message");
}

TEST(Thrown, FormatsWhatFailed) {
  try {
    throw std::bad_alloc();
  } catch (...) {
    EXPECT_EQ(FromThrown("run {} of signature \"{}\"", 7, std::string("x")).value().message,
              "memory does not suffice for run 7 of signature \"x\"");
  }
}

// Formats the message repeatedly: first the first allocation fails, then the second, and so on, until no allocation
// fails.
TEST(Thrown, ReportsAnErrorIfThereIsNoMemoryForItsMessage) {
  if (!heap_testing::kIsReplaced) GTEST_SKIP() << "the sanitizer's operator new cannot be made to fail";
  const std::string name(100, 'x');
  int64_t failures = 1;
  for (int64_t successes = 0; failures > 0; ++successes) {
    Error error;
    try {
      throw std::length_error("too long");
    } catch (...) {
      const heap_testing::FailingNew no_memory(successes);
      error = std::move(FromThrown("a run of signature \"{}\"", name).value());
      failures = no_memory.failures();
    }
    const Error complete{Code::kInternal, "a run of signature \"" + name + "\": too long"};
    const Error of_the_call{Code::kInternal, "the call: too long"};
    const Error out_of_memory{Code::kResourceExhausted, "out of memory"};
    EXPECT_TRUE(failures == 0 ? error == complete : error == out_of_memory || error == of_the_call || error == complete)
        << ToString(error);
    if (successes == 0) {
      EXPECT_EQ(error, out_of_memory);
    }
  }
}

}  // namespace
}  // namespace longshore
