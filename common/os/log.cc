#include "common/os/log.h"

#include <spdlog/sinks/base_sink.h>

#include <cstdio>
#include <mutex>

#include "common/base/text.h"
#include "common/os/log_file.h"

namespace longshore {
namespace {

// Writes to standard error or to the file, within the limits of log.h.
class LimitedSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit LimitedSink(std::unique_ptr<LogFile> file) : file_(std::move(file)) {}

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    const auto second = std::chrono::floor<std::chrono::seconds>(message.time);
    if (second != second_) {
      ReportDroppedLines(message);
      second_ = second;
      lines_ = 0;
    }
    if (++lines_ <= kLogLinesPerSecondMax) return Write(message);
    ++dropped_;
  }
  void flush_() override { std::fflush(stderr); }

 private:
  void ReportDroppedLines(const spdlog::details::log_msg& now) {
    if (dropped_ == 0) return;
    const std::string text =
        fmt::format("{} lines were dropped: the limit is {} per second", dropped_, kLogLinesPerSecondMax);
    dropped_ = 0;
    Write(WarningAt(now, text));
  }

  static spdlog::details::log_msg WarningAt(const spdlog::details::log_msg& now, const std::string& text) {
    return {now.time, {}, now.logger_name, spdlog::level::warn, text};
  }

  void Write(const spdlog::details::log_msg& message) {
    const std::string line = LineOf(message);
    if (file_ == nullptr) {
      std::fwrite(line.data(), 1, line.size(), stderr);
      return;
    }
    Status written = ReportLostLines(message);
    if (written) written = file_->Write(line);
    if (written) return;
    ++lost_;
    why_lost_ = written.error().message;
  }

  Status ReportLostLines(const spdlog::details::log_msg& now) {
    if (lost_ == 0) return {};
    const std::string text = fmt::format("{} lines are lost: {}", lost_, why_lost_);
    // The first byte ends a line that was written in part.
    RETURN_IF_ERROR(file_->Write("\n" + LineOf(WarningAt(now, text))));
    lost_ = 0;
    return {};
  }

  std::string LineOf(const spdlog::details::log_msg& message) {
    constexpr std::string_view kCut = "...\n";
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    if (line.size() > kLogLineBytesMax) {
      line.resize(Utf8Prefix({line.data(), line.size()}, kLogLineBytesMax - kCut.size()).size());
      line.append(kCut.data(), kCut.data() + kCut.size());
    }
    return {line.data(), line.size()};
  }

  const std::unique_ptr<LogFile> file_;  // nullptr: standard error.
  std::chrono::sys_seconds second_{};
  int lines_ = 0;  // The number of lines in the current second.
  int64_t dropped_ = 0;
  int64_t lost_ = 0;  // The number of lines that could not be written since the last one that could.
  std::string why_lost_;
};

Result<spdlog::level::level_enum> ParseLevel(const std::string& level) {
  const auto parsed = spdlog::level::from_str(level);
  if (parsed != spdlog::level::off || level == "off") return parsed;
  return InvalidArgument("unknown log level \"{}\": use debug, info, warning, error or off", level);
}

}  // namespace

Status InitLog(const std::string& program, const std::string& level) { return InitLogInFile(program, level, nullptr); }

Status InitLogInFile(const std::string& program, const std::string& level, std::unique_ptr<LogFile> file) {
  ASSIGN_OR_RETURN(const auto parsed, ParseLevel(level));
  auto logger = std::make_shared<spdlog::logger>(program, std::make_shared<LimitedSink>(std::move(file)));
  logger->set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %L %n: %v", spdlog::pattern_time_type::utc);
  logger->set_level(parsed);
  logger->flush_on(spdlog::level::info);
  spdlog::set_default_logger(std::move(logger));
  return {};
}

Status SetLogLevel(const std::string& level) {
  ASSIGN_OR_RETURN(const auto parsed, ParseLevel(level));
  spdlog::default_logger_raw()->set_level(parsed);
  return {};
}

std::string LogLevel() {
  const auto name = spdlog::level::to_string_view(spdlog::default_logger_raw()->level());
  return {name.data(), name.size()};
}

std::string ForLog(std::string_view text, size_t bytes_max) {
  std::string safe;
  for (const char c : Utf8Prefix(text, bytes_max)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      safe += fmt::format("\\x{:02x}", byte);
    } else {
      safe += c;
    }
  }
  if (text.size() > bytes_max) safe += "...";
  return safe;
}

}  // namespace longshore
