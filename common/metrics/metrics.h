// Metrics in Prometheus' text format. Only this folder uses prometheus-cpp.
//
//   metrics::Registry registry;
//   auto requests = registry.Counters("longshore_requests_total", "Requests answered.");
//   requests.With({{"model", "digits"}, {"code", "OK"}}).Add();
//
// Thread-safe. With() takes a lock and looks the labels up, so keep its result in hot code. Counter and Gauge take no
// lock, Histogram::Observe takes one for a short time. Metrics and families are small handles, valid as long as the
// registry exists.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/metrics/exposition.h"
#include "common/metrics/page.h"

namespace prometheus {
class Counter;
class Gauge;
class Histogram;
}  // namespace prometheus

namespace longshore::metrics {

class Counter {
 public:
  using Backend = prometheus::Counter;
  explicit Counter(Backend* backend) : backend_(backend) {}
  void Add(double by = 1);  // Requires: by >= 0.
  double value() const;

 private:
  Backend* backend_;
};

class Gauge {
 public:
  using Backend = prometheus::Gauge;
  explicit Gauge(Backend* backend) : backend_(backend) {}
  void Set(double value);
  void Add(double by);
  double value() const;

 private:
  Backend* backend_;
};

class Histogram {
 public:
  using Backend = prometheus::Histogram;
  explicit Histogram(Backend* backend) : backend_(backend) {}
  void Observe(double value);

 private:
  Backend* backend_;
};

// Upper bounds of buckets: 100 us to 100 s, about four per power of ten.
std::vector<double> SecondsBuckets();

template <typename Metric>
class FamilyState;

// The metrics of one name, distinguished by their labels.
template <typename Metric>
class Family {
 public:
  explicit Family(FamilyState<Metric>* state) : state_(state) {}

  // Returns the metric with these labels. If the family has Options::label_sets_max label sets already, all new ones
  // share a metric whose label values are "other".
  Metric With(const Labels& labels);

 private:
  FamilyState<Metric>* state_;
};

struct Options {
  size_t label_sets_max = 1000;  // Maximum number of label sets per family.
};

class Registry {
 public:
  explicit Registry(Options options = {});
  ~Registry();
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  // Returns the family of this name; the first call creates it. Requires: all calls with the same name ask for the same
  // kind of metric.
  Family<Counter> Counters(const std::string& name, const std::string& help);
  Family<Gauge> Gauges(const std::string& name, const std::string& help);
  Family<Histogram> Histograms(const std::string& name, const std::string& help,
                               std::vector<double> buckets = SecondsBuckets());

  // Registers a function that Text calls first, for example to set gauges. The function must not call Text.
  void BeforeText(std::function<void()> refresh);

  // Registers a function that Text calls after the functions of BeforeText, to add metrics that are counted elsewhere.
  // The names of these metrics must differ from all others. The function must not call Text.
  using Source = std::function<void(Exposition* exposition)>;
  void AddSource(Source source);

  // Like AddSource, for a source with so many series that an object for each of them would take too much memory. The
  // names of its metrics must differ from those of all other sources.
  using Pages = std::function<void(Page* page)>;
  void AddPageSource(Pages pages);

  // Returns all metrics in the text exposition format 0.0.4.
  std::string Text() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace longshore::metrics
