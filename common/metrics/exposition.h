// What is shown at one reading of the metrics, put together from counters that live elsewhere.
//
//   exposition.Count({"longshore_requests_total", "Predictions."}, {{"model", "digits"}, {"version", "3"}}, 7);
//   exposition.Count({":tensorflow:serving:request_count", "Predictions."}, {{"model_name", "digits"}}, 7);
//
// What is told twice with the same name and labels is added up: a source tells each of its counters to every family
// that shows it, and a family with fewer labels shows sums.
#pragma once

#include <map>
#include <string>

#include "common/metrics/distribution.h"

namespace longshore::metrics {

using Labels = std::map<std::string, std::string>;

struct Name {
  const char* name;
  const char* help;
};

// Not thread-safe. A name is always of one kind.
class Exposition {
 public:
  enum class Kind { kCounter, kGauge, kHistogram };
  struct Metric {
    double value = 0;
    Buckets buckets;  // Of a histogram.
  };
  struct Family {
    Kind kind = Kind::kCounter;
    std::string help;
    std::map<Labels, Metric> metrics;
  };

  void Count(const Name& name, const Labels& labels, double value);
  void Set(const Name& name, const Labels& labels, double value);
  void Observed(const Name& name, const Labels& labels, Buckets buckets);

  const std::map<std::string, Family>& families() const { return families_; }

 private:
  Metric& At(const Name& name, Kind kind, const Labels& labels);
  std::map<std::string, Family> families_;
};

}  // namespace longshore::metrics
