import { spawn, spawnSync } from 'node:child_process';
import { CLOCK_OF_RUN } from './clock.js';

/** The programs that a `Shell` and the commands of the documentation need. */
export const hasShell = ['bash', 'curl', 'sed'].every(
  (program) => spawnSync(program, ['--version']).error === undefined,
);

/** Sends a request again after a 503, as docs/errors.md tells callers to: a busy machine must not fail a test. */
const CURL = `
curl() {
  local answer status attempt
  for attempt in {1..20}; do
    answer=$(command curl "$@"; status=$?; echo x; exit $status)
    status=$? answer=\${answer%x}
    case $answer in *'"code":"unavailable"'*) sleep 1 ;; *) break ;; esac
  done
  printf %s "$answer"
  return $status
}
`;

/** A bash that keeps its variables and functions from one `run` to the next, like a terminal that one pastes into. */
export class Shell {
  readonly #process = spawn('bash', ['--noprofile', '--norc'], {
    env: { PATH: process.env.PATH, ...CLOCK_OF_RUN },
  });
  #output = '';

  constructor() {
    this.#process.stdout.setEncoding('utf8').on('data', (chunk: string) => (this.#output += chunk));
    this.#process.stdin.write(CURL);
  }

  /** Runs commands. @returns what they write to stdout and stderr. */
  async run(commands: string): Promise<string> {
    this.#output = '';
    this.#process.stdin.write(`{\n${commands}\n} </dev/null 2>&1\necho -e '\\0'\n`);
    while (!this.#output.endsWith('\0\n')) {
      if (this.#process.exitCode !== null) throw new Error(`bash has exited:\n${this.#output}`);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    return this.#output.slice(0, -2);
  }

  end(): void {
    this.#process.stdin.end();
  }
}
