// Reads a JSON tree field by field, and checks types, ranges, choices and unknown names. Keeps all wrong values and
// unknown names, and reads on after them, so that a parser is a plain list of its fields and a person sees all mistakes
// at once:
//
//   Reader reader(origin);
//   Fields spec(reader, json, "spec");
//   spec.Text("fleet", out.fleet, kRequired);
//   spec.Object("slo", [&](Fields& slo) { slo.Share("errorRate", out.slo.error_rate); });
//   spec.Done();
//   return reader.Finish();
#pragma once

#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "controller/api/document.h"
#include "controller/api/home.h"
#include "controller/api/text_format.h"
#include "controller/api/types.h"

namespace longshore::api {

enum class Need { kOptional, kRequired };

// Who wrote the values.
enum class Writer {
  // A person, in a manifest of this program. A field of one value with nothing after its colon is refused: whoever
  // forgot the value does not mean the default. A value in the place of a mapping gets a proposal.
  kPerson,
  // Another program. As in Kubernetes, null counts as absent.
  kProgram,
};

class Reader {
 public:
  explicit Reader(const Origin& origin, Home home = Home::kAny, Writer writer = Writer::kProgram)
      : origin_(origin), home_(home), writer_(writer) {}

  // Reports a value that is wrong by itself. Keeps the first report about a path.
  void Refuse(const std::string& path, const std::string& why);
  // Reports a field that is not known, once even if its object is read twice.
  void RefuseUnknown(const std::string& path, const std::string& why);
  // Forgets the report about the path, because an unknown field explains it.
  void Forget(const std::string& path);
  // Whether no value was refused. Unknown fields do not count.
  bool ok() const { return refused_.empty(); }
  // Whether a value of the object or of an object in it was refused. It then has its default, so comparing it with
  // other fields says nothing.
  bool HasRefused(const std::string& object) const;
  // Returns InvalidArgument with one line for each unknown field and refused value, in the order of their lines.
  Status Finish() const;
  Home home() const { return home_; }
  Writer writer() const { return writer_; }

 private:
  const Origin& origin_;
  const Home home_;
  const Writer writer_;
  struct Problem {
    std::string path;
    std::string why;
  };

  std::vector<Problem> refused_;
  std::vector<Problem> unknown_;
};

// Returns a value as messages show it: `"abc"`, `120`, `a list`.
std::string Shown(const Json& value);

class Fields {
 public:
  // A field that is null (`slo:` with nothing after it) counts as absent; see Writer for fields of one value.
  Fields(Reader& reader, const Json& object, std::string path);

  // Each of the following functions leaves `out` unchanged, with its default, if the field is absent.
  void Text(const char* key, std::string& out, Need need = Need::kOptional);
  void Text(const char* key, std::string& out, const TextFormat& format, Need need = Need::kOptional);
  void Flag(const char* key, bool& out);
  void Integer(const char* key, int64_t& out, int64_t min, int64_t max, Need need = Need::kOptional);
  void Integer(const char* key, int& out, int64_t min, int64_t max, Need need = Need::kOptional);
  template <typename T>
  void Integer(const char* key, std::optional<T>& out, int64_t min, int64_t max) {
    T number{};
    Integer(key, number, min, max);
    if (Has(key)) out = number;
  }
  void Number(const char* key, double& out, double min, double max, Need need = Need::kOptional);
  // Reads a share: "0.1%" or 0.001.
  void Share(const char* key, double& out);
  void Time(const char* key, Duration& out, Duration min, Duration max);
  void Time(const char* key, std::optional<Duration>& out, Duration min, Duration max);
  // Reads an amount of a resource, as text: 2, "500m" or "20Gi".
  void Amount(const char* key, std::string& out, Need need = Need::kOptional);
  void AmountMap(const char* key, size_t entries_max, std::map<std::string, std::string>& out);
  // TextMap reads texts by name, VersionMap reads versions by label.
  void TextMap(const char* key, std::map<std::string, std::string>& out);
  void TextMap(const char* key, size_t entries_max, const TextFormat& value, std::map<std::string, std::string>& out);
  void VersionMap(const char* key, size_t entries_max, std::map<std::string, int64_t>& out);

  template <typename T>
  void Choice(const char* key, T& out, std::initializer_list<std::pair<const char*, T>> choices,
              Need need = Need::kOptional) {
    std::string text;
    Text(key, text, need);
    if (text.empty() || !Has(key)) return;
    std::string allowed;
    for (const auto& [name, value] : choices) {
      if (text == name) {
        out = value;
        return;
      }
      allowed += (allowed.empty() ? "" : ", ") + std::string(name);
    }
    Wrong(key, fmt::format("\"{}\" is not one of {}", text, allowed));
  }

  void Object(const char* key, const std::function<void(Fields&)>& read, Need need = Need::kOptional);
  void List(const char* key, size_t items_max,
            const std::function<void(const Json& item, const std::string& path)>& read);
  void Objects(const char* key, size_t items_max, const std::function<void(Fields& item)>& read);
  // Reads a mapping from names that users choose to objects.
  void ObjectMap(const char* key, size_t entries_max,
                 const std::function<void(Fields& entry, const std::string& name)>& read);
  void TextSet(const char* key, size_t items_max, const TextFormat& format, std::vector<std::string>& out);

  // Rejects a field that is planned but not supported by this release. `instead` says what to use.
  void NotYet(const char* key, const std::string& instead);
  // Rejects a field that has no effect in standalone mode, where nodes are processes of one host.
  void OnlyInCluster(const char* key, const std::string& instead);
  // Refuses a value that does not fit other fields of this object, or makes it useless to read them. Does nothing if a
  // value of this object is wrong by itself.
  void Refuse(const std::string& key, const std::string& why);
  // Refuses the object if it has no field `key`.
  void Require(const char* key);
  bool Has(const char* key) const { return object_->contains(key) && !(*object_)[key].is_null(); }
  // Take and Value mark a field as known and return its value; nullptr if it is absent. For fields that the caller
  // checks itself. Value is for a field of one value.
  const Json* Take(const char* key, Need need = Need::kOptional);
  const Json* Value(const char* key, Need need = Need::kOptional);

  // Rejects fields that were not read. Call it last. If required fields are missing as well, reports only the unknown
  // fields, because they are probably the required ones with a typing mistake.
  void Done();

  Reader& reader() { return reader_; }
  const std::string& path() const { return path_; }
  std::string PathOf(const std::string& key) const { return path_.empty() ? key : path_ + "." + key; }

 private:
  void Wrong(const std::string& key, const std::string& why) { reader_.Refuse(PathOf(key), why); }
  // Reads `json` as an object, or refuses it with a proposal.
  void Read(const Json& json, const std::string& path, const std::function<void(Fields&)>& read);
  // Returns ": write {min: 3}" with the first field of the object that may have this value; "" if none may. Calls
  // `read`, which writes its output: nobody uses it, because the object is refused.
  static std::string Proposal(const Json& value, Home home, const std::function<void(Fields&)>& read);
  void Entries(const char* key, size_t entries_max,
               const std::function<void(Fields& entries, const std::string& name)>& read);

  Reader& reader_;
  const Json* object_;
  std::string path_;
  std::vector<std::string> known_;
  std::vector<std::string> missing_;  // The paths of required fields that are missing.
  bool is_left_ = false;              // Whether Refuse was called: the parser may have left out the rest.
};

}  // namespace longshore::api
