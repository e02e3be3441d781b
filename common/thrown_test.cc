#include "common/thrown.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace longshore {
namespace {

template <typename Exception>
std::string ErrorOf(const Exception& exception) try {
  throw exception;
} catch (...) {
  return ToString(FromThrown("a run of signature \"x\"").value());
}

TEST(Thrown, SaysWhatAndWhy) {
  EXPECT_EQ(ErrorOf(std::bad_alloc()), "RESOURCE_EXHAUSTED: memory does not suffice for a run of signature \"x\"");
  EXPECT_EQ(ErrorOf(std::length_error("too long")), "INTERNAL: a run of signature \"x\": too long");
  EXPECT_EQ(ErrorOf(7), "INTERNAL: a run of signature \"x\": an exception without a text");
}

}  // namespace
}  // namespace longshore
