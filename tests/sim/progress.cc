#include "tests/sim/progress.h"

#include <fmt/format.h>

#include <cstdio>

namespace longshore::sim {

Progress::Progress(std::string what, int total) : what_(std::move(what)), total_(total) {
  fmt::print(stderr, "simulating {}\n", what_);
}

void Progress::Add() {
  constexpr std::chrono::seconds kEvery(10);
  const std::lock_guard lock(mutex_);
  ++done_;
  const auto now = std::chrono::steady_clock::now();
  if (now - said_ < kEvery) return;
  said_ = now;
  fmt::print(stderr, "  {}: {} of {}\n", what_, done_, total_);
}

}  // namespace longshore::sim
