import { runAdmin } from '../../src/operations/program.js';
import { expect } from '@jest/globals';
import { type Outcome, runNode } from './build.js';
import { refusingWithoutMerchant } from './merchant-conditions.js';
import { type Service, testEnvironment } from './service.js';
import type { Row } from './wallets.js';

/** What a command prints, if a test names no type for it. */
export type Printed = Row & { id: string };

/**
 * Runs the admin CLI in this process, which is much faster than a separate process. Only one command can run at a time,
 * because its output is captured from the stdout and stderr of the process.
 *
 * @param env the environment of the command
 * @param isTerminal whether its stdout appears to be a terminal
 */
export async function runAdminHere(args: string[], env: Record<string, string>, isTerminal = false): Promise<Outcome> {
  const [variables, code, log, error] = [{ ...process.env }, process.exitCode, console.log, console.error];
  const written = { stdout: '', stderr: '' };
  const restore = [captured(process.stdout, (text) => (written.stdout += text))];
  restore.push(captured(process.stderr, (text) => (written.stderr += text)));
  restore.push(replaced(process.stdout, 'isTTY', isTerminal));
  console.log = (line: string) => void (written.stdout += `${line}\n`);
  console.error = (line: string) => void (written.stderr += `${line}\n`);
  Object.assign(process.env, env);
  process.exitCode = 0;
  try {
    await refusingWithoutMerchant(() => runAdmin(args));
    return { code: Number(process.exitCode), ...written };
  } finally {
    Object.assign(console, { log, error });
    for (const undo of restore) undo();
    process.exitCode = code;
    for (const name of Object.keys(env)) {
      if (variables[name] === undefined) delete process.env[name];
      else process.env[name] = variables[name];
    }
  }
}

/** Captures what is written to a stream. @returns a function that restores the stream. */
function captured(stream: NodeJS.WriteStream, take: (text: string) => void): () => void {
  return replaced(stream, 'write', (chunk: string | Uint8Array) => {
    take(Buffer.from(chunk as string).toString());
    return true;
  });
}

/** Replaces a property. @returns a function that restores it. */
function replaced(object: object, name: string, value: unknown): () => void {
  const own = Object.getOwnPropertyDescriptor(object, name);
  Object.defineProperty(object, name, { value, configurable: true, writable: true });
  return () => {
    if (own) Object.defineProperty(object, name, own);
    else Reflect.deleteProperty(object, name);
  };
}

/** Runs the admin CLI with a database. */
export class AdminCommandLine {
  constructor(private readonly on: Pick<Service, 'databaseUrl'>) {}

  run(...args: string[]): Promise<Outcome> {
    return runAdminHere(args, testEnvironment(this.on.databaseUrl));
  }

  /** Returns the output of a command, and fails if there is any other output. */
  async json<T = Printed>(...args: string[]): Promise<T> {
    return JSON.parse(await this.text(...args)) as T;
  }

  /** Returns the JSON lines of a list, and fails if there is any other output. */
  async list<T = Printed>(...args: string[]): Promise<T[]> {
    const lines = (await this.text(...args)).split('\n');
    return lines.slice(0, -1).map((line) => JSON.parse(line) as T);
  }

  /** Returns the output of a command, and fails if there is any other output. */
  async text(...args: string[]): Promise<string> {
    return succeeded(await this.run(...args));
  }

  /** Returns the lines that a command prints on a terminal. */
  async onTerminal(...args: string[]): Promise<string[]> {
    const outcome = await runAdminHere(args, testEnvironment(this.on.databaseUrl), true);
    return succeeded(outcome).trimEnd().split('\n');
  }

  /** Returns the error of a failed command, and fails if it writes to stdout. */
  async refusal(...args: string[]): Promise<string> {
    return refused(await this.run(...args));
  }

  /** Runs the built CLI in a separate process. */
  built(args: string[], stdin = '', env: Record<string, string> = {}): Promise<Outcome> {
    return runNode('dist/src/admin.js', args, { ...testEnvironment(this.on.databaseUrl), ...env }, stdin);
  }

  /** Returns the output of the built CLI, and fails if there is any other output. */
  async builtJson<T = Printed>(args: string[], stdin = '', env: Record<string, string> = {}): Promise<T> {
    return JSON.parse(succeeded(await this.built(args, stdin, env))) as T;
  }
}

function succeeded({ code, stdout, stderr }: Outcome): string {
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return stdout;
}

function refused({ code, stdout, stderr }: Outcome): string {
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(/^error: .+\n$/);
  return stderr;
}
