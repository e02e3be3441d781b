#include "serving-node/batching/refusals.h"

#include <gtest/gtest.h>

namespace longshore::batching {
namespace {

TEST(MayBeCausedByOneRequest, IsTrueForErrorsThatARequestCanCause) {
  for (const Code code :
       {Code::kUnknown, Code::kInvalidArgument, Code::kNotFound, Code::kAlreadyExists, Code::kFailedPrecondition,
        Code::kOutOfRange, Code::kUnimplemented, Code::kInternal, Code::kDataLoss, Code::kResourceExhausted}) {
    EXPECT_TRUE(MayBeCausedByOneRequest({code, ""})) << CodeName(code);
  }
  for (const Code code : {Code::kCancelled, Code::kDeadlineExceeded, Code::kUnavailable, Code::kAborted,
                          Code::kPermissionDenied, Code::kUnauthenticated}) {
    EXPECT_FALSE(MayBeCausedByOneRequest({code, ""})) << CodeName(code);
  }
}

}  // namespace
}  // namespace longshore::batching
