// One model in one engine, told by lines what to run: what ./dev bench engine measures beside other engines, whose
// runners (runner.py) understand the same lines.
#pragma once

namespace longshore::bench {

// longshore-engine DIR THREADS. Prints "loaded SECONDS", which a peer follows by the seconds of opening its library,
// and then answers each line of standard input with one:
//   inputs NAME FOLDER   reads FOLDER/<input>.npy and makes ready for them -> the seconds of making ready
//   time NAME COUNT      runs so often                      -> the seconds of each run
//   save NAME FOLDER     runs and writes FOLDER/<output>.npy -> "ok"
//   memory               -> the resident kilobytes
//   allocations NAME     runs -> how often the run asked for memory; ours only
// A line that fails is answered with "error: ...".
int EngineMain(int argc, char** argv);

}  // namespace longshore::bench
