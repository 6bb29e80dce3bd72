import { execFile } from 'node:child_process';
import { tmpdir } from 'node:os';
import path from 'node:path';

const PROJECT = path.resolve(import.meta.dirname, '../..');

export interface Outcome {
  code: number;
  stdout: string;
  stderr: string;
}

/**
 * Runs a program of the project to its end, with nothing in its environment but what is given.
 *
 * @param file relative to the project; `dist/…` is there once it has been built.
 * @param stdin what the program can read.
 */
export function runNode(
  file: string,
  args: readonly string[],
  env: Record<string, string> = {},
  stdin = '',
): Promise<Outcome> {
  // A `.env` of the checkout must not decide what a test sees.
  const options = { cwd: tmpdir(), env, maxBuffer: 1 << 24 };
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [path.join(PROJECT, file), ...args], options, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code ?? -1), stdout, stderr });
    });
    child.stdin?.end(stdin);
  });
}

/** The built file of that name, for programs that take it as an argument. */
export function built(file: string): string {
  return path.join(PROJECT, 'dist', file);
}
