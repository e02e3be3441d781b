// The output of the measuring programs: one JSON object per line on standard output, written at once, so that a program
// that crashes later loses nothing. gpu_facts.py collects the lines.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace longshore::gpu {

// A value of JSON, made from a value of C++.
class Value {
 public:
  Value(bool value) : json_(value ? "true" : "false") {}
  Value(std::integral auto value) : json_(std::to_string(value)) {}
  Value(double value);
  Value(std::string_view value);
  Value(const std::string& value) : Value(std::string_view(value)) {}
  Value(const char* value) : Value(std::string_view(value)) {}
  const std::string& json() const { return json_; }

 private:
  std::string json_;
};

// Several measurements of one duration, in microseconds.
using Samples = std::vector<double>;

// Returns the value below which `share` of the samples are; 0.5 is the median. Requires: samples is not empty.
double Quantile(Samples samples, double share);

// One fact. It is written when the object is destroyed:
//   Fact("bandwidth of a copy").With("bytes", 4096).With("gb_per_s", 12.5);
class Fact {
 public:
  explicit Fact(std::string_view name);
  Fact(const Fact&) = delete;
  Fact& operator=(const Fact&) = delete;
  ~Fact();

  // `key` ends with the unit of the value: bytes, us, gb_per_s.
  Fact& With(std::string_view key, const Value& value);
  Fact& WithList(std::string_view key, const std::vector<Value>& values);

  // Adds the median as KEY_us.
  Fact& WithMedian(std::string_view key, const Samples& samples);

  // Adds the median and the 99th percentile as KEY_us and KEY_p99_us. The number of samples is added once.
  Fact& WithTimes(std::string_view key, const Samples& samples);

 private:
  std::string line_;
  bool has_samples_ = false;
};

// A table: its columns first, each with its unit in its name, then its rows.
class Table {
 public:
  Table(std::string_view name, std::initializer_list<std::string_view> columns);
  void Add(const std::vector<Value>& row) const;

 private:
  std::string name_;
};

// Rounds to three significant digits, which is more than the measurements repeat.
double Rounded(double value);

// The time of a clock that never goes back, in microseconds.
double NowUs();

// Runs `step`; if it throws, writes the error as a fact and goes on.
void Try(std::string_view name, const std::function<void()>& step);

// The main function of a program: runs `part` and returns the exit code, 1 if it threw.
int RunPart(const std::function<void()>& part);

}  // namespace longshore::gpu
