// The metrics of one scrape, collected from counters that are kept elsewhere.
//
//   exposition.Count({"longshore_requests_total", "Predictions."}, {{"model", "digits"}, {"version", "3"}}, 7);
//   exposition.Count({":tensorflow:serving:request_count", "Predictions."}, {{"model_name", "digits"}}, 7);
//
// Values with the same name and labels are added up. So a source can report each of its counters to several families.
// In a family with fewer labels, the values are then sums of several counters.
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

// Not thread-safe. All values with the same name must be of the same kind.
class Exposition {
 public:
  enum class Kind { kCounter, kGauge, kHistogram };
  struct Metric {
    double value = 0;
    Buckets buckets;  // Used only if the kind is a histogram.
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
