#include "controller/kube/list_watch.h"

#include <algorithm>
#include <utility>

#include "common/base/doubled_wait.h"

namespace longshore::kube {

void ListWatch::OnPage(const std::string& resource_version, const std::string& continue_token) {
  if (!continue_token.empty()) {
    next_ = ListPage{continue_token};
    return;
  }
  version_ = resource_version;
  has_progress_ = false;
  next_ = WatchFrom{version_};
}

void ListWatch::OnListFailed(const Failure& failure) {
  // If the token has expired, the list cannot continue and starts from the beginning.
  const auto* page = std::get_if<ListPage>(&next_);
  const bool from_the_start = failure.gone || page == nullptr;
  if (from_the_start) ++lists_;
  StartOrPause(from_the_start ? ListPage{} : *page, failure, true);
}

void ListWatch::OnEvent(const std::string& resource_version) {
  version_ = resource_version;
  has_progress_ = true;
  fruitless_attempts_ = 0;
  next_ = WatchFrom{version_};
}

void ListWatch::OnWatchEnded() { StartOrPause(WatchFrom{version_}, {}, !has_progress_); }

void ListWatch::OnWatchFailed(const Failure& failure) {
  if (!failure.gone) return StartOrPause(WatchFrom{version_}, failure, !has_progress_);
  ++lists_;
  StartOrPause(ListPage{}, failure, !has_progress_);
}

void ListWatch::OnPauseOver() {
  if (auto* pause = std::get_if<Pause>(&next_)) {
    std::visit([this](auto then) { next_ = std::move(then); }, std::variant(pause->then));
  }
}

void ListWatch::StartOrPause(std::variant<ListPage, WatchFrom> move, const Failure& failure, bool is_fruitless) {
  has_progress_ = false;
  if (!is_fruitless && !failure.retry_after) {
    std::visit([this](auto then) { next_ = std::move(then); }, std::move(move));
    return;
  }
  const Duration longest = DoubledWait(kPauseMin, kPauseMax, fruitless_attempts_);
  ++fruitless_attempts_;
  // The pause is a random time from half of `longest` to `longest`.
  const Duration pause(std::uniform_int_distribution<int64_t>(longest.count() / 2, longest.count())(random_));
  next_ = Pause{std::max(pause, failure.retry_after.value_or(Duration(0))), std::move(move)};
}

}  // namespace longshore::kube
