import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { CLOCK_OF_RUN } from './clock.js';
import { assertNoSecrets } from './log-secrets.js';
import { testEnvironment } from './service.js';

const ENTRY = 'dist/src/main.js';

/** Only against a start that hangs: on a busy machine it takes long. */
const READY_WITHIN_MS = 100_000;

/** The built service, which runs as a separate process. */
export interface BuiltService {
  url: string;
  process: ChildProcess;
  /** The output so far. */
  output(): string;
  /** Waits until this process listens. Several processes may share its port. */
  listening(): Promise<void>;
  /** Shuts it down. Resolves to its exit code. */
  stop(): Promise<number | null>;
  /** Sends SIGKILL and waits until the process has exited. */
  kill(): Promise<void>;
}

/** Finds a port that is currently free. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}

/**
 * Starts the built service with a database and waits until it is ready.
 *
 * @param stdout the destination of its log, if not `output()`
 * @param entry of another release than this one
 */
export async function startBuiltService(
  databaseUrl: string,
  env: Record<string, string> = {},
  stdout: 'pipe' | number = 'pipe',
  entry = ENTRY,
): Promise<BuiltService> {
  if (!existsSync(entry)) throw new Error(`${entry} does not exist: run \`npm run build\` first`);
  const port = Number(env.PORT ?? (await freePort()));
  const child = spawn(process.execPath, [entry], {
    env: { PATH: process.env.PATH, ...CLOCK_OF_RUN, ...testEnvironment(databaseUrl), ...env, PORT: String(port) },
    stdio: ['ignore', stdout, 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk: Buffer) => (output += chunk.toString()));
  // At this point it has exited and all of its output has been read.
  const gone = once(child, 'close');
  const url = `http://127.0.0.1:${port}`;
  const service: BuiltService = {
    url,
    process: child,
    output: () => output,
    listening: async () => {
      while (child.exitCode === null && !output.includes('"listening"')) await sleep(50);
    },
    stop: async () => {
      child.kill('SIGTERM');
      await gone;
      assertNoSecrets(output);
      return child.exitCode;
    },
    kill: async () => {
      child.kill('SIGKILL');
      await gone;
      assertNoSecrets(output);
    },
  };
  for (const deadline = Date.now() + READY_WITHIN_MS; Date.now() < deadline; await sleep(100)) {
    if (child.exitCode !== null) throw new Error(`the service exited with ${child.exitCode}:\n${output}`);
    const ready = await fetch(`${url}/health/ready`).then(
      (answer) => answer.ok,
      () => false,
    );
    if (ready) return service;
  }
  await service.kill();
  throw new Error(`the service did not become ready:\n${output}`);
}
