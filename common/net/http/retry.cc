#include "common/net/http/retry.h"

#include <random>

namespace longshore::http {
namespace {

constexpr int kMsMin = 500;
constexpr int kMsMax = 1500;

}  // namespace

int RetryAfterMs() {
  thread_local std::minstd_rand random{std::random_device{}()};
  return std::uniform_int_distribution<int>(kMsMin, kMsMax)(random);
}

std::string RetryAfterSeconds() { return std::to_string((RetryAfterMs() + 999) / 1000); }

}  // namespace longshore::http
