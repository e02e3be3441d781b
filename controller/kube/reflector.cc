#include "controller/kube/reflector.h"

#include <charconv>
#include <utility>

#include "common/json/path.h"
#include "common/os/log.h"

namespace longshore::kube {
namespace {

// The server ends a watch after a random time from half of this to this, so that clients spread over restarted servers.
constexpr int kWatchSeconds = 600;

void DropManagedFields(Json& object) {
  if (const auto metadata = object.find("metadata"); metadata != object.end() && metadata->is_object())
    metadata->erase("managedFields");
}

std::string Query(const Collection& collection) {
  if (collection.label_selector.empty()) return collection.path + "?";
  return collection.path + "?labelSelector=" + http_client::Encode(collection.label_selector) + "&";
}

}  // namespace

uint64_t VersionOf(const Json& object) {
  const std::string text = TextAt(object, {"metadata", "resourceVersion"});
  uint64_t version = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), version);
  return error == std::errc() && end == text.data() + text.size() ? version : 0;
}

Reflector::Reflector(std::unique_ptr<Api> api, Collection collection, const MonotonicClock& clock, Mirror& mirror)
    : api_(std::move(api)),
      collection_(std::move(collection)),
      clock_(clock),
      mirror_(mirror),
      machine_(std::random_device{}()),
      last_answer_at_(clock.Now().time_since_epoch().count()),
      thread_([this] { Run(); }) {}

Reflector::~Reflector() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  stop_.notify_all();
  api_->Cancel();
  thread_.join();
}

void Reflector::Run() {
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
    }
    lists_ = machine_.lists();
    const Move move = machine_.next();
    if (const auto* page = std::get_if<ListPage>(&move)) List(*page);
    if (const auto* from = std::get_if<WatchFrom>(&move)) Watch(*from);
    if (const auto* pause = std::get_if<Pause>(&move)) PauseFor(pause->length);
  }
}

void Reflector::List(const ListPage& page) {
  std::string target = Query(collection_) + "limit=" + std::to_string(collection_.page_size);
  if (!page.continue_token.empty()) target += "&continue=" + http_client::Encode(page.continue_token);
  const auto body = api_->Send({.target = target});
  auto list = body ? ParseJson(*body) : tl::make_unexpected(body.error());
  if (list && (!list->is_object() || !list->contains("items") || !list->at("items").is_array()))
    list = DataLoss("{}: the answer is not a list", collection_.path);
  if (!list) {
    Report(tl::make_unexpected(list.error()));
    return machine_.OnListFailed({.gone = list.error().code == Code::kOutOfRange, .retry_after = {}});
  }
  RecordAnswer();
  Report({});
  if (page.continue_token.empty()) mirror_.BeginList();
  for (Json& object : list->at("items")) {
    DropManagedFields(object);
    mirror_.Put(std::move(object));
  }
  const std::string version = TextAt(*list, {"metadata", "resourceVersion"});
  const std::string token = TextAt(*list, {"metadata", "continue"});
  if (token.empty()) mirror_.EndList(version);
  newest_ = VersionOf(*list);
  machine_.OnPage(version, token);
}

void Reflector::Watch(const WatchFrom& from) {
  const int seconds = std::uniform_int_distribution(kWatchSeconds / 2, kWatchSeconds)(random_);
  const std::string target = fmt::format("{}watch=1&allowWatchBookmarks=true&timeoutSeconds={}&resourceVersion={}",
                                         Query(collection_), seconds, http_client::Encode(from.resource_version));
  std::optional<Refusal> refusal;
  Failure failure;
  const Status ended = api_->Watch(
      target, [&](std::string_view line) { return HandleEvent(line, &failure); }, &refusal);
  if (ended) return machine_.OnWatchEnded();
  if (refusal) failure.retry_after = refusal->retry_after;
  failure.gone = failure.gone || ended.error().code == Code::kOutOfRange;
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
  }
  Report(failure.gone ? Status() : ended);
  machine_.OnWatchFailed(failure);
}

// Handles one line of the watch. An error ends the watch.
Status Reflector::HandleEvent(std::string_view line, Failure* failure) {
  auto event = ParseJson(line);
  if (!event || !event->is_object() || !event->contains("object") || !event->at("object").is_object())
    return DataLoss("{}: a line of the watch is not an event", collection_.path);
  RecordAnswer();
  const Json type = event->value("type", Json());
  Json& object = event->at("object");
  if (type == "ERROR") {
    constexpr int kGone = 410;
    failure->gone = object.value("code", Json()) == kGone;
    return Unavailable("{}: the watch ended with the error {}", collection_.path, DumpJson(object));
  }
  ++events_;
  const uint64_t version = VersionOf(object);
  if (version != 0 && version <= newest_ && type != "BOOKMARK") {
    ++replayed_;  // A server that was restored to an older state repeats events, and may report outdated ones.
    return {};
  }
  newest_ = std::max(newest_, version);
  Report({});
  machine_.OnEvent(TextAt(object, {"metadata", "resourceVersion"}));
  if (type == "BOOKMARK") return {};
  DropManagedFields(object);
  if (type == "DELETED") {
    mirror_.Delete(object);
  } else {
    mirror_.Put(std::move(object));
  }
  return {};
}

// Logs only the first failure and the recovery, not each attempt.
void Reflector::Report(const Status& result) {
  const std::string error = result ? "" : result.error().message;
  if (error_.empty() && !error.empty()) spdlog::warn("cannot read {}: {}", collection_.path, error);
  if (!error_.empty() && error.empty()) spdlog::info("can read {} again", collection_.path);
  error_ = error;
  mirror_.SetResult(result);
}

void Reflector::PauseFor(Duration length) {
  std::unique_lock lock(mutex_);
  stop_.wait_for(lock, length, [this] { return stopping_; });
  machine_.OnPauseOver();
}

}  // namespace longshore::kube
