// Runs one model in our engine for ./dev bench engine. It reads commands from standard input, one per line; the runners
// of the other engines (runner.py) understand the same commands.
#pragma once

namespace longshore::bench::engine {

// longshore-engine DIR THREADS. Prints "loaded SECONDS" (peers add the seconds of opening their library), and then
// answers each line of standard input with one line. The commands and their answers:
//   inputs NAME FOLDER   reads FOLDER/<input>.npy and prepares runs of these shapes -> the seconds of the preparation
//   time NAME COUNT      runs COUNT times                   -> the seconds of each run
//   save NAME FOLDER     runs and writes FOLDER/<output>.npy -> "ok"
//   memory               -> the resident kilobytes
//   allocations NAME     runs -> the number of allocations of the run; only in our runner
// A line that fails is answered with "error: ...".
int EngineMain(int argc, char** argv);

}  // namespace longshore::bench::engine
