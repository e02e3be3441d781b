#include "controller/api/fields.h"

#include <algorithm>
#include <cmath>

#include "common/base/nearest_word.h"
#include "common/base/text.h"
#include "controller/api/units.h"

namespace longshore::api {
namespace {

const Json& EmptyObject() {
  static const Json kEmpty = Json::object();
  return kEmpty;
}

std::string Suggestion(const std::string& name, const std::vector<std::string>& known) {
  const std::optional<std::string> nearest = NearestWord(name, known);
  if (nearest) return fmt::format("; did you mean {}?", *nearest);
  return fmt::format("; known fields: {}", fmt::join(known, ", "));
}

std::string NoMapping(const Json& value) {
  return value.is_null() ? "has no value" : Shown(value) + " is not a mapping of fields";
}

}  // namespace

void Reader::Refuse(const std::string& path, const std::string& why) {
  if (std::ranges::find(refused_, path, &Problem::path) == refused_.end()) refused_.push_back({path, why});
}

void Reader::RefuseUnknown(const std::string& path, const std::string& why) {
  if (std::ranges::find(unknown_, path, &Problem::path) == unknown_.end()) unknown_.push_back({path, why});
}

void Reader::Forget(const std::string& path) {
  std::erase_if(refused_, [&](const Problem& one) { return one.path == path; });
}

bool Reader::HasRefused(const std::string& object) const {
  return std::ranges::any_of(refused_, [&](const Problem& one) {
    if (object.empty() || one.path == object) return true;
    return one.path.starts_with(object) && (one.path[object.size()] == '.' || one.path[object.size()] == '[');
  });
}

Status Reader::Finish() const {
  std::vector<Problem> problems = unknown_;
  problems.insert(problems.end(), refused_.begin(), refused_.end());
  if (problems.empty()) return {};
  std::ranges::stable_sort(problems, {}, [this](const Problem& one) { return origin_.LineOf(one.path); });
  std::string text;
  for (const Problem& one : problems) text += (text.empty() ? "" : "\n") + origin_.At(one.path) + one.why;
  return InvalidArgument("{}", text);
}

std::string Shown(const Json& value) {
  if (value.is_object()) return "a mapping";
  if (value.is_array()) return "a list";
  constexpr size_t kBytesMax = 83;  // 80 bytes of the value and "...".
  return CutText(DumpJson(value), kBytesMax);
}

Fields::Fields(Reader& reader, const Json& object, std::string path)
    : reader_(reader), object_(&object), path_(std::move(path)) {
  if (object.is_object()) return;
  if (!object.is_null()) reader_.Refuse(path_, NoMapping(object));
  object_ = &EmptyObject();
}

const Json* Fields::Take(const char* key, Need need) {
  known_.push_back(key);
  if (Has(key)) return &(*object_)[key];
  if (need == Need::kRequired) Require(key);
  return nullptr;
}

const Json* Fields::Value(const char* key, Need need) {
  if (reader_.writer() == Writer::kProgram || !object_->contains(key) || Has(key)) return Take(key, need);
  Take(key);
  Wrong(key, "has no value: write one, or leave out the line");
  return nullptr;
}

void Fields::Refuse(const std::string& key, const std::string& why) {
  is_left_ = true;
  if (!reader_.HasRefused(path_)) reader_.Refuse(PathOf(key), why);
}

void Fields::Require(const char* key) {
  if (Has(key)) return;
  missing_.push_back(PathOf(key));
  Wrong(key, "is required");
}

void Fields::Text(const char* key, std::string& out, Need need) {
  const Json* value = Value(key, need);
  if (value == nullptr) return;
  if (!value->is_string()) return Wrong(key, fmt::format("{} is not a text; put it in quotes", Shown(*value)));
  if (value->get_ref<const std::string&>().empty()) return Wrong(key, "is empty");
  out = value->get<std::string>();
}

void Fields::Text(const char* key, std::string& out, const TextFormat& format, Need need) {
  std::string text;
  Text(key, text, need);
  if (!Has(key) || text.empty()) return;
  if (!Matches(text, format)) return Wrong(key, fmt::format("{} is not {}", Shown(text), format.what));
  out = std::move(text);
}

void Fields::Flag(const char* key, bool& out) {
  const Json* value = Value(key);
  if (value == nullptr) return;
  if (!value->is_boolean()) return Wrong(key, fmt::format("{} is not true or false", Shown(*value)));
  out = value->get<bool>();
}

void Fields::Integer(const char* key, int64_t& out, int64_t min, int64_t max, Need need) {
  const Json* value = Value(key, need);
  if (value == nullptr) return;
  if (!value->is_number_integer()) return Wrong(key, fmt::format("{} is not a whole number", Shown(*value)));
  const int64_t number = value->get<int64_t>();
  if (number < min || number > max) {
    return Wrong(key, max == INT64_MAX ? fmt::format("{} is less than {}", number, min)
                                       : fmt::format("{} is not between {} and {}", number, min, max));
  }
  out = number;
}

void Fields::Integer(const char* key, int& out, int64_t min, int64_t max, Need need) {
  int64_t wide = out;
  Integer(key, wide, min, max, need);
  out = static_cast<int>(wide);
}

void Fields::Number(const char* key, double& out, double min, double max, Need need) {
  const Json* value = Value(key, need);
  if (value == nullptr) return;
  if (!value->is_number()) return Wrong(key, fmt::format("{} is not a number", Shown(*value)));
  const double number = value->get<double>();
  if (!(number >= min && number <= max))
    return Wrong(key, fmt::format("{} is not between {} and {}", number, min, max));
  out = number;
}

void Fields::Share(const char* key, double& out) {
  const Json* value = Value(key);
  if (value == nullptr) return;
  double share = -1;
  if (value->is_number()) share = value->get<double>();
  if (value->is_string() && Matches(value->get<std::string>(), kShare)) {
    share = ParseShare(value->get<std::string>()).value_or(-1);
  }
  if (!(share >= 0 && share <= 1)) return Wrong(key, fmt::format("{} is not {}", Shown(*value), kShare.what));
  out = share;
}

void Fields::Time(const char* key, Duration& out, Duration min, Duration max) {
  const Json* value = Value(key);
  if (value == nullptr) return;
  if (!value->is_string())
    return Wrong(key, fmt::format("{} has no unit: write \"30s\", \"500ms\" or \"5m\"", Shown(*value)));
  const Result<Duration> duration = ParseDuration(value->get<std::string>());
  if (!duration) return Wrong(key, duration.error().message);
  if (*duration < min || *duration > max) {
    return Wrong(key, fmt::format("{} is not between {} and {}", FormatDuration(*duration), FormatDuration(min),
                                  FormatDuration(max)));
  }
  out = *duration;
}

void Fields::Time(const char* key, std::optional<Duration>& out, Duration min, Duration max) {
  Duration time{0};
  Time(key, time, min, max);
  if (Has(key)) out = time;
}

void Fields::Amount(const char* key, std::string& out, Need need) {
  const Json* value = Value(key, need);
  if (value == nullptr) return;
  const std::string text = value->is_string() ? value->get<std::string>() : DumpJson(*value);
  if (!(value->is_string() || value->is_number_integer()) || !Matches(text, kQuantity)) {
    return Wrong(key, fmt::format("{} is not {}", Shown(*value), kQuantity.what));
  }
  out = text;
}

// Reads the entries of a mapping whose keys are names that users choose.
void Fields::Entries(const char* key, size_t entries_max,
                     const std::function<void(Fields& entries, const std::string& name)>& read) {
  Object(key, [&](Fields& entries) {
    if (entries.object_->size() > entries_max) {
      return entries.reader_.Refuse(entries.path_, fmt::format("has {} entries, but at most {} are allowed",
                                                               entries.object_->size(), entries_max));
    }
    for (const auto& entry : entries.object_->items()) read(entries, entry.key());
  });
}

void Fields::AmountMap(const char* key, size_t entries_max, std::map<std::string, std::string>& out) {
  Entries(key, entries_max,
          [&](Fields& entries, const std::string& name) { entries.Amount(name.c_str(), out[name], Need::kRequired); });
}

void Fields::TextMap(const char* key, std::map<std::string, std::string>& out) {
  const Json* value = Take(key);
  if (value == nullptr) return;
  if (!value->is_object()) return Wrong(key, fmt::format("{} is not a mapping", Shown(*value)));
  for (const auto& [name, text] : value->items()) {
    if (!text.is_string())
      return Wrong(std::string(key) + "." + name, fmt::format("{} is not a text; put it in quotes", Shown(text)));
    out[name] = text.get<std::string>();
  }
}

void Fields::TextMap(const char* key, size_t entries_max, const TextFormat& format,
                     std::map<std::string, std::string>& out) {
  TextMap(key, out);
  if (out.size() > entries_max)
    Wrong(key, fmt::format("has {} entries, but at most {} are allowed", out.size(), entries_max));
  for (const auto& [name, text] : out) {
    if (!Matches(name, kLabelName)) Wrong(key, fmt::format("{} is not {}", Shown(name), kLabelName.what));
    if (!Matches(text, format))
      Wrong(std::string(key) + "." + name, fmt::format("{} is not {}", Shown(text), format.what));
  }
}

void Fields::VersionMap(const char* key, size_t entries_max, std::map<std::string, int64_t>& out) {
  Entries(key, entries_max, [&](Fields& labels, const std::string& name) {
    if (name.empty() || name.size() > 128) labels.Wrong(name, "a label has 1 to 128 characters");
    labels.Integer(name.c_str(), out[name], 1, INT64_MAX, Need::kRequired);
  });
}

void Fields::Object(const char* key, const std::function<void(Fields&)>& read, Need need) {
  const Json* value = Take(key, need);
  if (value != nullptr) Read(*value, PathOf(key), read);
}

void Fields::Read(const Json& json, const std::string& path, const std::function<void(Fields&)>& read) {
  if (!json.is_object()) {
    const std::string proposal = reader_.writer() == Writer::kPerson ? Proposal(json, reader_.home(), read) : "";
    return reader_.Refuse(path, NoMapping(json) + proposal);
  }
  Fields child(reader_, json, path);
  read(child);
  child.Done();
}

std::string Fields::Proposal(const Json& value, Home home, const std::function<void(Fields&)>& read) {
  const auto try_as = [&](const Json& object) {
    const Origin origin;
    Reader reader(origin, home);
    Fields fields(reader, object, "");
    read(fields);
    fields.Done();
    return std::pair(bool(reader.Finish()), fields.known_);
  };
  for (const std::string& field : try_as(EmptyObject()).second) {
    if (try_as({{field, value}}).first) return fmt::format(": write {{{}: {}}}", field, Shown(value));
  }
  return "";
}

void Fields::Objects(const char* key, size_t items_max, const std::function<void(Fields&)>& read) {
  List(key, items_max, [&](const Json& json, const std::string& path) { Read(json, path, read); });
}

void Fields::ObjectMap(const char* key, size_t entries_max,
                       const std::function<void(Fields& entry, const std::string& name)>& read) {
  Entries(key, entries_max, [&](Fields& entries, const std::string& name) {
    entries.Object(
        name.c_str(), [&](Fields& entry) { read(entry, name); }, Need::kRequired);
  });
}

void Fields::TextSet(const char* key, size_t items_max, const TextFormat& format, std::vector<std::string>& out) {
  List(key, items_max, [&](const Json& item, const std::string& path) {
    if (!item.is_string() || !Matches(item.get<std::string>(), format)) {
      return reader_.Refuse(path, fmt::format("{} is not {}", Shown(item), format.what));
    }
    const std::string text = item.get<std::string>();
    if (std::find(out.begin(), out.end(), text) != out.end()) {
      return reader_.Refuse(path, fmt::format("{} occurs twice", Shown(item)));
    }
    out.push_back(text);
  });
}

void Fields::List(const char* key, size_t items_max, const std::function<void(const Json&, const std::string&)>& read) {
  const Json* value = Take(key);
  if (value == nullptr) return;
  if (!value->is_array()) return Wrong(key, fmt::format("{} is not a list", Shown(*value)));
  if (value->size() > items_max)
    return Wrong(key, fmt::format("has {} entries, but at most {} are allowed", value->size(), items_max));
  for (size_t i = 0; i < value->size(); ++i) read((*value)[i], fmt::format("{}[{}]", PathOf(key), i));
}

void Fields::NotYet(const char* key, const std::string& instead) {
  if (!Has(key)) return;
  Take(key);
  Wrong(key, "is planned but not supported by this release; " + instead);
}

void Fields::OnlyInCluster(const char* key, const std::string& instead) {
  if (Has(key) && reader_.home() == Home::kHost) Wrong(key, "is for fleets in a cluster only; " + instead);
}

void Fields::Done() {
  if (is_left_) return;
  bool has_unknown = false;
  for (const auto& item : object_->items()) {
    if (std::find(known_.begin(), known_.end(), item.key()) != known_.end()) continue;
    reader_.RefuseUnknown(PathOf(item.key()), "is not a field" + Suggestion(item.key(), known_));
    has_unknown = true;
  }
  if (!has_unknown) return;
  for (const std::string& path : missing_) reader_.Forget(path);
}

}  // namespace longshore::api
