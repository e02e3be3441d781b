// For tests: replaces operator new by one that can fail and that counts what it gave. A test program that links this
// folder and uses it gets the replacement; the programs that users run never do.
#pragma once

#include <cstddef>
#include <cstdint>

namespace longshore::heap_testing {

// False in builds with a sanitizer, which brings an operator new of its own: then nothing fails and nothing is counted.
#ifdef LONGSHORE_SANITIZER
inline constexpr bool kIsReplaced = false;
#else
inline constexpr bool kIsReplaced = true;
#endif

// While it lives, operator new throws std::bad_alloc on the thread that made it, after `successes` calls that succeed.
// One at a time on each thread.
class FailingNew {
 public:
  explicit FailingNew(int64_t successes = 0);
  ~FailingNew();
  FailingNew(const FailingNew&) = delete;
  FailingNew& operator=(const FailingNew&) = delete;

  // How many calls failed so far.
  int64_t failures() const;
};

// The most bytes that operator new held at once, on all threads, beyond those held when this was made. One at a time.
class PeakBytes {
 public:
  PeakBytes();
  size_t bytes() const;

 private:
  int64_t before_;
};

}  // namespace longshore::heap_testing
