#include "serving-node/routing/home_search.h"

#include <algorithm>
#include <utility>

#include "serving-node/routing/hop.h"

namespace longshore::routing {
namespace {

// Returns true for errors that do not tell whether the home node knows the model: the request did not reach it, was cut
// off, or was refused for another reason.
bool IsInconclusive(Code code) {
  return code == Code::kUnavailable || code == Code::kDeadlineExceeded || code == Code::kCancelled ||
         code == Code::kResourceExhausted || code == Code::kUnauthenticated || code == Code::kPermissionDenied;
}

}  // namespace

// The state of one call of Ask. Not thread-safe: only one thread at a time handles a search.
struct HomeSearch::Search {
  HomeQuestion question;
  ForwardCall call;
  ForwardDone done;
  size_t next = 0;
  bool died_once = false;
};

HomeSearch::HomeSearch(Forwarder& forwarder, metrics::Registry& metrics)
    : forwarder_(forwarder),
      known_(Counter(metrics, "known")),
      unknown_(Counter(metrics, "unknown")),
      unanswered_(Counter(metrics, "unanswered")) {}

metrics::Counter HomeSearch::Counter(metrics::Registry& metrics, const std::string& outcome) {
  return metrics
      .Counters("longshore_home_hops_total",
                "Requests that were forwarded to a home node because this node does not know the model, by whether the "
                "home node knew it.")
      .With({{"outcome", outcome}});
}

// Successive questions begin with different home nodes, in turn, so that the homes share the load.
void HomeSearch::Ask(HomeQuestion question, ForwardCall call, ForwardDone done) {
  auto& homes = question.homes;
  if (!homes.empty()) {
    const size_t first = asked_.fetch_add(1, std::memory_order_relaxed) % homes.size();
    std::ranges::rotate(homes, homes.begin() + static_cast<std::ptrdiff_t>(first));
  }
  call.metadata.emplace_back(kHopHeader, kHopToHome);
  call.metadata.emplace_back(kHopFleetHeader, question.fleet);
  AskNext(std::make_shared<Search>(Search{std::move(question), std::move(call), std::move(done)}));
}

void HomeSearch::AskNext(const std::shared_ptr<Search>& search) {
  const HomeQuestion& question = search->question;
  if (search->next == question.homes.size()) {
    Remember(question.model, false);
    if (!search->died_once) return search->done(tl::make_unexpected(UnknownModel(question.model)));
    return search->done(
        Unavailable("model \"{}\": no reachable home node of the fleet {} knows it", question.model, question.fleet));
  }
  search->call.target = question.homes[search->next++];
  forwarder_.Forward(search->call, [this, search](Result<Pieces> reply) { Answered(search, std::move(reply)); });
}

void HomeSearch::Answered(const std::shared_ptr<Search>& search, Result<Pieces> reply) {
  const Code code = reply ? Code::kOk : reply.error().code;
  const bool died = code == Code::kUnavailable;
  const bool unknown = code == kHopUnknown;
  (IsInconclusive(code) ? unanswered_ : unknown ? unknown_ : known_).Add();
  if (!IsInconclusive(code) && !unknown) Remember(search->question.model, true);
  const bool ask_next = unknown || (died && !search->died_once && !search->call.cancelled.stop_requested());
  if (!ask_next) return search->done(FromPeer(std::move(reply)));
  if (died) {
    search->died_once = true;
    search->call.metadata.emplace_back(kHopDiedHeader, "1");
  }
  AskNext(search);
}

bool HomeSearch::KnownElsewhere(const std::string& model) const {
  const std::lock_guard lock(mutex_);
  return names_.contains(model);
}

void HomeSearch::Remember(const std::string& model, bool known) {
  const std::lock_guard lock(mutex_);
  if (!known) {
    names_.erase(model);
    return;
  }
  if (names_.size() >= kNamesMax && !names_.contains(model)) names_.clear();
  names_.insert(model);
}

}  // namespace longshore::routing
