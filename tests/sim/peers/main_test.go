package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain runs the program instead of the tests if the environment asks for it.
func TestMain(m *testing.M) {
	if os.Getenv("LONGSHORE_PEER_RULES_MAIN") != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// execute runs the program and returns its exit code and its outputs.
func execute(t *testing.T, input string, arguments ...string) (code int, output, errorText string) {
	t.Helper()
	command := exec.Command(os.Args[0], arguments...)
	command.Env = append(os.Environ(), "LONGSHORE_PEER_RULES_MAIN=1")
	command.Stdin = strings.NewReader(input)
	out, errorOut := bytes.Buffer{}, bytes.Buffer{}
	command.Stdout, command.Stderr = &out, &errorOut
	var exit *exec.ExitError
	if err := command.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return command.ProcessState.ExitCode(), out.String(), errorOut.String()
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestDecisionsAreTheExpectedOnes(t *testing.T) {
	code, output, errorText := execute(t, read(t, "testdata/rollouts.jsonl"), "--settings", "testdata/settings.json")
	if code != 0 || errorText != "" {
		t.Fatalf("exit code %d: %s", code, errorText)
	}
	if os.Getenv("LONGSHORE_GOLDEN_WRITE") != "" {
		if err := os.WriteFile("testdata/decisions.jsonl", []byte(output), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if wanted := read(t, "testdata/decisions.jsonl"); output != wanted {
		t.Errorf("the decisions differ from testdata/decisions.jsonl:\n%s\nLONGSHORE_GOLDEN_WRITE=1 writes the file again", output)
	}
	for i, line := range strings.Split(strings.TrimSpace(output), "\n") {
		if !json.Valid([]byte(line)) {
			t.Errorf("line %d is not JSON: %s", i+1, line)
		}
	}
}

const (
	goodSetting = `{"name":"x","peer":"argo","metrics":[{"measure":"candidate_error_share","metric":{"interval":"60s"}}]}`
	goodLine    = `{"id":1,"interval_seconds":60,"points":[{"t":60}]}`
)

func TestWrongInputEndsWithTwoAndNamesTheLine(t *testing.T) {
	settings := t.TempDir() + "/settings.json"
	if err := os.WriteFile(settings, []byte(`{"settings":[`+goodSetting+`]}`), 0o644); err != nil {
		t.Fatal(err)
	}
	code, output, errorText := execute(t, goodLine+"\n{\"id\":2}\n"+goodLine, "--settings", settings)
	if code != 2 || strings.Count(output, "\n") != 1 || errorText != "longshore-peer-rules: standard input, line 2: interval_seconds is 0; it must be above 0\n" {
		t.Errorf("exit code %d, %q, %q", code, output, errorText)
	}
	line := strings.Replace(goodLine, `"interval_seconds":60`, `"interval_seconds":45`, 1)
	code, _, errorText = execute(t, strings.Replace(line, `"t":60`, `"t":45`, 1), "--settings", settings)
	if code != 2 || !strings.Contains(errorText, `line 1: setting "x": metrics[0]: a window of 60 s is not a multiple of interval_seconds, which is 45`) {
		t.Errorf("exit code %d, %q", code, errorText)
	}
	if code, _, errorText = execute(t, "", "--settings", "absent.json"); code != 2 || !strings.Contains(errorText, "absent.json") {
		t.Errorf("exit code %d, %q", code, errorText)
	}
	if code, _, errorText = execute(t, ""); code != 2 || !strings.Contains(errorText, "--settings FILE is needed") {
		t.Errorf("exit code %d, %q", code, errorText)
	}
}

func TestAnswerComesBeforeTheNextLine(t *testing.T) {
	rules, err := readRules([]byte(`{"settings":[` + goodSetting + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	in, toProgram := io.Pipe()
	fromProgram, out := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- judge(rules, in, out) }()
	answers := bufio.NewReader(fromProgram)
	for range 3 {
		if _, err := io.WriteString(toProgram, goodLine+"\n"); err != nil {
			t.Fatal(err)
		}
		if answer, err := answers.ReadString('\n'); err != nil || !strings.HasPrefix(answer, `{"id":1,"decisions":[{"setting":"x"`) {
			t.Fatalf("answer %q, %v", answer, err)
		}
	}
	if err := toProgram.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestLastLineMayHaveNoEndAndLongLinesAreRead(t *testing.T) {
	for _, size := range []int{1, 1 << 20, 1<<20 + 1, 3 << 20} {
		long := strings.Repeat("x", size)
		lines := bufio.NewReaderSize(strings.NewReader(long+"\n"+long), 1<<20)
		for range 2 {
			if line, err := readLine(lines, nil); err != nil || string(line) != long {
				t.Errorf("a line of %d bytes is read as %d bytes, %v", size, len(line), err)
			}
		}
		if _, err := readLine(lines, nil); err != io.EOF {
			t.Errorf("after the last line the error is %v", err)
		}
	}
	endless := bufio.NewReader(strings.NewReader(strings.Repeat("x", lineBytesMax+1)))
	if _, err := readLine(endless, nil); err == nil || !strings.Contains(err.Error(), "longer than") {
		t.Errorf("error of a line that is too long: %v", err)
	}
}

func TestWrongSettingsAreRefusedWithTheirNumberAndName(t *testing.T) {
	for text, wanted := range map[string]string{
		`{}`: "settings is empty or missing",
		`{"settings":[` + goodSetting + `,` + goodSetting + `]}`:                          `settings[1] has the name "x", which settings[0] has, too`,
		`{"settings":[` + goodSetting + `,{"name":"y","peer":"spinnaker"}]}`:              `settings[1] "y": peer is "spinnaker"`,
		`{"settings":[{"peer":"argo"}]}`:                                                  `settings[0] "": name is missing`,
		`{"settings":[` + strings.Replace(goodSetting, "interval", "intervall", 1) + `]}`: `settings[0] "x": json: unknown field "intervall"`,
	} {
		if _, err := readRules([]byte(text)); err == nil || !strings.Contains(err.Error(), wanted) {
			t.Errorf("error of %s is %v, wanted %q in it", text, err, wanted)
		}
	}
}

func TestVersionsNameAllPeers(t *testing.T) {
	for _, peer := range []string{"argoproj/argo-rollouts", "fluxcd/flagger", "spinnaker/kayenta"} {
		if !strings.Contains(versions(), peer) {
			t.Errorf("%q does not name %s", versions(), peer)
		}
	}
}

// randomLines returns rollouts of 60 points of 60 s with 1000 requests of the candidate in each point.
func randomLines(count int) string {
	random, lines := rand.New(rand.NewSource(1)), []string{}
	errors := func(requests int) (count int) {
		for range requests {
			if random.Float64() < 0.01 {
				count++
			}
		}
		return count
	}
	for id := range count {
		points := []string{}
		for i := range 60 {
			points = append(points, fmt.Sprintf(`{"t":%d,"candidate_requests":1000,"candidate_errors":%d,"candidate_p99_us":%d,"stable_requests":3000,"stable_errors":%d,"stable_p99_us":%d}`,
				60*(i+1), errors(1000), 17000+random.Intn(2000), errors(3000), 17500+random.Intn(1000)))
		}
		lines = append(lines, fmt.Sprintf(`{"id":%d,"interval_seconds":60,"points":[%s]}`, id, strings.Join(points, ",")))
	}
	return strings.Join(lines, "\n")
}

// sweep returns 200 settings that run until the last point, so that each evaluation sees all points.
func sweep(peer string) []string {
	settings := []string{}
	add := func(format string, values ...any) {
		settings = append(settings, fmt.Sprintf(`{"name":"%d","peer":"%s",`, len(settings), peer)+fmt.Sprintf(format, values...)+"}")
	}
	for limit := range 40 {
		for failures := range 5 {
			switch share := 0.03 + 0.0005*float64(limit); peer {
			case "argo":
				add(`"metrics":[{"measure":"candidate_error_share","metric":{"interval":"60s","initialDelay":"60s","failureLimit":%d,"successCondition":"result[0] <= %v"}}]`, failures, share)
			case "flagger":
				add(`"analysis":{"interval":"1m","threshold":%d,"stepWeight":1,"maxWeight":90},"metrics":[{"measure":"candidate_error_share","metric":{"name":"errors","interval":"1m","thresholdRange":{"max":%v}}}]`, 1+failures, share)
			case "kayenta":
				add(`"request":{"lifetimeDurationMins":60,"analysisIntervalMins":10,"step":60,"thresholds":{"marginal":-1,"pass":%d}},"metrics":[{"measure":"error_share","metric":{"name":"errors","groups":["x"],"analysisConfigurations":{"canary":{"direction":"increase","effectSize":{"allowedIncrease":%v}}}}}]`, 50+failures, 1+share*10)
			}
		}
	}
	return settings
}

// processorSeconds returns the processor time of this process.
func processorSeconds(b *testing.B) float64 {
	b.Helper()
	used := syscall.Rusage{}
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano()).Seconds()
}

// BenchmarkEvaluations reports how many pairs of a rollout with 60 points and a setting are judged per second of
// processor time, and the processor time of the first judgement, in which the peers' transitions are found.
func BenchmarkEvaluations(b *testing.B) {
	const rollouts = 200
	lines := randomLines(rollouts)
	for _, peer := range []string{"argo", "flagger", "kayenta"} {
		for _, settings := range [][]string{sweep(peer), sweep(peer)[:1]} {
			b.Run(fmt.Sprintf("%s, %d settings", peer, len(settings)), func(b *testing.B) {
				rules, err := readRules([]byte(`{"settings":[` + strings.Join(settings, ",") + `]}`))
				if err != nil {
					b.Fatal(err)
				}
				run := func() float64 {
					before := processorSeconds(b)
					if err := judge(rules, strings.NewReader(lines), &bytes.Buffer{}); err != nil {
						b.Fatal(err)
					}
					return processorSeconds(b) - before
				}
				first, later := run(), 0.0
				for b.Loop() {
					later += run()
				}
				b.ReportMetric(float64(b.N)*rollouts*float64(len(settings))/later, "evaluations/cpu-s")
				b.ReportMetric(first-later/float64(b.N), "start-cpu-s")
			})
		}
	}
}
