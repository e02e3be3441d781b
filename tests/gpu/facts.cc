#include "tests/gpu/facts.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>

namespace longshore::gpu {
namespace {

std::string Quote(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return quoted + '"';
}

std::string List(const std::vector<Value>& values) {
  std::string list = "[";
  for (const Value& value : values) list += (list.size() > 1 ? "," : "") + value.json();
  return list + "]";
}

void Write(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

}  // namespace

Value::Value(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.10g", value);
  json_ = std::isfinite(value) ? text : "null";
}

Value::Value(std::string_view value) : json_(Quote(value)) {}

double Quantile(Samples samples, double share) {
  const auto at = static_cast<size_t>(share * static_cast<double>(samples.size() - 1) + 0.5);
  std::nth_element(samples.begin(), samples.begin() + static_cast<ptrdiff_t>(at), samples.end());
  return samples[at];
}

Fact::Fact(std::string_view name) : line_("{\"name\":" + Quote(name)) {}

Fact::~Fact() { Write(line_ + "}"); }

Fact& Fact::With(std::string_view key, const Value& value) {
  line_ += "," + Quote(key) + ":" + value.json();
  return *this;
}

Fact& Fact::WithList(std::string_view key, const std::vector<Value>& values) {
  line_ += "," + Quote(key) + ":" + List(values);
  return *this;
}

Fact& Fact::WithMedian(std::string_view key, const Samples& samples) {
  return With(std::string(key) + "_us", Rounded(Quantile(samples, 0.5)));
}

Fact& Fact::WithTimes(std::string_view key, const Samples& samples) {
  const std::string start(key);
  WithMedian(key, samples);
  With(start + "_p99_us", Rounded(Quantile(samples, 0.99)));
  if (!has_samples_) With("samples", samples.size());
  has_samples_ = true;
  return *this;
}

Table::Table(std::string_view name, std::initializer_list<std::string_view> columns) : name_(name) {
  std::vector<Value> names;
  for (const std::string_view column : columns) names.emplace_back(column);
  Write("{\"table\":" + Quote(name_) + ",\"columns\":" + List(names) + "}");
}

void Table::Add(const std::vector<Value>& row) const {
  Write("{\"table\":" + Quote(name_) + ",\"row\":" + List(row) + "}");
}

double Rounded(double value) {
  if (value == 0 || !std::isfinite(value)) return value;
  const double scale = std::pow(10.0, 2 - std::floor(std::log10(std::abs(value))));
  return std::round(value * scale) / scale;
}

double NowUs() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void Try(std::string_view name, const std::function<void()>& step) {
  try {
    step();
  } catch (const std::exception& error) {
    Fact(name).With("error", error.what());
  }
}

int RunPart(const std::function<void()>& part) {
  try {
    part();
    return 0;
  } catch (const std::exception& error) {
    Fact("the part ended early").With("error", error.what());
    return 1;
  }
}

}  // namespace longshore::gpu
