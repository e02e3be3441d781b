#include "serving-node/routing/table.h"

#include <algorithm>

#include "common/base/lower_case.h"

namespace longshore::routing {
namespace {

// Returns the key (the value of a header or a cookie) by which all requests of a client are assigned to the same
// version; nullopt if the request has none.
std::optional<std::string_view> KeyOf(const control::Assignment& assignment, const PredictCall& call) {
  switch (assignment.by()) {
    case control::Assignment::HEADER: return HeaderValue(call.headers, assignment.key());
    case control::Assignment::COOKIE: {
      const auto header = HeaderValue(call.headers, "cookie");
      return header ? CookieValue(*header, assignment.key()) : std::nullopt;
    }
    default: return std::nullopt;
  }
}

// A controller of release 0.1 sets only drift_sample.
PairPolicy PairPolicyOf(const control::Validation& validation) {
  PairPolicy policy;
  policy.only_candidates = validation.pair_share() <= 0 && validation.drift_sample() > 0;
  if (policy.only_candidates) policy.share = validation.drift_sample();
  if (validation.pair_share() > 0) policy.share = validation.pair_share();
  if (validation.pair_budget() > 0) policy.budget = validation.pair_budget();
  policy.share = std::min(policy.share, 1.0);
  policy.budget = std::min(policy.budget, 1.0);
  policy.rules = evidence::RulesOf(validation);
  policy.keep_worst = static_cast<size_t>(std::max(validation.keep_worst(), 0));
  return policy;
}

std::shared_ptr<Arm> NewArm(const GuardKey& key, GuardBook& guards, evidence::Recorder& recorder) {
  auto arm = std::make_shared<Arm>();
  arm->guard = guards.For(key);
  arm->counters = recorder.For(key.model, key.version);
  return arm;
}

std::string SourceOf(const control::ModelState& model) {
  std::string source;
  for (const control::Route& route : model.routes()) source += route.SerializeAsString() + '\n';
  return source;
}

// If a model has a rule that cannot be compiled, all its requests go to stable (Rules::AllToStable), and other models
// are not affected.
CompiledRules CompileRules(const control::ModelState& model, const CompiledRules& before) {
  std::string source = SourceOf(model);
  if (before.rules && before.source == source) return before;
  auto rules = Rules::Compile(model);
  if (!rules) rules = Rules::AllToStable(rules.error().message);
  return {std::move(source), std::make_shared<const Rules>(std::move(*rules))};
}

// The version to which the first match rule that applies sends the call; null if there is none.
const Entry* TargetOfRules(const ModelRoutes& model, const PredictCall& call) {
  for (const Rule& rule : model.rules->rules()) {
    const Entry* target = rule.to == control::CANDIDATE ? model.candidate() : model.stable();
    if (target != nullptr && !target->tripped() && rule.Matches(call)) return target;
  }
  return nullptr;
}

// The salt whose bins are counted for the versions of the model; "" if none are. Bins tell the versions of a rollout
// apart, so they are counted while there is a candidate, also before it gets a weight.
std::string SaltOfBins(const control::ModelState& model) {
  const auto by = model.assignment().by();
  const bool keyed = by == control::Assignment::HEADER || by == control::Assignment::COOKIE;
  const bool rollout = std::ranges::count(model.versions(), control::CANDIDATE, &control::VersionState::role) > 0;
  return keyed && rollout ? model.assignment().salt() : "";
}

}  // namespace

const Entry* ModelRoutes::Find(int64_t version) const {
  const auto found = std::ranges::find(entries, version, &Entry::version);
  return found == entries.end() ? nullptr : &*found;
}

const Entry* ModelRoutes::stable() const {
  return entries.empty() || entries.back().role != control::STABLE ? nullptr : &entries.back();
}

const Entry* ModelRoutes::candidate() const {
  const auto found = std::ranges::find(entries, control::CANDIDATE, &Entry::role);
  return found == entries.end() ? nullptr : &*found;
}

const Entry* ModelRoutes::Assign(uint32_t bucket) const {
  int32_t end = 0;
  int32_t wanted = 0;
  for (const Entry& entry : entries) {
    wanted += entry.weight_bp;
    end += entry.applied_weight();
    if (static_cast<int32_t>(bucket) < end) return &entry;
  }
  // The buckets of a tripped candidate go to stable. Without a stable version the candidate still answers: its answer
  // is better than an error.
  if (wanted == 0) return nullptr;
  return stable() != nullptr ? stable() : &entries.front();
}

int32_t ModelRoutes::AppliedWeight(int64_t version) const {
  if (rules->refused() && stable() != nullptr) return stable()->version == version ? static_cast<int32_t>(kBuckets) : 0;
  int32_t applied = 0;
  int32_t taken_away = 0;
  for (const Entry& entry : entries) {
    if (entry.version == version) applied = entry.applied_weight();
    taken_away += entry.weight_bp - entry.applied_weight();
  }
  return stable() != nullptr && stable()->version == version ? applied + taken_away : applied;
}

std::shared_ptr<const RoutingTable> RoutingTable::Build(const control::DesiredState& state, const std::string& node,
                                                        GuardBook& guards, evidence::Recorder& recorder,
                                                        Reused* reused) {
  auto table = std::make_shared<RoutingTable>();
  Reused next;
  std::vector<GuardKey> keys;
  table->fleet_ = state.fleet().fleet();
  table->peers_ = Peers(state.fleet(), node);
  for (const control::ModelState& from : state.models()) {
    ModelRoutes& model = table->models_[from.served_name()];
    model.name = from.served_name();
    model.labels.insert(from.labels().begin(), from.labels().end());
    model.assignment = from.assignment();
    if (model.assignment.by() == control::Assignment::HEADER)
      model.assignment.set_key(LowerCase(from.assignment().key()));
    model.slo = std::chrono::milliseconds(from.slo_latency_ms());
    if (from.slo_latency_ms() > 0) model.times = recorder.TimesOf(model.name);
    model.pairs = PairPolicyOf(from.validation());
    auto& sequence = next.sequences[model.name] = reused->sequences[model.name];
    if (!sequence) sequence = std::make_shared<std::atomic<uint64_t>>(0);
    model.sequence = sequence;
    model.rules = (next.rules[model.name] = CompileRules(from, reused->rules[model.name])).rules;
    const std::string salt_of_bins = SaltOfBins(from);
    for (const control::VersionState& version : from.versions()) {
      const GuardKey key{model.name, version.version(), from.assignment().salt()};
      keys.push_back(key);
      auto& arm = next.arms[key] = reused->arms[key];
      if (!arm) arm = NewArm(key, guards, recorder);
      model.entries.push_back({version.version(), version.weight_bp(), version.role(), version.guard(), arm,
                               table->peers_.AddressesOf(version.ready()), arm->counters->BinsOf(salt_of_bins),
                               version.shadow()});
    }
    std::ranges::stable_sort(model.entries, {}, [](const Entry& entry) { return entry.role == control::STABLE; });
  }
  *reused = std::move(next);
  guards.Keep(keys);
  return table;
}

const ModelRoutes* RoutingTable::Find(const std::string& model) const {
  const auto found = models_.find(model);
  return found == models_.end() ? nullptr : &found->second;
}

Result<Choice> Choose(const ModelRoutes& model, const PredictCall& call) {
  const auto& spec = call.request.model_spec();
  if (spec.has_version()) {
    const int64_t version = spec.version().value();
    return Choice{version, model.Find(version), true};
  }
  if (!spec.version_label().empty()) {
    const auto label = model.labels.find(spec.version_label());
    if (label == model.labels.end())
      return InvalidArgument("Unrecognized servable version label: {}", spec.version_label());
    return Choice{label->second, model.Find(label->second), true};
  }
  if (const Entry* target = TargetOfRules(model, call))
    return Choice{.version = target->version,
                  .entry = target,
                  .matched = true,
                  .to_candidate = target->role == control::CANDIDATE};
  const auto key = KeyOf(model.assignment, call);
  const uint32_t bucket = key ? BucketOfKey(model.assignment.salt(), *key)
                              : BucketOfSequence(model.sequence->fetch_add(1, std::memory_order_relaxed));
  const Entry* entry = model.Assign(bucket);
  if (entry == nullptr) return Unavailable("model \"{}\" has no version that may be served yet", model.name);
  return Choice{entry->version, entry, false, key ? static_cast<int>(bucket) / node_contract::kBucketsPerBin : -1};
}

}  // namespace longshore::routing
