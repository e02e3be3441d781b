#include "controller/kube/list_watch.h"

#include <algorithm>
#include <utility>

namespace longshore::kube {

void ListWatch::OnPage(const std::string& resource_version, const std::string& continue_token) {
  if (!continue_token.empty()) {
    next_ = ListPage{continue_token};
    return;
  }
  version_ = resource_version;
  heard_ = false;
  next_ = WatchFrom{version_};
}

void ListWatch::OnListFailed(const Failure& failure) {
  // A token that is gone ends this list: what it would go on from is no longer there.
  const auto* page = std::get_if<ListPage>(&next_);
  const bool from_the_start = failure.gone || page == nullptr;
  if (from_the_start) ++lists_;
  Begin(from_the_start ? ListPage{} : *page, failure, true);
}

void ListWatch::OnEvent(const std::string& resource_version) {
  version_ = resource_version;
  heard_ = true;
  vain_ = 0;
  next_ = WatchFrom{version_};
}

void ListWatch::OnWatchEnded() { Begin(WatchFrom{version_}, {}, !heard_); }

void ListWatch::OnWatchFailed(const Failure& failure) {
  if (!failure.gone) return Begin(WatchFrom{version_}, failure, !heard_);
  ++lists_;
  Begin(ListPage{}, failure, !heard_);
}

void ListWatch::OnPauseOver() {
  if (auto* pause = std::get_if<Pause>(&next_)) {
    std::visit([this](auto then) { next_ = std::move(then); }, std::variant(pause->then));
  }
}

void ListWatch::Begin(std::variant<ListPage, WatchFrom> move, const Failure& failure, bool in_vain) {
  heard_ = false;
  if (!in_vain && !failure.retry_after) {
    std::visit([this](auto then) { next_ = std::move(then); }, std::move(move));
    return;
  }
  const Duration longest = std::min(kPauseMax, kPauseMin * (int64_t{1} << std::min(vain_, 20)));
  ++vain_;
  // Half of it is left to chance.
  const Duration pause(std::uniform_int_distribution<int64_t>(longest.count() / 2, longest.count())(random_));
  next_ = Pause{std::max(pause, failure.retry_after.value_or(Duration(0))), std::move(move)};
}

}  // namespace longshore::kube
