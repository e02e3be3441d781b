// longshore-peer-rules judges simulated rollouts by the rules of Argo Rollouts, Flagger and Kayenta. README.md describes
// its input and output.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"longshore.dev/tests/sim/peers/argo"
	"longshore.dev/tests/sim/peers/flagger"
	"longshore.dev/tests/sim/peers/kayenta"
	"longshore.dev/tests/sim/peers/rollout"
)

const lineBytesMax = 64 << 20

// rule is one setting of one peer.
type rule interface {
	Decide(seen *rollout.Rollout) (rollout.Decision, error)
}

type namedRule struct {
	rule
	name   string
	quoted []byte
}

// readRules reads the text of a file of settings.
func readRules(text []byte) ([]namedRule, error) {
	file := struct {
		Settings []json.RawMessage `json:"settings"`
	}{}
	if err := rollout.Decode(text, &file); err != nil {
		return nil, err
	}
	if len(file.Settings) == 0 {
		return nil, errors.New("settings is empty or missing")
	}
	makers := makers{}
	rules := make([]namedRule, 0, len(file.Settings))
	names := map[string]int{}
	for i, setting := range file.Settings {
		made, err := makers.newRule(setting)
		if err != nil {
			return nil, fmt.Errorf("settings[%d] %q: %w", i, made.name, err)
		}
		if other, ok := names[made.name]; ok {
			return nil, fmt.Errorf("settings[%d] has the name %q, which settings[%d] has, too", i, made.name, other)
		}
		names[made.name] = i
		rules = append(rules, made)
	}
	return rules, nil
}

// makers makes rules. The peers that no setting names are not started.
type makers struct {
	argo    *argo.Rules
	flagger *flagger.Rules
	kayenta *kayenta.Rules
}

func (m *makers) newRule(setting json.RawMessage) (namedRule, error) {
	head := struct{ Name, Peer string }{}
	if err := json.Unmarshal(setting, &head); err != nil {
		return namedRule{}, err
	}
	made := namedRule{name: head.Name, quoted: rollout.Quote(head.Name)}
	if head.Name == "" {
		return made, errors.New("name is missing")
	}
	var err error
	switch head.Peer {
	case "argo":
		if m.argo == nil {
			m.argo = argo.NewRules()
		}
		made.rule, err = m.argo.New(setting)
	case "flagger":
		if m.flagger == nil {
			m.flagger = flagger.NewRules()
		}
		made.rule, err = m.flagger.New(setting)
	case "kayenta":
		if m.kayenta == nil {
			m.kayenta = kayenta.NewRules()
		}
		made.rule, err = m.kayenta.New(setting)
	default:
		err = fmt.Errorf("peer is %q; it must be argo, flagger or kayenta", head.Peer)
	}
	return made, err
}

// judge reads rollouts, one a line, and writes a line for each. It writes at the latest before it waits for more input,
// so that a caller can wait for the answer to its last line.
func judge(rules []namedRule, in io.Reader, out io.Writer) error {
	lines, buffered := bufio.NewReaderSize(in, 1<<20), bufio.NewWriterSize(out, 1<<20)
	line, answer := []byte{}, []byte{}
	for number := 1; ; number++ {
		var err error
		line, err = readLine(lines, line[:0])
		if err == io.EOF {
			return buffered.Flush()
		}
		if err == nil {
			answer, err = judgeLine(rules, line, answer[:0])
		}
		if err != nil {
			return errors.Join(fmt.Errorf("standard input, line %d: %w", number, err), buffered.Flush())
		}
		if _, err := buffered.Write(answer); err != nil {
			return err
		}
		if lines.Buffered() > 0 {
			continue
		}
		if err := buffered.Flush(); err != nil {
			return err
		}
	}
}

// readLine appends the next line to `to`, without its end. The last line may have no end.
func readLine(lines *bufio.Reader, to []byte) ([]byte, error) {
	for {
		part, err := lines.ReadSlice('\n')
		to = append(to, part...)
		switch {
		case len(to) > lineBytesMax:
			return to, fmt.Errorf("the line is longer than %d bytes", lineBytesMax)
		case err == bufio.ErrBufferFull:
		case err == io.EOF && len(to) > 0:
			return to, nil
		default:
			return bytes.TrimSuffix(to, []byte("\n")), err
		}
	}
}

// judgeLine appends the answer to a line.
func judgeLine(rules []namedRule, line, to []byte) ([]byte, error) {
	seen, err := rollout.Parse(line)
	if err != nil {
		return to, err
	}
	to = append(append(append(to, `{"id":`...), seen.ID...), `,"decisions":[`...)
	for i, rule := range rules {
		decision, err := rule.Decide(seen)
		if err != nil {
			return to, fmt.Errorf("setting %q: %w", rule.name, err)
		}
		if i > 0 {
			to = append(to, ',')
		}
		to = decision.AppendJSON(to, rule.quoted)
	}
	return append(to, "]}\n"...), nil
}

// versions returns the versions of the peers' modules, for reports.
func versions() string {
	text := ""
	info, _ := debug.ReadBuildInfo()
	for _, module := range info.Deps {
		if module.Path == "github.com/argoproj/argo-rollouts" || module.Path == "github.com/fluxcd/flagger" {
			text += fmt.Sprintf("%s %s\n", module.Path, module.Version)
		}
	}
	return text + "github.com/spinnaker/kayenta " + kayenta.Commit + " (port)\n"
}

func run() error {
	settings := flag.String("settings", "", "`file` with the settings to evaluate on each rollout; README.md describes it")
	version := flag.Bool("versions", false, "print the versions of the peers' code")
	flag.Usage = func() {
		fmt.Fprintf(flag.CommandLine.Output(), "longshore-peer-rules --settings FILE: judges simulated rollouts by the rules of Argo Rollouts, Flagger and Kayenta.\nIt reads one rollout a line from standard input.\n")
		flag.PrintDefaults()
	}
	flag.Parse()
	if *version {
		fmt.Print(versions())
		return nil
	}
	if *settings == "" || flag.NArg() != 0 {
		return errors.New("--settings FILE is needed, and no other argument")
	}
	text, err := os.ReadFile(*settings)
	if err != nil {
		return err
	}
	rules, err := readRules(text)
	if err != nil {
		return fmt.Errorf("%s: %w", *settings, err)
	}
	return judge(rules, os.Stdin, os.Stdout)
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintf(os.Stderr, "longshore-peer-rules: %v\n", err)
		os.Exit(2)
	}
}
