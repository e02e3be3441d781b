#include "common/net/grpc/answer_deadlines.h"

#include <algorithm>
#include <array>

namespace longshore::rpc {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kTickMax{1000};  // The longest time between a call's deadline and its cancellation.
constexpr size_t kCancelledTogether = 64;

milliseconds TickFor(const AnswerTime& time) { return std::clamp(time.grace / 10, milliseconds(1), kTickMax); }

}  // namespace

AnswerDeadlines::AnswerDeadlines(AnswerTime time) : time_(time), clock_(TickFor(time), [this] { CancelLate(); }) {}

// Cancels some of the late calls. Returns false if no other calls are late. Cancels a fixed number at once, so that it
// does not have to allocate memory.
bool AnswerDeadlines::CancelSome() {
  std::array<grpc_call*, kCancelledTogether> late{};
  size_t count = 0;
  {
    const std::lock_guard lock(mutex_);
    const auto now = steady_clock::now();
    for (auto each = answers_.begin(); each != answers_.end() && count < late.size(); ++each) {
      if (each->deadline > now) continue;
      each->deadline = TimePoint::max();
      grpc_call_ref(each->call);
      late[count++] = each->call;
    }
  }
  // The lock is not held here, because cancelling may end the call on this thread, and the end of a call takes the
  // lock.
  for (size_t i = 0; i < count; ++i) {
    grpc_call_cancel(late[i], nullptr);
    grpc_call_unref(late[i]);
  }
  return count == late.size();
}

void AnswerDeadlines::CancelLate() {
  while (CancelSome()) {
  }
}

void AnswerDeadlines::Answer::Begin(grpc_call* call, size_t bytes) noexcept {
  const AnswerTime& time = deadlines_.time_;
  const milliseconds more(bytes * 1000 / std::max<size_t>(1, time.bytes_per_second_min));
  *entry_ = {call, steady_clock::now() + time.grace + more};
  const std::lock_guard lock(deadlines_.mutex_);
  deadlines_.answers_.splice(deadlines_.answers_.end(), own_);
}

AnswerDeadlines::Answer::~Answer() {
  if (!own_.empty()) return;
  const std::lock_guard lock(deadlines_.mutex_);
  own_.splice(own_.end(), deadlines_.answers_, entry_);
}

}  // namespace longshore::rpc
