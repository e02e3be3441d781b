#include "serving-node/routing/router.h"

#include <algorithm>
#include <atomic>
#include <mutex>

#include "common/os/log.h"
#include "serving-node/evidence/pairs.h"
#include "serving-node/models/model_store.h"
#include "serving-node/routing/answer.h"
#include "serving-node/routing/balance.h"
#include "serving-node/routing/execution.h"
#include "serving-node/routing/home_search.h"
#include "serving-node/routing/hop.h"
#include "serving-node/routing/priority.h"
#include "serving-node/routing/rules_problem.h"

namespace longshore::routing {
namespace {

using std::chrono::steady_clock;

// The largest number of peers to which a request for one version is forwarded, one after the other, if they turn out
// not to hold the version any more.
constexpr size_t kPeersTriedMax = 3;

void AnswerPeer(const RequestPtr& request) {
  request->done = [done = std::move(request->done)](Result<PredictAnswer> answer) { done(ToPeer(std::move(answer))); };
}

// Counts the time of a request that was answered without an error, if its model has a latency objective.
void CountForModel(const std::weak_ptr<Request>& asked, const Result<PredictAnswer>& answer, Duration took) {
  const auto request = asked.lock();
  const bool counts = answer && request && request->model != nullptr && request->model->times != nullptr;
  if (counts) request->model->times->Count(took);
}

// Warns once of each set of match rules that do not work on this node.
void WarnOfRules(const RoutingTable& table, const RoutingTable* before, const Identities& identities) {
  for (const auto& [name, model] : table.models()) {
    const ModelRoutes* old = before == nullptr ? nullptr : before->Find(name);
    if (old != nullptr && old->rules == model.rules) continue;
    if (const auto problem = ProblemOf(model, identities))
      spdlog::warn("model \"{}\": {}{}", name, ForLog(problem->message()),
                   model.rules->refused() ? "; all its requests get the stable version" : "");
  }
}

}  // namespace

struct Router::Shared {
  Shared(RouterDeps the_deps, RouterOptions the_options)
      : deps(the_deps),
        options(std::move(the_options)),
        execution(deps),
        forwarded(deps.metrics.Counters("longshore_forwarded_total",
                                        "Requests forwarded to a peer, because it holds the version or has less "
                                        "load.")),
        spilled(deps.metrics
                    .Counters("longshore_spilled_total", "Requests forwarded to a peer only because it has less load.")
                    .With({})),
        balance(deps.admission, deps.forwarder),
        home_search(deps.forwarder, deps.metrics) {}

  // Waits until every request is finished and its evidence has been counted. Pairs use `execution`.
  ~Shared() {
    for (int64_t left = *requests; left > 0; left = *requests) requests->wait(left);
    deps.pairs.Clear();
  }

  std::shared_ptr<void> Enter() const {
    requests->fetch_add(1);
    return {nullptr, [count = requests](void*) {
              if (count->fetch_sub(1) == 1) count->notify_all();
            }};
  }

  std::shared_ptr<const RoutingTable> table() const {
    const std::lock_guard lock(mutex);
    return current;
  }

  void Start(const RequestPtr& request);
  void StartHop(const RequestPtr& request);
  void StartAsHome(const RequestPtr& request, bool died_once);
  void StartAsHolder(const RequestPtr& request, const Hop& hop);
  void AskHomes(const RequestPtr& request);
  void Route(const RequestPtr& request);
  Status Identify(const RequestPtr& request) const;
  void StartStandalone(const RequestPtr& request);
  void Dispatch(const RequestPtr& request);
  void AvoidJournalWait(const RequestPtr& request) const;
  bool Spill(const RequestPtr& request);
  bool ForwardToHolder(const RequestPtr& request);
  void Forward(const RequestPtr& request, const std::string& peer);
  void Forwarded(const RequestPtr& request, Result<Pieces> reply);
  void FallBack(const RequestPtr& request);
  Error NotHere(const std::string& servable) const;

  // The number of requests in flight. Each request shares the counter, because the last one may still notify it after
  // this object has been destroyed.
  const std::shared_ptr<std::atomic<int64_t>> requests = std::make_shared<std::atomic<int64_t>>(0);
  RouterDeps deps;
  RouterOptions options;
  Execution execution;
  metrics::Family<metrics::Counter> forwarded;
  metrics::Counter spilled;
  Balance balance;
  HomeSearch home_search;
  std::mutex build_mutex;  // Held while a table is built, so that only one thread builds one.
  RoutingTable::Reused reused;
  std::atomic<bool> leaving = false;
  mutable std::mutex mutex;  // Guards `current`. Held only while the pointer is copied.
  std::shared_ptr<const RoutingTable> current;
};

Router::Router(RouterDeps deps, RouterOptions options) : shared_(std::make_unique<Shared>(deps, std::move(options))) {}

Router::~Router() = default;

void Router::SetState(std::shared_ptr<const control::DesiredState> state) {
  const std::lock_guard building(shared_->build_mutex);
  auto table = RoutingTable::Build(*state, shared_->options.node, shared_->deps.guards, shared_->deps.recorder,
                                   &shared_->reused);
  const auto before = shared_->table();
  WarnOfRules(*table, before.get(), shared_->deps.identities);
  const std::lock_guard lock(shared_->mutex);
  shared_->current.swap(table);
}

void Router::SetLeaving() { shared_->leaving = true; }

void Router::Predict(PredictCall call, PredictDone done) {
  if (auto spec = CheckModelSpec(call.request); !spec) return done(tl::make_unexpected(spec.error()));
  const auto priority = PriorityOf(call);
  if (!priority) return done(tl::make_unexpected(priority.error()));
  auto request = std::make_shared<Request>();
  request->call = std::move(call);
  request->priority = *priority;
  request->table = shared_->table();
  request->under_way = shared_->Enter();
  if (request->call.protocol == Protocol::kPeer) {
    request->done = std::move(done);
    return shared_->StartHop(request);
  }
  evidence::Recorder& recorder = shared_->deps.recorder;
  recorder.CountReceived();
  request->done = [&recorder, done = std::move(done), arrival = steady_clock::now(),
                   asked = std::weak_ptr<Request>(request)](Result<PredictAnswer> answer) {
    const Duration took = std::chrono::duration_cast<Duration>(steady_clock::now() - arrival);
    recorder.CountAnswered(took);
    CountForModel(asked, answer, took);
    done(std::move(answer));
  };
  request->table ? shared_->Start(request) : shared_->StartStandalone(request);
}

void Router::Shared::StartStandalone(const RequestPtr& request) {
  const auto& spec = request->call.request.model_spec();
  auto ready = spec.has_version()              ? deps.store.Find(spec.name(), spec.version().value())
               : !spec.version_label().empty() ? deps.store.FindLabel(spec.name(), spec.version_label())
                                               : deps.store.Find(spec.name());
  if (!ready) return request->done(tl::make_unexpected(std::move(ready.error())));
  request->choice = {(*ready)->version, nullptr, true};
  execution.Run(request, *ready);
}

void Router::Shared::Start(const RequestPtr& request) {
  request->model = request->table->Find(request->model_name());
  request->model == nullptr ? AskHomes(request) : Route(request);
}

void Router::Shared::Route(const RequestPtr& request) {
  if (request->model->rules->need_caller()) {
    if (Status known = Identify(request); !known) return request->done(tl::make_unexpected(std::move(known.error())));
  }
  auto choice = Choose(*request->model, request->call);
  if (!choice) return request->done(tl::make_unexpected(std::move(choice.error())));
  request->choice = *choice;
  Dispatch(request);
}

// Finds out which client sent the request. A request of a peer has the identity that the peer found out. Returns an
// error if the token was valid when the listener admitted the request, but is not any more: without an identity, the
// request would not match the rules that are about this client.
Status Router::Shared::Identify(const RequestPtr& request) const {
  if (request->call.protocol == Protocol::kPeer || !deps.identities.identify) return {};
  const auto authorization = HeaderValue(request->call.headers, "authorization");
  if (!authorization) return {};
  ASSIGN_OR_RETURN(request->call.caller, deps.identities.identify(*authorization));
  return {};
}

// The error for a model or version that the desired state lacks.
Error Router::Shared::NotHere(const std::string& servable) const {
  if (leaving) return {Code::kUnavailable, fmt::format("this node is shutting down and does not have {}", servable)};
  return {Code::kNotFound, "Servable not found for request: " + servable};
}

// Forwards the request to a home node of its model. If no home node knows the model, the model does not exist, and the
// request gets NotFound with TensorFlow Serving's text.
void Router::Shared::AskHomes(const RequestPtr& request) {
  const std::string& model = request->model_name();
  HomeQuestion question{model, request->table->fleet(), request->table->peers().HomesOf(model)};
  if (Status known = Identify(request); !known) return request->done(tl::make_unexpected(std::move(known.error())));
  if (!question.homes.empty()) deps.recorder.CountForwarded();
  home_search.Ask(std::move(question), HomeCall(*request), [this, request](Result<Pieces> reply) {
    const auto& spec = request->call.request.model_spec();
    if (reply) return request->done(AnswerOf(spec, std::move(*reply)));
    const bool unknown = reply.error().code == kHopUnknown;
    request->done(
        tl::make_unexpected(unknown ? NotHere(fmt::format("Latest({})", spec.name())) : std::move(reply.error())));
  });
}

void Router::Shared::StartHop(const RequestPtr& request) {
  const auto hop = ParseHop(request->call);
  if (!hop) return request->done(tl::make_unexpected(hop.error()));
  // After NOT_FOUND, the sender of a hop to a holder tries another holder. In reply to a hop to a home, NOT_FOUND would
  // reach the client and wrongly mean that the model does not exist.
  const Code no_peer = hop->to_home ? Code::kUnavailable : Code::kNotFound;
  if (!request->table) return request->done(Fail(no_peer, "this node has not received its desired state yet"));
  if (request->table->fleet() != hop->fleet)
    return request->done(Fail(no_peer, "this node does not belong to the fleet {}", hop->fleet));
  request->model = request->table->Find(request->model_name());
  hop->to_home ? StartAsHome(request, hop->died_once) : StartAsHolder(request, *hop);
}

// Handles the request as if the client had sent it to this node.
void Router::Shared::StartAsHome(const RequestPtr& request, bool died_once) {
  if (request->model == nullptr) return request->done(tl::make_unexpected(UnknownModel(request->model_name())));
  auto client = ClientOf(request->call);
  if (!client) return request->done(tl::make_unexpected(std::move(client.error())));
  request->call.headers = std::move(client->headers);
  request->call.caller = std::move(client->caller);
  request->died_once = died_once;
  AnswerPeer(request);
  // The node that received the request from the client does not know the model, so it does not count the request in the
  // model's metrics. This node counts it.
  request->done = [done = std::move(request->done), arrival = steady_clock::now(),
                   asked = std::weak_ptr<Request>(request)](Result<PredictAnswer> answer) {
    CountForModel(asked, answer, std::chrono::duration_cast<Duration>(steady_clock::now() - arrival));
    done(std::move(answer));
  };
  Route(request);
}

// The sender chose the version; this node runs exactly that version or returns an error.
void Router::Shared::StartAsHolder(const RequestPtr& request, const Hop& hop) {
  const Entry* entry = request->model == nullptr ? nullptr : request->model->Find(hop.version);
  request->choice = {.version = hop.version, .entry = entry, .pinned = hop.pinned, .matched = hop.matched};
  if (entry != nullptr && entry->bins && entry->bins->salt() == hop.salt) request->choice.bin = hop.bin;
  auto ready = deps.store.Find(request->model_name(), hop.version);
  if (!ready) return request->done(tl::make_unexpected(std::move(ready.error())));
  if (!hop.pinned && entry != nullptr && entry->tripped()) {
    return request->done(NotFound("model \"{}\" version {}: its guard tripped", request->model_name(), hop.version));
  }
  AnswerPeer(request);
  execution.Run(request, *ready);
}

void Router::Shared::Dispatch(const RequestPtr& request) {
  AvoidJournalWait(request);
  const auto ready = deps.store.Find(request->model_name(), request->choice.version);
  if (!ready) return ForwardToHolder(request) ? void() : FallBack(request);
  if (!Spill(request)) execution.Run(request, *ready);
}

// While the journal entry of a candidate's first run is being written, a request that named no version goes to stable
// if this node holds it.
void Router::Shared::AvoidJournalWait(const RequestPtr& request) const {
  const Entry* stable = request->model->stable();
  Choice& choice = request->choice;
  if (stable == nullptr || choice.pinned || choice.entry == nullptr || !choice.entry->being_noted()) return;
  if (deps.store.Find(request->model_name(), stable->version)) choice.MoveTo(*stable);
}

// Forwards the request to a less loaded peer if it would wait too long in the queue here: longer than half of the
// latency objective or, if the model has none, longer than queue_delay_max. Returns false if it must run here.
bool Router::Shared::Spill(const RequestPtr& request) {
  const Entry* entry = request->choice.entry;
  if (entry == nullptr || !request->tried.empty()) return false;
  const auto slo = request->model->slo;
  const auto peer = balance.SpillTarget(entry->peers, slo.count() > 0 ? Duration(slo) / 2 : options.queue_delay_max);
  if (!peer) return false;
  spilled.Add();
  Forward(request, *peer);
  return true;
}

bool Router::Shared::ForwardToHolder(const RequestPtr& request) {
  if (request->choice.entry == nullptr || request->tried.size() >= kPeersTriedMax) return false;
  std::vector<std::string> peers = request->choice.entry->peers;
  std::erase_if(peers, [&](const std::string& peer) { return std::ranges::count(request->tried, peer) > 0; });
  if (peers.empty()) return false;
  Forward(request, balance.LessLoaded(peers));
  return true;
}

void Router::Shared::Forward(const RequestPtr& request, const std::string& peer) {
  deps.recorder.CountForwarded();
  forwarded.With({{"model", request->model_name()}, {"version", std::to_string(request->choice.version)}}).Add();
  request->tried.push_back(peer);
  deps.forwarder.Forward(HopCall(*request, request->choice, peer),
                         [this, request](Result<Pieces> reply) { Forwarded(request, std::move(reply)); });
}

void Router::Shared::Forwarded(const RequestPtr& request, Result<Pieces> reply) {
  if (reply) return request->done(AnswerOf(request->call.request.model_spec(), std::move(*reply)));
  const bool died = reply.error().code == Code::kUnavailable;
  const bool full = reply.error().code == kHopFull;
  reply = FromPeer(std::move(reply));
  const bool elsewhere = full || reply.error().code == Code::kNotFound || (died && !request->died_once);
  if (!elsewhere) return request->done(tl::make_unexpected(std::move(reply.error())));
  request->died_once |= died;
  const auto ready = deps.store.Find(request->model_name(), request->choice.version);
  const bool usable = request->choice.pinned || request->choice.entry == nullptr || !request->choice.entry->tripped();
  if (ready && usable) return execution.Run(request, *ready);
  if (usable && ForwardToHolder(request)) return;
  // If the last holder is full, its error is the answer: falling back would move the load of this version to stable.
  full ? request->done(tl::make_unexpected(std::move(reply.error()))) : FallBack(request);
}

// Called if no reachable node has the version ready. A request that did not name the version goes to stable; any other
// gets an error.
void Router::Shared::FallBack(const RequestPtr& request) {
  const int64_t version = request->choice.version;
  const Entry* stable = request->model->stable();
  if (!request->choice.pinned && stable != nullptr && stable->version != version) {
    request->choice.MoveTo(*stable);
    request->tried.clear();
    return Dispatch(request);
  }
  if (request->choice.entry == nullptr) {
    return request->done(tl::make_unexpected(NotHere(fmt::format("Specific({}, {})", request->model_name(), version))));
  }
  request->done(Unavailable("model \"{}\" version {}: no node of the fleet {} has it ready", request->model_name(),
                            version, request->table->fleet()));
}

int32_t Router::AppliedWeight(const std::string& model, int64_t version) const {
  const auto table = shared_->table();
  const ModelRoutes* routes = table ? table->Find(model) : nullptr;
  return routes == nullptr ? 0 : routes->AppliedWeight(version);
}

std::vector<control::RulesReport> Router::RulesProblems() const {
  std::vector<control::RulesReport> problems;
  const auto table = shared_->table();
  if (!table) return problems;
  for (const auto& [_, model] : table->models()) {
    if (auto problem = ProblemOf(model, shared_->deps.identities)) problems.push_back(std::move(*problem));
  }
  return problems;
}

std::optional<Holders> Router::HoldersOf(const tensorflow::serving::ModelSpec& spec) const {
  const auto table = shared_->table();
  const ModelRoutes* model = table ? table->Find(spec.name()) : nullptr;
  if (model == nullptr) return std::nullopt;
  const auto label = model->labels.find(spec.version_label());
  const Entry* entry = spec.has_version()             ? model->Find(spec.version().value())
                       : spec.version_label().empty() ? model->stable()
                       : label != model->labels.end() ? model->Find(label->second)
                                                      : nullptr;
  if (entry == nullptr) return std::nullopt;
  return Holders{entry->version, entry->peers};
}

std::vector<int64_t> Router::VersionsAtPeers(const std::string& name) const {
  std::vector<int64_t> versions;
  const auto table = shared_->table();
  const ModelRoutes* model = table ? table->Find(name) : nullptr;
  if (model == nullptr) return versions;
  for (const Entry& entry : model->entries) {
    if (!entry.peers.empty()) versions.push_back(entry.version);
  }
  return versions;
}

bool Router::Knows(const std::string& model) const {
  const auto table = shared_->table();
  return table && table->Find(model) != nullptr;
}

std::vector<std::string> Router::Models() const {
  const auto table = shared_->table();
  std::vector<std::string> names;
  if (!table) return names;
  for (const auto& [name, unused] : table->models()) names.push_back(name);
  return names;
}

bool Router::KnownElsewhere(const std::string& model) const { return shared_->home_search.KnownElsewhere(model); }

void Router::AskHomes(const std::string& model, ForwardCall call, ForwardDone done) const {
  const auto table = shared_->table();
  HomeQuestion question{model, "", {}};
  if (table) question = {model, table->fleet(), table->peers().HomesOf(model)};
  shared_->home_search.Ask(std::move(question), std::move(call), std::move(done));
}

void Router::TripIfControllerSilent(Duration since_heard) {
  const auto table = shared_->table();
  if (!table) return;
  const int64_t silent_ms = since_heard.count() / 1000;
  for (const auto& [name, model] : table->models()) {
    for (const Entry& entry : model.entries) {
      const int64_t silence_max_ms = entry.guard.controller_silence_max_ms();
      if (entry.role != control::CANDIDATE || entry.applied_weight() == 0 || silence_max_ms == 0) continue;
      if (entry.guard.paused()) continue;
      if (silent_ms <= silence_max_ms) continue;
      shared_->deps.guards.TripNow(*entry.arm->guard, "ControllerSilent",
                                   fmt::format("no message from a controller for {} ms", silent_ms),
                                   shared_->deps.clock.Now());
    }
  }
}

}  // namespace longshore::routing
