// For tests: replaces operator new with one that can fail and that counts the allocated bytes. Only test programs link
// this folder.
#pragma once

#include <cstddef>
#include <cstdint>

namespace longshore::heap_testing {

// False in builds with a sanitizer, which has its own operator new. In such builds no call fails and no bytes are
// counted.
#ifdef LONGSHORE_SANITIZER
inline constexpr bool kIsReplaced = false;
#else
inline constexpr bool kIsReplaced = true;
#endif

// During its lifetime, operator new throws std::bad_alloc on the thread that created it, after `successes` successful
// calls. A thread may have only one FailingNew at a time.
class FailingNew {
 public:
  explicit FailingNew(int64_t successes = 0);
  ~FailingNew();
  FailingNew(const FailingNew&) = delete;
  FailingNew& operator=(const FailingNew&) = delete;

  // The number of calls that have failed so far.
  int64_t failures() const;
};

// The peak of the bytes that operator new has allocated on all threads, minus those that were allocated when this
// object was constructed. Only one may exist at a time.
class PeakBytes {
 public:
  PeakBytes();
  size_t bytes() const;

 private:
  int64_t before_;
};

}  // namespace longshore::heap_testing
