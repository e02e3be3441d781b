#include "tests/load/program.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <utility>

#include "common/os/file.h"
#include "tests/load/commands.h"
#include "tests/load/comparison.h"
#include "tests/load/flags.h"
#include "tests/load/generator.h"
#include "tests/load/grpc_client.h"
#include "tests/load/rest_client.h"
#include "tests/load/texts.h"

namespace longshore::load {
namespace {

constexpr auto kProgressInterval = std::chrono::seconds(1);
constexpr auto kSegmentInterval = std::chrono::milliseconds(50);

// Blocks SIGINT and SIGTERM and returns a file descriptor that receives them. Must be called before any thread starts,
// so that all threads block these signals.
int BlockStopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signalfd(-1, &signals, SFD_CLOEXEC);
}

// Prints the results: lines of JSON or text for people. If standard error is a terminal, a live line on it is redrawn
// with each progress.
class Printer {
 public:
  Printer(const Clock& clock, bool json) : clock_(clock), json_(json), is_live_(::isatty(STDERR_FILENO) == 1) {}

  void Show(const Progress& progress) {
    if (json_) PrintJson("progress", ToJson(progress));
    if (is_live_) std::cerr << "\r" << LiveLine(progress) << kClearToEnd << std::flush;
  }
  void Show(const SegmentReport& report) {
    if (json_) return PrintJson("segment", ToJson(report));
    segments_ += SegmentLine(report);
    segments_count_ += 1;
  }
  void Show(const RunResult& run) {
    ClearLiveLine();
    if (json_) return PrintJson("final", ToJson(run));
    std::cout << SummaryText(run);
    // The only segment of a run without marks is the whole run.
    if (segments_count_ > 1) std::cout << "\nsegments\n" << segments_;
    std::cout << std::flush;
  }

 private:
  static constexpr const char* kClearToEnd = "\x1b[K";

  void ClearLiveLine() {
    if (is_live_) std::cerr << "\r" << kClearToEnd << std::flush;
  }
  void PrintJson(const char* type, const Json& content) {
    Json line = {{"type", type}, {"at_unix_ms", ToUnixMillis(clock_.Now())}};
    line.update(content);
    std::cout << line.dump(-1, ' ', false, Json::error_handler_t::replace) << std::endl;
  }

  const Clock& clock_;
  const bool json_;
  const bool is_live_;
  std::string segments_;  // Their lines. The ledger limits their number to kSegmentsMax.
  size_t segments_count_ = 0;
};

// The loop of the main thread: reads commands from standard input and prints results.
class Console {
 public:
  Console(Generator& generator, Ledger& ledger, const Clock& clock, int stop_signals, const Flags& flags)
      : generator_(generator),
        ledger_(ledger),
        clock_(clock),
        stop_signals_(stop_signals),
        printer_(clock, flags.json),
        began_(clock.Now()),
        rate_since_(began_),
        last_progress_(began_) {
    if (!flags.moves_file.empty()) moves_.open(flags.moves_file, std::ios::trunc);
  }

  // Runs until a stop command or signal, the end of the given time, or the end of the requests.
  void RunUntilStopped(double duration_s) {
    const TimePoint end = clock_.Now() + Duration(static_cast<int64_t>(duration_s * 1e6));
    while (!stop_ && !generator_.exhausted() && (duration_s == 0 || clock_.Now() < end)) {
      TakeInput();
      PrintWhatIsDue();
    }
  }

  // Waits for the answers, at most for `time_max`, and prints the counts of the whole run.
  void Finish(std::chrono::milliseconds time_max) {
    generator_.Stop();
    AddAsked();
    const Duration sending = rate_since_ - began_;
    (void)AwaitAnswers(ledger_, time_max, [this] { PrintWhatIsDue(); });
    (void)ledger_.Mark("end", clock_.Now());
    PrintSegments();
    printer_.Show(RunResult{.sending = sending,
                            .requests_asked = requests_asked_,
                            .total = ledger_.Total(),
                            .unanswered = ledger_.in_flight(),
                            .distinct_keys = ledger_.distinct_keys()});
  }

 private:
  void TakeInput() {
    pollfd watched[] = {{.fd = input_open_ ? STDIN_FILENO : -1, .events = POLLIN, .revents = 0},
                        {.fd = stop_signals_, .events = POLLIN, .revents = 0}};
    ::poll(watched, 2, static_cast<int>(kSegmentInterval.count()));
    if (watched[1].revents != 0) stop_ = true;
    if (watched[0].revents == 0) return;
    char bytes[4096];
    const auto got = ::read(STDIN_FILENO, bytes, sizeof(bytes));
    if (got <= 0) input_open_ = false;
    if (got <= 0) return;
    for (const std::string& line : lines_.Add({bytes, static_cast<size_t>(got)})) Obey(line);
  }

  void Obey(const std::string& line) {
    const auto word = ParseControlWord(line);
    Status done = word ? Obey(*word) : tl::make_unexpected(word.error());
    if (!done) std::cerr << "longshore-load: " << done.error().message << "\n";
  }

  Status Obey(const ControlWord& word) {
    switch (word.verb) {
      case ControlWord::Verb::kRate: AddAsked(); return generator_.SetRate(word.rate_per_second);
      case ControlWord::Verb::kMark: return ledger_.Mark(word.name, clock_.Now());
      case ControlWord::Verb::kStop: stop_ = true;
    }
    return {};
  }

  // Counts the requests that the present rate has asked for until now.
  void AddAsked() {
    const TimePoint now = clock_.Now();
    requests_asked_ += generator_.rate() * std::chrono::duration<double>(now - rate_since_).count();
    rate_since_ = now;
  }

  void PrintWhatIsDue() {
    PrintSegments();
    const TimePoint now = clock_.Now();
    if (now < last_progress_ + kProgressInterval) return;
    const Duration interval = now - std::exchange(last_progress_, now);
    printer_.Show(Progress{.elapsed = now - began_,
                           .interval = interval,
                           .recent = ledger_.TakeRecent(),
                           .total = ledger_.Total(),
                           .rate_per_second = generator_.rate(),
                           .in_flight = ledger_.in_flight(),
                           .distinct_keys = ledger_.distinct_keys()});
  }

  void PrintSegments() {
    for (const SegmentReport& report : ledger_.TakeFinished()) printer_.Show(report);
    for (const Move& move : ledger_.TakeMoves()) {
      moves_ << ToUnixMillis(move.sent_at) << ',' << KeyName(move.key) << ',' << move.from << ',' << move.to << '\n';
    }
    moves_.flush();
  }

  Generator& generator_;
  Ledger& ledger_;
  const Clock& clock_;
  const int stop_signals_;
  Printer printer_;
  std::ofstream moves_;
  LineBuffer lines_;
  const TimePoint began_;
  double requests_asked_ = 0;  // Until rate_since_.
  TimePoint rate_since_;
  TimePoint last_progress_;
  bool input_open_ = true;
  bool stop_ = false;
};

Result<int> Run(const Flags& flags, int stop_signals) {
  ASSIGN_OR_RETURN(const Samples samples, MakeSamples(flags.samples));
  const auto deadline = std::chrono::milliseconds(flags.deadline_ms);
  const auto grpc = MakeGrpcClient({.target = flags.grpc_target,
                                    .connections = flags.connections,
                                    .fresh = flags.fresh_connections,
                                    .deadline = deadline},
                                   samples);
  std::unique_ptr<Client> rest;
  if (!flags.rest_target.empty()) {
    ASSIGN_OR_RETURN(RestOptions options, ParseRestTarget(flags.rest_target));
    options.deadline = deadline;
    if (flags.fresh_connections) options.requests_per_connection_max = 1;
    ASSIGN_OR_RETURN(rest, MakeRestClient(options, samples));
  }
  const SystemClock clock;
  Ledger ledger(clock.Now(), flags.generator.keys.distinct);
  GeneratorOptions options = flags.generator;
  options.samples = samples.size();
  Generator generator(options, *grpc, rest.get(), ledger, clock);
  Console console(generator, ledger, clock, stop_signals, flags);
  console.RunUntilStopped(flags.duration_s);
  console.Finish(AnswerTimeMax(deadline, flags.generator.retries));
  // Exits at once if requests are unanswered, because the destructors of the clients would wait for the answers without
  // a limit. Everything is printed and flushed already.
  if (ledger.in_flight() > 0) std::_Exit(1);
  const Counts total = ledger.Total();
  return total.failed + total.answered_twice + total.version_disputed == 0 ? 0 : 1;
}

Result<SavedRun> ReadRun(const std::string& file) {
  ASSIGN_OR_RETURN(const std::string lines, ReadFile(file));
  return ParseRun(file, lines);
}

Result<int> RunOrCompare(const Flags& flags, int stop_signals) {
  if (flags.compare.empty()) return Run(flags, stop_signals);
  ASSIGN_OR_RETURN(const SavedRun a, ReadRun(flags.compare[0]));
  ASSIGN_OR_RETURN(const SavedRun b, ReadRun(flags.compare[1]));
  std::cout << ComparisonText(a, b) << std::flush;
  return 0;
}

}  // namespace

std::chrono::milliseconds AnswerTimeMax(std::chrono::milliseconds deadline, int retries) {
  return deadline * (retries + 1) + std::chrono::seconds(5);
}

bool AwaitAnswers(const Ledger& ledger, std::chrono::milliseconds time_max, const std::function<void()>& meanwhile) {
  const auto end = std::chrono::steady_clock::now() + time_max;
  while (ledger.in_flight() > 0 && std::chrono::steady_clock::now() < end) {
    ::poll(nullptr, 0, 10);
    meanwhile();
  }
  return ledger.in_flight() == 0;
}

int Main(int argc, char** argv) {
  const int stop_signals = BlockStopSignals();
  const auto flags = ParseFlags(argc, argv);
  if (flags && !*flags) return 0;
  const Result<int> code = flags ? RunOrCompare(**flags, stop_signals) : tl::make_unexpected(flags.error());
  if (code) return *code;
  std::cerr << "longshore-load: " << code.error().message << "\n";
  return 2;
}

}  // namespace longshore::load
