#include "common/metrics/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <limits>
#include <mutex>

#include "common/base/error.h"

namespace longshore::metrics {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

MetricType TypeOf(Exposition::Kind kind) {
  switch (kind) {
    case Exposition::Kind::kCounter: return MetricType::Counter;
    case Exposition::Kind::kGauge: return MetricType::Gauge;
    case Exposition::Kind::kHistogram: return MetricType::Histogram;
  }
  return MetricType::Untyped;
}

ClientMetric::Histogram ToHistogram(const Buckets& buckets) {
  ClientMetric::Histogram histogram;
  histogram.sample_sum = buckets.sum;
  for (size_t i = 0; i < buckets.counts.size(); ++i) {
    histogram.sample_count += static_cast<uint64_t>(buckets.counts[i]);
    const bool is_last = i == buckets.bounds.size();
    histogram.bucket.push_back(
        {histogram.sample_count, is_last ? std::numeric_limits<double>::infinity() : buckets.bounds[i]});
  }
  return histogram;
}

ClientMetric ToMetric(Exposition::Kind kind, const Labels& labels, const Exposition::Metric& metric) {
  ClientMetric out;
  for (const auto& [name, value] : labels) out.label.push_back({name, value});
  if (kind == Exposition::Kind::kCounter) out.counter.value = metric.value;
  if (kind == Exposition::Kind::kGauge) out.gauge.value = metric.value;
  if (kind == Exposition::Kind::kHistogram) out.histogram = ToHistogram(metric.buckets);
  return out;
}

void Append(const Exposition& exposition, std::vector<MetricFamily>* families) {
  for (const auto& [name, family] : exposition.families()) {
    MetricFamily out{name, family.help, TypeOf(family.kind), {}};
    for (const auto& [labels, metric] : family.metrics) out.metric.push_back(ToMetric(family.kind, labels, metric));
    families->push_back(std::move(out));
  }
}

Labels AllOther(Labels labels) {
  for (auto& [name, value] : labels) value = "other";
  return labels;
}

}  // namespace

template <typename Metric>
class FamilyState {
 public:
  using Backend = typename Metric::Backend;

  FamilyState(prometheus::Family<Backend>& family, size_t label_sets_max, std::vector<double> buckets)
      : family_(family), label_sets_max_(label_sets_max), buckets_(std::move(buckets)) {}

  Metric With(const Labels& labels) {
    std::lock_guard lock(mutex_);
    if (auto found = made_.find(labels); found != made_.end()) return Metric(found->second);
    if (made_.size() >= label_sets_max_) return Metric(&Make(AllOther(labels)));
    Backend& made = Make(labels);
    made_[labels] = &made;
    return Metric(&made);
  }

 private:
  // prometheus-cpp returns the existing metric if the family has one with these labels.
  Backend& Make(const Labels& labels) {
    if constexpr (std::is_same_v<Metric, Histogram>) {
      return family_.Add(labels, buckets_);
    } else {
      return family_.Add(labels);
    }
  }

  prometheus::Family<Backend>& family_;
  const size_t label_sets_max_;
  const std::vector<double> buckets_;
  std::mutex mutex_;
  std::map<Labels, Backend*> made_;
};

struct Registry::State {
  Options options;
  prometheus::Registry registry;
  mutable std::mutex mutex;
  std::map<std::string, std::unique_ptr<FamilyState<Counter>>> counters;
  std::map<std::string, std::unique_ptr<FamilyState<Gauge>>> gauges;
  std::map<std::string, std::unique_ptr<FamilyState<Histogram>>> histograms;
  std::vector<std::function<void()>> refreshes;
  std::vector<Registry::Source> sources;
  std::vector<Registry::Pages> pages;

  bool IsNameUsed(const std::string& name) const {
    return counters.contains(name) || gauges.contains(name) || histograms.contains(name);
  }

  template <typename Metric, typename Builder>
  Family<Metric> Find(std::map<std::string, std::unique_ptr<FamilyState<Metric>>>& families, Builder builder,
                      const std::string& name, const std::string& help, std::vector<double> buckets = {}) {
    std::lock_guard lock(mutex);
    auto found = families.find(name);
    if (found != families.end()) return Family<Metric>(found->second.get());
    CHECK(!IsNameUsed(name));
    auto& backend = builder.Name(name).Help(help).Register(registry);
    auto& state = families[name];
    state = std::make_unique<FamilyState<Metric>>(backend, options.label_sets_max, std::move(buckets));
    return Family<Metric>(state.get());
  }
};

void Counter::Add(double by) { backend_->Increment(by); }
double Counter::value() const { return backend_->Value(); }
void Gauge::Set(double value) { backend_->Set(value); }
void Gauge::Add(double by) { backend_->Increment(by); }
double Gauge::value() const { return backend_->Value(); }
void Histogram::Observe(double value) { backend_->Observe(value); }

std::vector<double> SecondsBuckets() {
  std::vector<double> bounds;
  for (const double power : {1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0}) {
    for (const double step : {1.0, 2.0, 3.0, 5.0}) bounds.push_back(step * power);
  }
  bounds.push_back(100.0);
  return bounds;
}

template <typename Metric>
Metric Family<Metric>::With(const Labels& labels) {
  return state_->With(labels);
}
template class Family<Counter>;
template class Family<Gauge>;
template class Family<Histogram>;

Registry::Registry(Options options) : state_(std::make_unique<State>()) { state_->options = options; }
Registry::~Registry() = default;

Family<Counter> Registry::Counters(const std::string& name, const std::string& help) {
  return state_->Find(state_->counters, prometheus::BuildCounter(), name, help);
}

Family<Gauge> Registry::Gauges(const std::string& name, const std::string& help) {
  return state_->Find(state_->gauges, prometheus::BuildGauge(), name, help);
}

Family<Histogram> Registry::Histograms(const std::string& name, const std::string& help, std::vector<double> buckets) {
  return state_->Find(state_->histograms, prometheus::BuildHistogram(), name, help, std::move(buckets));
}

void Registry::BeforeText(std::function<void()> refresh) {
  std::lock_guard lock(state_->mutex);
  state_->refreshes.push_back(std::move(refresh));
}

void Registry::AddSource(Source source) {
  std::lock_guard lock(state_->mutex);
  state_->sources.push_back(std::move(source));
}

void Registry::AddPageSource(Pages pages) {
  std::lock_guard lock(state_->mutex);
  state_->pages.push_back(std::move(pages));
}

std::string Registry::Text() const {
  std::vector<std::function<void()>> refreshes;
  std::vector<Source> sources;
  std::vector<Pages> pages;
  {
    std::lock_guard lock(state_->mutex);
    refreshes = state_->refreshes;
    sources = state_->sources;
    pages = state_->pages;
  }
  for (const auto& refresh : refreshes) refresh();
  Exposition exposition;
  for (const auto& source : sources) source(&exposition);
  auto families = state_->registry.Collect();
  Append(exposition, &families);
  std::string text = prometheus::TextSerializer().Serialize(families);
  Page page;
  for (const auto& show : pages) show(&page);
  page.MoveTo(&text);
  return text;
}

}  // namespace longshore::metrics
